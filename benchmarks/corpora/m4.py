"""m4: diaries of a search for a hang on 64 GPUs, with log tails and a node's kernel log."""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

from relume.benchmarks.corpora.common import attempt_name, find_files, read_lines, write_log
from relume.dataset import AttemptEntry, DatasetHeader, Incident, LogFile
from relume.ingest.datasets import Dataset, write_dataset
from relume.ingest.forms import KERNEL
from relume.ingest.loglines import LineParser
from relume.ingest.timestamps import SECOND_MICROS
from relume.verdict import Domain, Kind

FOLDER = "m4-logs"
_DIARY, _KERNEL_LOG = "README.md", "dmesg.txt"
_FENCE = "```"
_BLOCKED = re.compile(r"task (?P<task>[^:]+):\d+ blocked for more than (?P<seconds>\d+) seconds")
_TRAINING = "python"
_NODE_FAILURE = re.compile(r"srun: error: Node failure on (?P<node>[\w.-]+)")
_HOURS_BEFORE_FREEZE = 3.5
"""The diary: the hang came after so many hours of training."""


@dataclass(frozen=True, slots=True)
class _Entry:
    """An attempt of the diaries: the end of its folder's name, what its log's block holds."""

    suffix: str
    log: re.Pattern[str]
    kind: Kind | None = None
    domain: Domain | None = None
    labelled: bool = True


_ENTRIES = (
    _Entry("_0-try3", re.compile(r"^PID \d+:", re.MULTILINE), Kind.HANG, Domain.PLATFORM),
    # It stood still and crashed, and its diary leaves open which came first and why.
    _Entry("_0-try5", re.compile("terminate called"), labelled=False),
    _Entry("_02", _NODE_FAILURE, Kind.CRASH),
    _Entry("_04", re.compile("^iteration:", re.MULTILINE)),
    _Entry("_06", _NODE_FAILURE, Kind.CRASH, Domain.HARDWARE),
)


def write(data: Path, out: Path) -> Dataset:
    """Write what the diaries tell as a data set.

    The logs are the diaries' blocks with the end of the main log, and the kernel log of one node.
    Where that froze, the hang began as long before the kernel's first complaint about the training
    process as it says that the process was blocked, at least. What the kernel said of earlier days,
    and what `nvidia-smi -q` said of the hung but healthy GPU, are healthy entries of their own.
    """
    diaries = find_files(data, FOLDER, f"tr_141-hanging/*/{_DIARY}")
    header = DatasetHeader(
        name=FOLDER,
        description=(
            "A search for a hang on 64 GPUs. Labels: its diaries'. The zone of the clocks is not "
            "stated."
        ),
    )
    return write_dataset(out, header, _entries([path.parent for path in diaries], out))


def blocks_of(diary: str) -> Iterator[list[str]]:
    """Yield the fenced blocks of a diary as lines."""
    block: list[str] | None = None
    for line in diary.split("\n"):
        if line.startswith(_FENCE):
            if block is not None:
                yield block
            block = [] if block is None else None
        elif block is not None:
            block.append(line)


def _entries(folders: list[Path], out: Path) -> Iterator[AttemptEntry]:
    number = 0
    for folder in folders:
        for known in _ENTRIES:
            if folder.name.endswith(known.suffix):
                number += 1
                yield _attempt(folder, known, number, out)
    for folder in folders:
        for path in _healthy(folder, out):
            number += 1
            name = f"healthy/{Path(path).name}"
            yield AttemptEntry(
                attempt=attempt_name(FOLDER, number),
                name=name,
                files=(LogFile(path=path, stream=KERNEL if "dmesg" in path else None),),
                incidents=(),
            )


def _attempt(folder: Path, known: _Entry, number: int, out: Path) -> AttemptEntry:
    blocks = blocks_of((folder / _DIARY).read_text("utf-8", "replace"))
    lines = next((block for block in blocks if known.log.search("\n".join(block))), [])
    files = [LogFile(path=write_log(out, f"m4-{number}.log", lines).as_posix())]
    kernel_log = folder / _KERNEL_LOG
    seen: _Freeze | None = None
    if kernel_log.is_file():
        files.append(LogFile(path=str(kernel_log.absolute()), stream=KERNEL))
        seen = _freeze(kernel_log)
    attempt = attempt_name(FOLDER, number)
    failed = [match["node"] for line in lines if (match := _NODE_FAILURE.search(line))]
    incidents: tuple[Incident, ...] | None = ()
    if known.kind is not None:
        incidents = (
            Incident(
                incident_id=f"m4-{number}",
                attempt=attempt,
                kind=known.kind,
                domain=known.domain,
                culprit_nodes=tuple(dict.fromkeys(failed)),
                onset=None if seen is None else seen.onset,
                visible=None if seen is None else seen.visible,
                label_source="diary",
            ),
        )
    before = round(_HOURS_BEFORE_FREEZE * 3600 * SECOND_MICROS)
    return AttemptEntry(
        attempt=attempt,
        name=folder.name,
        start=None if seen is None else seen.onset - before,
        state=None if seen is None else "RUNNING",
        files=tuple(files),
        incidents=incidents if known.labelled else None,
    )


@dataclass(frozen=True, slots=True)
class _Freeze:
    """When the training process was blocked, and when the kernel first said so."""

    onset: int
    visible: int


def _freeze(path: Path) -> _Freeze | None:
    parser = LineParser(path.name, stream=KERNEL)
    for number, line in enumerate(read_lines(path)):
        found = _BLOCKED.search(line)
        if found and found["task"] == _TRAINING:
            visible = parser.look(line, number, 0).event_time
            if visible is not None:
                return _Freeze(visible - int(found["seconds"]) * SECOND_MICROS, visible)
    return None


def before_blocked(kernel_log: Path) -> list[str]:
    """Return the lines of a kernel's log before it first calls a task blocked."""
    lines = read_lines(kernel_log)
    blocked = (number for number, line in enumerate(lines) if _BLOCKED.search(line))
    return lines[: next(blocked, len(lines))]


def _healthy(folder: Path, out: Path) -> Iterator[str]:
    """Logs that show nothing wrong: the kernel's before anything was blocked, and a healthy GPU."""
    kernel_log = folder / _KERNEL_LOG
    if kernel_log.is_file():
        yield write_log(out, "dmesg-before.log", before_blocked(kernel_log)).as_posix()
    for path in sorted(folder.glob("gpu.query.*.txt")):
        yield str(path.absolute())
