"""loghub: 2000 lines each of systems that train nothing; their logs must raise no alarm."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import NamedTuple

from relume.benchmarks.corpora.common import attempt_name, find_files, read_lines, write_log
from relume.dataset import AttemptEntry, DatasetHeader, LogFile
from relume.ingest.datasets import Dataset, write_dataset

FOLDER = "loghub"
NORMAL = "-"
"""First field of a line without an alert, in the systems whose lines carry a label."""
_LINES_LABELLED = frozenset({"BGL", "Thunderbird"})
_HARMLESS = frozenset({"Thunderbird", "Hadoop", "Linux", "Spark", "Zookeeper"})
"""What the README calls noise that must not raise alarms."""


def write(data: Path, out: Path) -> Dataset:
    """Write each system's log as an attempt.

    Where each line has a label, the label is taken out of the line. The lines of BGL without an
    alert are one healthy attempt, those with one another attempt, unlabelled: an alert is no
    failure of a job by itself, and of the jobs nothing is known. HPC and OpenStack have no label.
    """
    header = DatasetHeader(
        name=FOLDER,
        description=(
            "Samples of service and system logs, 2000 lines each. Labels: the README's, and of BGL "
            "those of its lines."
        ),
    )
    paths = find_files(data, FOLDER, "*/*_2k.log")
    logs = (log for path in paths for log in _logs(path, out))
    return write_dataset(
        out,
        header,
        (
            AttemptEntry(
                attempt=attempt_name(FOLDER, number),
                name=log.name,
                files=(LogFile(path=log.path),),
                incidents=() if log.healthy else None,
            )
            for number, log in enumerate(logs, start=1)
        ),
    )


class _Log(NamedTuple):
    name: str
    path: str
    healthy: bool


def _logs(path: Path, out: Path) -> Iterator[_Log]:
    system = path.parent.name
    if system not in _LINES_LABELLED:
        yield _Log(system, str(path.absolute()), system in _HARMLESS)
        return
    normal: list[str] = []
    alerts: list[str] = []
    for line in read_lines(path):
        label, _, text = line.partition(" ")
        (normal if label == NORMAL else alerts).append(text)
    yield _Log(system, write_log(out, f"{system}.log", normal).as_posix(), healthy=True)
    if alerts:
        name = f"{system}-alerts"
        yield _Log(name, write_log(out, f"{name}.log", alerts).as_posix(), healthy=False)
