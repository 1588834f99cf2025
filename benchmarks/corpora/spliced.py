"""Failures at known times: excerpts at the end of healthy runs, so that latency can be measured.

A healthy MLPerf run is cut after a line with a clock, and the lines of a failure case follow. The
clock of the last good line is the true onset, and nothing of the run comes after it.

- A crash's lines come at once, and the attempt ends with them.
- A hang that a watchdog ended: what stands before the watchdog's words comes at once; then the log
  is silent for as long as they say (600 s, the default of PyTorch, where they don't); then they
  come, and the attempt ends with them.
- Any other hang: its lines come at once, and an hour of silence follows, in which the attempt runs.

Lines that print a clock keep its form and the time between them. Others have none, as in the case,
but for the watchdog's words: without a clock they would seem to come at once.
"""

from __future__ import annotations

import os
import re
from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass, replace
from datetime import UTC, datetime, timedelta
from pathlib import Path
from random import Random

from relume.benchmarks.corpora import failure_cases, mlperf
from relume.benchmarks.corpora.clocks import with_clock
from relume.benchmarks.corpora.common import attempt_name, read_lines, write_log
from relume.benchmarks.corpora.excerpts import has_failed, incident_of, is_decided
from relume.benchmarks.corpora.failure_cases import Case
from relume.benchmarks.scoring import WATCHDOG
from relume.dataset import AttemptEntry, DatasetHeader, LogFile, Origin
from relume.errors import InputError
from relume.ingest.datasets import Dataset, write_dataset
from relume.ingest.forms import JOB, form_of
from relume.ingest.loglines import LineParser
from relume.ingest.timestamps import SECOND_MICROS

SEED = 20260301
_MIN_RUN_SECONDS = 300.0
"""Of a run that is long enough to have a pace."""
_MIN_CLOCKED = 0.9
"""Share of a run's lines with a clock: what comes after a line without one has no onset."""
_WARM_UP_EVALUATIONS = 3
"""Evaluations before the first place to cut: start-up and the first steps are another matter."""
_MAX_EXCERPT_SECONDS = 60.0
"""An excerpt whose own clocks run on for longer begins before its failure does."""
_TIMEOUT_SECONDS = 600.0
"""PyTorch's default for a collective (metrics 13.6)."""
_SILENT_SECONDS = 3600.0
"""How long a hang that nothing ends is recorded."""
_EVALUATION, _STOP = '"key": "eval_accuracy"', '"key": "run_stop"'
_TIMEOUTS = (
    (re.compile(r"Timeout\(ms\)=(\d{1,9})\b"), 1e-3),
    (re.compile(r"stuck for (\d{1,6}) seconds"), 1.0),
)

Lines = tuple[str, ...]

_EPOCH = datetime(1970, 1, 1, tzinfo=UTC)
_ANY_YEAR = datetime(2024, 12, 31, tzinfo=UTC)


@dataclass(frozen=True, slots=True)
class Host:
    """A healthy run that can be cut: its lines, their times, and the last ones before a cut."""

    name: str
    lines: tuple[str, ...]
    times: tuple[int | None, ...]
    places: tuple[int, ...]

    def cut(self, rng: Random) -> int:
        """Choose where it ends: any instant after the warm-up is as likely as another.

        Returns the index of the last good line.
        """
        instants = [(time, place) for place in self.places if (time := self.times[place])]
        instant = rng.randint(instants[0][0], instants[-1][0])
        return max(place for time, place in instants if time <= instant)


@dataclass(frozen=True, slots=True)
class Spliced:
    """The lines of a case after a cut, and when it was over (UTC microseconds)."""

    lines: tuple[str, ...]
    end: int
    state: str


def write(data: Path, out: Path) -> Dataset:
    """Write the spliced attempts as a data set. Its attempts never happened: it is *simulated*.

    Raises
    ------
    InputError
        When a corpus is missing, or none of the runs can be cut.
    """
    hosts = [host for path in mlperf.load(data).paths if (host := read_host(path)) is not None]
    if not hosts:
        raise InputError(
            "spliced data set",
            found="no healthy run with a clock that is long enough",
            expected=f"one of {_MIN_RUN_SECONDS:.0f} s, most of its lines with a clock",
            hint="name the folder of all corpora with --data",
        )
    cases = failure_cases.load(data).cases
    left_out = Counter(reason for case in cases if (reason := why_not(case)) is not None)
    reasons = ", ".join(f"{count} {reason}" for reason, count in sorted(left_out.items()))
    header = DatasetHeader(
        name="spliced",
        origin=Origin.SIMULATED,
        description=(
            f"Failure cases at the end of healthy MLPerf runs, seed {SEED}: the clock of the last "
            f"good line is the onset. Left out of {len(cases)} cases: {reasons or 'none'}."
        ),
    )
    fitting = [case for case in cases if why_not(case) is None]
    return write_dataset(out, header, _entries(fitting, hosts, out))


def why_not(case: Case) -> str | None:
    """Say why a case can't be spliced; null when it can."""
    if not is_decided(case):
        return "undecided"
    if not has_failed(case):
        return "without a failure"
    if case.kind not in {"crash", "hang"}:
        # A straggler's steps are those of another job: they would not slow this one down.
        return f"of kind {case.kind}"
    if form_of("\n".join(case.text).encode()) != JOB:
        return "of a log that is no job's"
    return _clocks_against(case.text)


