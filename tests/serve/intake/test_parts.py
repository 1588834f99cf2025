"""The parts of the intake, each by itself: bounded, exact, and honest about what isn't known."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING

import numpy as np
import pytest

from controlling import SECOND, T0
from pushing import ATTEMPT
from relume.errors import InputError, UnreachableError
from relume.events import NodeEvent, Sample, SchedulerEvent
from relume.ingest.lake import LineBatch, SampleBatch, SampleSeries
from relume.ingest.lake.samplebatches import NO_TIME, series_table
from relume.ingest.push.lines import lines_of
from relume.serve.intake import seen as seen_module
from relume.serve.intake import senders as senders_module
from relume.serve.intake import streams as streams_module
from relume.serve.intake import whose as whose_module
from relume.serve.intake.bodies import Body, Outcome
from relume.serve.intake.eventbodies import body_of_lines
from relume.serve.intake.queue import BusyError, IntakeQueue
from relume.serve.intake.records import record_of
from relume.serve.intake.seen import Seen, keys_of
from relume.serve.intake.senders import Senders
from relume.serve.intake.streams import PREFIX, Courses, LandingLines, block_of, landing_lines
from relume.serve.intake.whose import Intervals, Named, owners_of
from relume.serve.ledger import AttemptRecord

if TYPE_CHECKING:
    from numpy.typing import NDArray

MINUTE = 60 * SECOND


def told(attempt: str, state: str, at: int) -> SchedulerEvent:
    return SchedulerEvent(source="a", cluster="lab", attempt=attempt, state=state, event_time=at)


def samples(value: float, metric: str = "gpu_power_watts") -> SampleBatch:
    return SampleBatch(
        series=series_table([SampleSeries(metric, node="n1", rank=3), SampleSeries(metric)]),
        row_series=np.array([0, 1], np.int32),
        event_time=np.array([T0, T0]),
        value=np.array([value, 2.0]),
        source="push",
    )


def test_the_queue_is_bounded_and_gives_room_back() -> None:
    woken, refused = list[int](), list[int]()
    queue = IntakeQueue(lambda: woken.append(1), refused=lambda: refused.append(1), limit_bytes=10)
    large = queue.admit(100)  # alone it is taken, however large
    with pytest.raises(BusyError, match="at most 10"):
        queue.admit(1)
    large.drop()
    assert (queue.held_bytes, len(refused)) == (0, 1)
    futures = [queue.admit(4).put(Body(sender="a")) for _ in range(2)]
    assert (len(queue), len(woken)) == (2, 2)
    [first] = queue.take(limit_bytes=5)
    [second] = queue.take(limit_bytes=1)
    assert queue.take() == []
    first.done(Outcome(1))
    second.fail(UnreachableError("the lake"))
    assert futures[0].result().accepted == 1
    with pytest.raises(UnreachableError):
        futures[1].result()
    assert queue.held_bytes == 0


def test_reasons_are_few_and_each_is_told_once() -> None:
    outcome = Outcome()
    for number in (1, 1, 2, 3, 4, 5, 6):
        outcome.refuse(f"reason {number}", 2)
    assert (outcome.refused, outcome.reasons) == (14, [f"reason {n}" for n in range(1, 6)])


def test_more_events_than_a_body_may_have(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("relume.serve.intake.eventbodies.MAX_LINES", 2)
    with pytest.raises(InputError, match="more than 2 lines"):
        body_of_lines(b"\n\n\n", "agent")


def one_line(data: bytes, time: int) -> LandingLines:
    return LandingLines(data, np.array([time]))


def keys(*times: int) -> NDArray[np.int64]:
    return keys_of(np.array(times, np.int64))


def test_lines_are_known_by_time_and_words() -> None:
    seen = Seen()
    seen.note("log", b"a\nb\na\n", keys(5, 5, 6), T0)
    again = seen.repeated("log", b"a\nc\na\n", keys(5, 5, 7))
    assert again.tolist() == [True, False, False]
    assert not seen.repeated("log", b"a\n", keys(9)).any()
    assert not seen.repeated("other", b"a\n", keys(5)).any()
    seen.note("log", b"a\n", keys(NO_TIME), T0)
    assert not seen.repeated("log", b"a\n", keys(NO_TIME)).any()
    placed = keys_of(np.array([NO_TIME]), [12])
    seen.note("log", b"a\n", placed, T0)
    assert seen.repeated("log", b"a\n", placed).all()


def test_what_is_remembered_is_bounded(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(seen_module, "MAX_ENTRIES", 3)
    monkeypatch.setattr(seen_module, "MAX_EVENTS", 2)
    seen = Seen()
    for time in range(5):
        seen.note("log", b"a\n", keys(time), T0 + time)
    assert len(seen) == 3
    assert not seen.repeated("log", b"a\n", keys(0)).any()
    events = [NodeEvent(source="a", node=f"n{number}", state="DOWN") for number in range(3)]
    assert [seen.is_new(event, T0) for event in events] == [True] * 3
    assert seen.is_new(events[0], T0)
    seen.note("log", b"a\n", keys(9), T0 + 11 * MINUTE)
    assert len(seen) == 1
    assert seen.is_new(events[2], T0 + 22 * MINUTE)


def test_batches_of_samples_are_known_by_all_that_they_say() -> None:
    seen = Seen()
    assert seen.is_new(samples(1.0), T0)
    assert not seen.is_new(samples(1.0), T0 + 1)
    assert seen.is_new(samples(1.5), T0)
    assert seen.is_new(samples(1.0, "gpu_temperature_celsius"), T0)
    again = Seen()
    again.recall(samples(1.0), T0)
    assert not again.is_new(samples(1.0), T0)
    one = Sample(source="a", metric="m", value=1.0, event_time=T0)
    assert [again.is_new(one, T0), again.is_new(one, T0)] == [True, False]


@pytest.mark.parametrize(
    ("labels", "expected"),
    [
        ({"attempt": ATTEMPT, "filename": "/a.out"}, ("/a.out", "stdout", ATTEMPT, None, None)),
        (
            {"JobID": "12_3", "stream": "stderr"},
            ("JobID=12_3,stream=stderr", "stderr", None, "12_3", None),
        ),
        ({"job_id": "x", "host": "n1"}, ("n1:host=n1,job_id=x", "kernel", None, None, "n1")),
        (
            {"instance": "n1:9100", "stream": "stdout"},
            ("n1:instance=n1:9100,stream=stdout", "stdout", None, None, "n1"),
        ),
        ({"job_id": "7", "rank": "03", "file": "a"}, ("a/rank_3.log", "stdout", None, "7", None)),
        ({}, ("stream", "stdout", None, None, None)),
    ],
)
def test_labels_say_whose_a_stream_is(
    labels: dict[str, str], expected: tuple[str | None, ...]
) -> None:
    named = Named.of(labels)
    found = (named.file, named.stream, named.attempt, named.job_id, named.node)
    assert found == expected


def test_the_newest_attempt_that_ran_then_owns_a_line() -> None:
    intervals = Intervals()
    second = ATTEMPT.replace(".0", ".1")
    intervals.note(told(ATTEMPT, "RUNNING", T0))
    intervals.note(told(ATTEMPT, "FAILED", T0 + MINUTE))
    intervals.note(told(ATTEMPT, "FAILED", T0 + 9 * MINUTE))
    intervals.note(told(second, "FAILED", T0 + 3 * MINUTE))
    owner: Callable[[int], str | None] = lambda time: intervals.owner("lab", "7", time)  # noqa: E731
    assert owner(T0) == ATTEMPT == owner(T0 - 4 * SECOND)
    assert owner(T0 - 6 * SECOND) is None
    assert owner(T0 + 2 * MINUTE) == second  # nobody saw it begin: when the one before was over
    assert owner(T0 + 4 * MINUTE) is None
    assert intervals.owner("lab", "8", T0) is None
    named = Named("f", job_id="7")
    now = T0 + 4 * MINUTE
    assert list(owners_of(named, np.array([now, NO_TIME]), now, "lab", intervals)) == [(None, 0, 2)]
    times = np.array([T0, T0 + 2 * MINUTE, T0 + 3 * MINUTE, NO_TIME])
    found = list(owners_of(named, times, now, "lab", intervals))
    assert found == [(ATTEMPT, 0, 1), (second, 1, 3), (None, 3, 4)]
    amid = np.array([T0, NO_TIME, T0 + SECOND])  # as the rest of a traceback
    assert list(owners_of(named, amid, now, "lab", intervals)) == [(ATTEMPT, 0, 3)]


def test_what_the_ledger_remembers_of_a_job_counts(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(whose_module, "MAX_JOBS", 1)
    second = ATTEMPT.replace(".0", ".1")
    records = {
        ATTEMPT: AttemptRecord(
            attempt=ATTEMPT,
            run="r",
            state="REQUEUED",
            ended=True,
            start_time=T0,
            end_time=T0 + MINUTE,
        ),
        second: AttemptRecord(attempt=second, run="r", state="RUNNING", start_time=T0 + 2 * MINUTE),
    }
    intervals = Intervals(lambda _, job: records[second] if job == "7" else None, records.get)
    for _ in range(2):
        assert intervals.owner("lab", "7", T0) == ATTEMPT
        assert intervals.owner("lab", "7", T0 + 3 * MINUTE) == second
        assert intervals.owner("lab", "9", T0) is None


def test_streams_count_on_and_the_oldest_are_forgotten(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(streams_module, "MAX_STREAMS", 2)
    courses = Courses({f"{PREFIX}old": "3 40 7", "other": "x"})
    block = block_of("old", one_line(b"one\n", 9), courses.of("old"))
    assert (block.line_at(0), block.byte_offset_at(0)) == (3, 40)
    assert courses.positions() == {f"{PREFIX}old": "4 44 9"}
    courses.of("b")
    courses.of("c")
    assert courses.positions()[f"{PREFIX}old"] is None
    again = Courses({})
    again.recall(LineBatch(block=block))
    again.recall(LineBatch(block=block, event_times=np.array([5])))
    assert again.positions() == {f"{PREFIX}old": "4 44 5"}


def test_entries_become_lines() -> None:
    pushed = lines_of({}, [("a\0b\rc", 1000), ("\x1b[31mred\x1b[0m", 2000)])
    found = landing_lines(pushed)
    assert (found.data, found.times.tolist()) == (b"a b\nc\nred\n", [1, 1, 2])
    nothing = landing_lines(lines_of({}, []))
    assert (nothing.data, len(nothing), nothing.newest) == (b"", 0, None)


def test_some_of_lines_are_lines_with_their_times() -> None:
    lines = LandingLines(b"a\n\nc\n", np.array([1, NO_TIME, 3]))
    part = lines.part(1, 3)
    assert (part.data, part.times.tolist(), part.newest) == (b"\nc\n", [NO_TIME, 3], 3)
    chosen = lines.chosen(np.array([True, False, True]))
    assert (chosen.data, chosen.times.tolist()) == (b"a\nc\n", [1, 3])
    assert lines.part(0, 3) is lines


def test_senders_are_bounded_and_those_that_stay_away_forgotten(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(senders_module, "MAX_SENDERS", 2)
    monkeypatch.setattr(senders_module, "MAX_ATTEMPTS", 1)
    senders = Senders("lab")
    for name in ("a", "b", "c"):
        assert len(list(senders.heard(name, T0))) == 1
    assert len(senders) == 2
    assert senders.lag_seconds(T0) is None
    assert [one.source for one in senders.brought("c", "x", T0 - SECOND, T0)] == ["log x push c"]
    assert not list(senders.brought("c", "x", None, T0))
    list(senders.brought("c", "y", None, T0))
    assert senders.lag_seconds(T0) == 1.0
    sources = [one.source for one in senders.look(T0 + 2 * MINUTE)]
    assert sources == ["push b", "push c", "log y push c"]
    assert not list(senders.look(T0 + 2 * MINUTE))
    senders.over("y")
    assert [one.source for one in senders.heard("c", T0 + 3 * MINUTE)] == ["push c"]
    assert not list(senders.look(T0 + 62 * MINUTE)) or senders.stale
    assert len(senders) == 1
    senders.recall(LineBatch(block=block_of("f", one_line(b"x\n", 1), Courses({}).of("f"))))
    assert len(senders) == 1


def test_an_attempt_that_only_events_tell_of_has_a_record() -> None:
    first = record_of(told(ATTEMPT, "PENDING", T0), None)
    assert (first.start_time, first.ended, first.submit_time) == (None, False, T0)
    runs = record_of(told(ATTEMPT, "RUNNING", T0 + 1), first)
    ended = record_of(told(ATTEMPT, "FAILED", T0 + 2), runs)
    assert (ended.start_time, ended.end_time, ended.ended) == (T0 + 1, T0 + 2, True)
