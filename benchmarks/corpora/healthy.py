"""Logs on which every alarm is false, in three groups of recordings.

`mlperf`: runs that ended in success. `bigscience`: runs of which none failed; some end at their
time limit or were cancelled, which slurmstepd says in them. `m4`: a kernel's log up to the first
blocked task, and the state of healthy GPUs.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from hashlib import sha256
from pathlib import Path

from relume.benchmarks.corpora import mlperf
from relume.errors import InputError

_RUNS = "bigscience/experiments"
_HOST = "m4-logs/tr_141-hanging"
_FIRST_ALARM = " blocked for more than "
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
    logs += [
        HealthyLog("bigscience", path, ended_by_scheduler=_was_ended(path))
        for path in _found(data / _RUNS, ["gpt2-*/**/*.out"])
    ]
    for path in _found(data / _HOST, ["*/dmesg.txt", "*/gpu.query.*.txt"]):
        logs.append(HealthyLog("m4", path, lines=before_alarm(_lines(path))))
    digest = sha256(runs.hash.encode())
    for log in logs:
        if log.group != "mlperf":
            digest.update(log.path.relative_to(data).as_posix().encode() + log.path.read_bytes())
    name = "mlperf-training-v2.1, bigscience, m4-logs"
    return HealthyCorpus(name, digest.hexdigest()[:16], tuple(logs))


def before_alarm(lines: Iterable[str]) -> tuple[str, ...]:
    """Return the lines before the first that tells of a blocked task.

    Examples
    --------
    >>> before_alarm(["NVRM: loading", "INFO: task a:1 blocked for more than 120 seconds."])
    ('NVRM: loading',)
    """
    calm: list[str] = []
    for line in lines:
        if _FIRST_ALARM in line:
            break
        calm.append(line)
    return tuple(calm)


def _found(root: Path, patterns: Iterable[str]) -> list[Path]:
    paths = sorted(path for pattern in patterns for path in root.glob(pattern))
    if not paths:
        raise InputError(
            "cannot load the healthy logs",
            found=f"nothing like {', '.join(patterns)} in {root}",
            expected=f"the data folder with {mlperf.FOLDER}, bigscience and m4-logs",
            hint="name it with --data",
        )
    return paths


def _lines(path: Path) -> list[str]:
    return path.read_bytes().decode("utf-8", "replace").split("\n")


def _was_ended(path: Path) -> bool:
    return _ENDED_BY_SCHEDULER in path.read_bytes()
