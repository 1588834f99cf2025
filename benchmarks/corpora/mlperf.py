"""The 25 MLPerf Training v2.1 logs: whole runs that ended in success."""

from __future__ import annotations

from dataclasses import dataclass
from hashlib import sha256
from pathlib import Path

from relume.benchmarks.corpora.common import attempt_name, nodes_in_name
from relume.dataset import AttemptEntry, DatasetHeader, LogFile
from relume.errors import InputError
from relume.ingest.datasets import Dataset, write_dataset

FOLDER = "mlperf-training-v2.1"


@dataclass(frozen=True, slots=True)
class HealthyLogs:
    """Paths of healthy logs with the hash that every published number names."""

    name: str
    hash: str
    paths: tuple[Path, ...]


def load(data: Path) -> HealthyLogs:
    """Find the logs below `data` (the data folder, or the corpus' own)."""
    root = data / FOLDER if (data / FOLDER).is_dir() else data
    paths = tuple(sorted(root.glob("*/*/*/result_*.txt")))
    if not paths:
        raise InputError(
            "cannot load the MLPerf logs",
            found=f"no */*/*/result_*.txt below {root}",
            expected=f"the folder {FOLDER}",
            hint="name the data folder with --data",
        )
    digest = sha256()
    for path in paths:
        digest.update(path.relative_to(root).as_posix().encode() + path.read_bytes())
    return HealthyLogs(FOLDER, digest.hexdigest()[:16], paths)


def first_lines(logs: HealthyLogs, count: int) -> list[str]:
    """First lines of one of the logs, as a healthy beginning to splice cases into."""
    # From bytes: text mode would break lines at the carriage returns of progress bars too.
    text = logs.paths[0].read_bytes().decode("utf-8", "replace")
    return text.split("\n")[:count]


def write(data: Path, out: Path) -> Dataset:
    """Write the logs as a data set of healthy attempts; their own README says that all ended well.

    When a run began and ended is left to the clocks of its log.
    """
    logs = load(data)
    header = DatasetHeader(
        name=FOLDER,
        description="MLPerf Training v2.1: whole runs that ended in success. Labels: its README.",
    )
    return write_dataset(
        out,
        header,
        (
            AttemptEntry(
                attempt=attempt_name("mlperf", number),
                name="/".join(path.parts[-4:]),
                num_nodes=nodes_in_name(path.parts[-3]),
                files=(LogFile(path=str(path.absolute())),),
                incidents=(),
            )
            for number, path in enumerate(logs.paths, start=1)
        ),
    )
