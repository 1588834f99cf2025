"""Explains one attempt: finds it, replays it as it would have run, and looks at its detectors."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from relume.dataset import AttemptEntry, LogFile
from relume.errors import InputError, did_you_mean, shown
from relume.identity import AttemptId
from relume.ingest.attempts import find_attempts
from relume.ingest.datasets.scheduler import RUNNING
from relume.serve.backtest.replay import Replayed, replay_unit
from relume.serve.backtest.run import Judging, Recording
from relume.serve.backtest.sources import Unit, with_files
from relume.serve.explain.recorder import Recorder

LOG_ATTEMPT = "log/1@0.0"
"""Identity of an attempt of which there is only a log."""


@dataclass(frozen=True, slots=True)
class Explained:
    """One attempt, as its detectors saw it.

    Attributes
    ----------
    attempt, title
        Which, and what people call it.
    start, end
        When it ran, UTC microseconds; null where no clock says so: no silence is judged then.
    seen
        What the recorder saw.
    missing
        What of its logs could not be used, and why.
    """

    attempt: str
    title: str
    start: int | None
    end: int | None
    seen: Recorder
    missing: tuple[str, ...]


def explain(recording: Recording, job: str, judging: Judging) -> Explained:
    """Explain an attempt of a data set or a lake; `job` is its identity, or the job's id.

    Raises
    ------
    RelumeError
        When the recording doesn't hold it, or can't be read.
    """
    attempt = find(job, recording.attempts(), recording.name)
    recorder = Recorder(attempt)
    unit, found = recording.observe(attempt, judging, recorder.look)
    return _explained(unit, attempt, found, recorder)


def explain_log(path: Path, judging: Judging) -> Explained:
    """Explain an attempt of which there is only a log, or a folder of logs, by their own clocks.

    Nobody says how it ended, so its end is no silence.

    Raises
    ------
    InputError
        When there is no log to read.
    """
    [source] = find_attempts([path])
    files = tuple(LogFile(path=str(one.path)) for one in source.files)
    entry = AttemptEntry(attempt=LOG_ATTEMPT, name=source.name, state=RUNNING, files=files)
    unit = Unit(name=source.name, attempts=(with_files(entry),))
    recorder = Recorder(LOG_ATTEMPT)
    analyzer, settings = judging.analyzer, judging.settings
    found = replay_unit(unit, analyzer, settings, judging.zone, look=recorder.look)
    return _explained(unit, LOG_ATTEMPT, found, recorder)


def find(job: str, attempts: Sequence[str], where: str) -> str:
    """Return the attempt that is meant: by its identity, its short form, or its job's id.

    Of several attempts of a job the newest is meant.

    Raises
    ------
    InputError
        When there is none.

    Examples
    --------
    >>> find("7", ["lab/7@1.0", "lab/7@1.1", "lab/8@1.0"], "march")
    'lab/7@1.1'
    >>> find("7-0", ["lab/7@1.0", "lab/7@1.1"], "march")
    'lab/7@1.0'
    """
    if job in attempts:
        return job
    ids = [AttemptId.parse(one) for one in attempts]
    meant = [one for one in ids if job in {one.short, one.job_key.job_id, str(one.job_key)}]
    if not meant:
        names = [one.job_key.job_id for one in ids]
        raise InputError(
            f"no such job in {where}",
            found=shown(job),
            expected="its id, id-restart_count, or cluster/id@first_submit_epoch.restart_count",
            hint=did_you_mean(job, names),
        )
    return str(max(meant, key=lambda one: one.age))


def _explained(
    unit: Unit, attempt: str, found: dict[str, Replayed], recorder: Recorder
) -> Explained:
    recorder.finish()
    result = found[attempt]
    recorder.advice = [one.advice for one in result.findings]
    source = next(one for one in unit.attempts if one.entry.attempt == attempt)
    start, end = result.extent.span
    return Explained(
        attempt, source.entry.title, start, end, recorder, tuple(result.missing(source))
    )
