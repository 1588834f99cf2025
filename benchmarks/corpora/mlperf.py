"""The 25 MLPerf Training v2.1 logs: whole runs that ended in success."""

from __future__ import annotations

from dataclasses import dataclass
from hashlib import sha256
from pathlib import Path

from relume.errors import InputError

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