def _clocks_against(text: Lines) -> str | None:
    """Say why the clocks of an excerpt can't be moved to another time; null when they can."""
    known = [(line, time) for line, time in zip(text, _times(text), strict=True) if time]
    if any(with_clock(line, time + SECOND_MICROS) == line for line, time in known):
        return "with clocks that can't be moved"
    times = [time for _, time in known]
    if times and max(times) - min(times) > _MAX_EXCERPT_SECONDS * SECOND_MICROS:
        return "longer than a minute by their own clocks"
    return None


def read_host(path: Path) -> Host | None:
    """Read a healthy run; null when it can't be cut.

    It must be long, have clocks that never go back on nearly all lines, and no prefixes of ranks:
    those of the case would seem to be of the same ranks.
    """
    lines = tuple(read_lines(path))
    parser = LineParser(path.name)
    events = [parser.parse(line, number, 0) for number, line in enumerate(lines)]
    times = tuple(event.event_time for event in events)
    known = [time for time in times if time is not None]
    if len(known) < _MIN_CLOCKED * len(lines) or known != sorted(known):
        return None
    if any(event.rank is not None or event.task is not None for event in events):
        return None
    if known[-1] - known[0] < _MIN_RUN_SECONDS * SECOND_MICROS:
        return None
    evaluations = [number for number, line in enumerate(lines) if _EVALUATION in line]
    stop = next((number for number, line in enumerate(lines) if _STOP in line), len(lines))
    if len(evaluations) < _WARM_UP_EVALUATIONS:
        return None
    warm = evaluations[_WARM_UP_EVALUATIONS - 1]
    places = tuple(place for place in range(warm, stop) if times[place] is not None)
    return Host("/".join(path.parts[-4:]), lines, times, places) if places else None


def splice(case: Case, onset: int) -> Spliced:
    """Return the lines of a case as they come after a last good line at `onset`."""
    words = next((i for i, line in enumerate(case.text) if WATCHDOG.search(line)), None)
    # In whole seconds, as some clocks are printed; rounded down they would come before the onset.
    at_once = -(-onset // SECOND_MICROS) * SECOND_MICROS
    if case.kind == "hang" and words is not None:
        before, _ = _moved(case.text[:words], at_once)
        ended = at_once + round(timeout_seconds(case) * SECOND_MICROS)
        after, end = _moved(case.text[words:], ended, stamp=True)
        return Spliced((*before, *after), end, "FAILED")
    lines, end = _moved(case.text, at_once)
    if case.kind == "hang":
        return Spliced(lines, end + round(_SILENT_SECONDS * SECOND_MICROS), "RUNNING")
    return Spliced(lines, end, "FAILED")


def timeout_seconds(case: Case) -> float:
    """Return after how long the watchdog of a hang ended it, by its own words."""
    for pattern, seconds in _TIMEOUTS:
        for line in case.text:
            if found := pattern.search(line):
                return int(found[1]) * seconds
    return _TIMEOUT_SECONDS


def _entries(cases: list[Case], hosts: list[Host], out: Path) -> Iterator[AttemptEntry]:
    for number, case in enumerate(cases, start=1):
        rng = Random(f"{SEED}/{case.id}")
        host = rng.choice(hosts)
        last = host.cut(rng)
        onset = host.times[last] or 0
        spliced = splice(case, onset)
        path = write_log(out, f"{case.id}.log", [*host.lines[: last + 1], *spliced.lines])
        # Clocks without a year take it from when the log was written.
        os.utime(out / path, (spliced.end / SECOND_MICROS, spliced.end / SECOND_MICROS))
        attempt = attempt_name("spliced", number)
        yield AttemptEntry(
            attempt=attempt,
            name=f"{case.id} in {host.name}",
            start=next(time for time in host.times if time is not None),
            end=spliced.end,
            state=spliced.state,
            files=(LogFile(path=path.as_posix()),),
            incidents=(
                replace(
                    incident_of(case, attempt),
                    onset=onset,
                    visible=onset,
                    end=spliced.end,
                    label_source="spliced",
                ),
            ),
        )


def _moved(text: Lines, at: int, *, stamp: bool = False) -> tuple[Lines, int]:
    """Move the clocks of lines so that the earliest is `at`; return the lines and the latest time.

    With `stamp`, lines of which none has a clock get one.
    """
    times = _times(text)
    known = [time for time in times if time is not None]
    if not known:
        printed = f"{_EPOCH + timedelta(microseconds=at):%Y-%m-%d %H:%M:%S} "
        return (tuple(printed + line for line in text) if stamp else text), at
    by = at - min(known)
    moved = (
        line if time is None else with_clock(line, time + by)
        for line, time in zip(text, times, strict=True)
    )
    return tuple(moved), max(known) + by


def _times(text: Lines) -> list[int | None]:
    # Only differences count: any year does for clocks without one.
    parser = LineParser("case", modified=_ANY_YEAR.timestamp())
    return [parser.parse(line, number, 0).event_time for number, line in enumerate(text)]
