"""Logs on which every alarm is false, in three groups of recordings.

`mlperf`: runs that ended in success. `bigscience`: runs of which none failed; some end at their
time limit or were cancelled, which slurmstepd says in them. `m4`: a kernel's log up to the first
blocked task, and the state of healthy GPUs.
"""

from __future__ import annotations

from dataclasses import dataclass
from hashlib import sha256
from pathlib import Path

from relume.benchmarks.corpora import bigscience, m4, mlperf
from relume.benchmarks.corpora.common import find_files

_ENDED_BY_SCHEDULER = b"CANCELLED AT"


@dataclass(frozen=True, slots=True)
class HealthyLog:
    """One log without a failure.

    `lines` are the part of `path` to read, null for all of it.
    """

    group: str
    path: Path
    ended_by_scheduler: bool = False
    lines: tuple[str, ...] | None = None


@dataclass(frozen=True, slots=True)
class HealthyCorpus:
    """All healthy logs with the hash that every published number names."""

    name: str
    hash: str
    logs: tuple[HealthyLog, ...]


def load(data: Path) -> HealthyCorpus:
    """Find the logs below the data folder.

    Raises
    ------
    InputError
        When one of the three recordings isn't there.
    """
    runs = mlperf.load(data)
    logs = [HealthyLog("mlperf", path) for path in runs.paths]
    for path in bigscience.load(data):
        ended = _ENDED_BY_SCHEDULER in path.read_bytes()
        logs.append(HealthyLog("bigscience", path, ended_by_scheduler=ended))
    logs += [
        HealthyLog("m4", path, lines=tuple(m4.before_blocked(path)))
        for path in find_files(data, m4.FOLDER, "*/*/dmesg.txt", "*/*/gpu.query.*.txt")
    ]
    digest = sha256(runs.hash.encode())
    for log in logs:
        if log.group != "mlperf":
            digest.update(log.path.relative_to(data).as_posix().encode() + log.path.read_bytes())
    name = f"{mlperf.FOLDER}, {bigscience.FOLDER}, {m4.FOLDER}"
    return HealthyCorpus(name, digest.hexdigest()[:16], tuple(logs))
