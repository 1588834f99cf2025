"""A recovery told for people: what happened when, from the failure on. Pure."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from operator import attrgetter

from relume.advice import Advice
from relume.benchmarks.loop.asked import HELPER, Asked
from relume.benchmarks.loop.record import Record
from relume.benchmarks.loop.training import Happened
from relume.benchmarks.loop.watch import Seen
from relume.clock import MICROSECONDS_PER_SECOND, to_datetime
from relume.slurm.hostlists import fold

_INDENT = " " * 22
_EVIDENCE = 3


@dataclass(frozen=True, slots=True)
class Moment:
    """Something that happened, in words; `details` are lines below."""

    at: int
    text: str
    details: tuple[str, ...] = ()


def tell(record: Record) -> str:
    """Return the story of a job that failed once and came back.

    Times are of the day (UTC) and, in seconds, after the failure.
    """
    moments = sorted(_moments(record), key=attrgetter("at"))
    failed_at = record.history.fault_at(0) or (moments[0].at if moments else 0)
    return "\n".join(line for moment in moments for line in _lines(moment, failed_at))


def _moments(record: Record) -> Iterator[Moment]:
    history = record.history
    for attempt in range(history.attempts):
        began = history.began_at(attempt)
        if began is not None:
            yield _begun(record, attempt, began)
    launched = history.launched_at(1)
    if launched is not None:
        yield Moment(launched, f"Slurm starts job {record.job_id} again")
    step = history.first_step_at(1)
    if step is not None:
        yield Moment(step, f"first step after the checkpoint: step {history.began_with(1)}")
    yield from map(_failed, (one for one in history.events if one.what == "fault"))
    yield from map(_advised, record.advice)
    yield from (_asked(one) for one in record.commands if "AdminComment" not in str(one.argv))
    for end in (one for one in history.events if one.what == "end"):
        yield Moment(end.at, f"the job is {record.state}: all {end.step} steps are done")


def _begun(record: Record, attempt: int, at: int) -> Moment:
    where = fold(sorted(record.history.nodes(attempt)))
    begin = record.history.began_with(attempt)
    words = f"goes on from the checkpoint of step {begin}" if begin else "trains"
    return Moment(at, f"job {record.job_id} {words} on {where}")


def _failed(event: Happened) -> Moment:
    return Moment(event.at, f"rank {event.rank} on {event.node} is killed at step {event.step}")


def _advised(seen: Seen) -> Moment:
    advice = seen.advice
    what = f"{advice.kind} ({advice.cause or 'cause unknown'}, {advice.domain})"
    if not advice.settled:
        return Moment(seen.at, f"Relume sees a {what} and waits for more evidence")
    without = f" without {fold(advice.exclude_nodes)}" if advice.exclude_nodes else ""
    text = f"Relume decides: {advice.operation}{without}; {what}, rule {advice.rule}"
    return Moment(seen.at, text, tuple(_evidence(advice)))


def _evidence(advice: Advice) -> Iterator[str]:
    """The lines that decided; where none did, the first that were found."""
    decisive = [one for one in advice.evidence if one.rule == advice.rule]
    for one in (decisive or advice.evidence)[:_EVIDENCE]:
        yield f"{one.rule}: {one.text.strip()}"


def _asked(command: Asked) -> Moment:
    by = "the helper" if command.by == HELPER else f"relume {command.by}"
    if command.requeues:
        what = "holds the job before it ends FAILED"
    else:
        what = "lets it go" if command.releases else "changes it"
    return Moment(command.at, f"{by} {what}: {' '.join(command.argv)}")


def _lines(moment: Moment, failed_at: int) -> Iterator[str]:
    clock = f"{to_datetime(moment.at):%H:%M:%S}"
    after = (moment.at - failed_at) / MICROSECONDS_PER_SECOND
    yield f"{clock}  {after:+8.1f} s  {moment.text}"
    yield from (f"{_INDENT}{detail}" for detail in moment.details)
