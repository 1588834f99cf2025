"""What is pushed lands, is judged as if it had been tailed, and survives any restart."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

from controlling import SECOND, T0
from living import Live
from pushing import ATTEMPT, body, stream
from recorders import group, work
from relume.advice import comparable
from relume.events import (
    CollectiveDump,
    LogLine,
    NodeEvent,
    SchedulerEvent,
    SourceStatus,
    Tick,
)
from relume.ingest.lake import LakeReader, LineBatch, SampleBatch, SampleSeries
from relume.ingest.lake.samplebatches import series_table
from relume.ingest.push.lines import PushedLines
from relume.serve.intake import pushes
from relume.serve.intake.bodies import Outcome
from relume.serve.live.naming import LOG_ENDED

SECONDS = T0 // SECOND
FIRST = f"{SECONDS}.0"
OTHERS = f"other/7@{SECONDS}.0"
ERROR = ("[rank1]: Traceback (most recent call last):", "[rank1]: KeyError: 'vocab'")


def job(live: Live, state: str = "RUNNING", **changes: object) -> SchedulerEvent:
    fields = {
        "source": "agent",
        "cluster": "lab",
        "event_time": live.clock.now(),
        "attempt": ATTEMPT,
        "state": state,
        "nodes": ("node1", "node2"),
        "comment": '{"relume": {"run": "opus"}}',
        "user": "ann",
        "name": "train",
    }
    return SchedulerEvent(**(fields | changes))  # type: ignore[arg-type]


def push(live: Live, *streams: PushedLines, events: tuple[object, ...] = ()) -> Outcome:
    [outcome] = live.session.take_pushed([body(*streams, events=list(events))])
    return outcome


def samples(cluster: str, time: int) -> SampleBatch:
    return SampleBatch(
        series=series_table([SampleSeries("gpu_power_watts", node="n1")]),
        row_series=np.zeros(1, np.int32),
        event_time=np.array([time]),
        value=np.array([2.5]),
        source="remote_write",
        cluster=cluster,
    )


def lines(live: Live, *texts: str, **labels: str) -> PushedLines:
    now = live.clock.now()
    entries = [(now + number, text) for number, text in enumerate(texts)]
    return stream(*entries, **(labels or {"job_id": "7", "host": "node1"}))


def train(live: Live, steps: int, first: int = 1) -> None:
    for step in range(first, first + steps):
        live.clock.advance(1)
        push(live, lines(live, f"iter {step}: loss 3.9, time 1000.00ms"))


def landed(live: Live) -> list[LineBatch]:
    live.session.flush()
    landings = LakeReader(live.path / "lake").landings()
    return [one for one in landings if isinstance(one, LineBatch)]


def statuses(live: Live) -> list[tuple[str, str, str | None]]:
    live.session.flush()
    every = LakeReader(live.path / "lake").landings()
    found = (one for one in every if isinstance(one, SourceStatus))
    return [(one.source, one.status.value, one.reason) for one in found]


def test_a_job_that_is_known_by_pushes_alone_is_judged(live: Live) -> None:
    push(live, events=(job(live),))
    train(live, 20)
    push(live, lines(live, *ERROR))
    live.tick()
    assert live.advice() == [(FIRST, 1, "RESTART", False)]
    push(live, events=(job(live, "FAILED", exit_code=1),))
    live.tick(12)
    assert live.advice() == [(FIRST, 1, "RESTART", False), (FIRST, 2, "RESTART", True)]
    record = live.record(0)
    assert (record.ended, record.nodes, record.user) == (True, ("node1", "node2"), "ann")
    live.tick(40)
    assert (f"log {ATTEMPT}", "healthy", LOG_ENDED) in statuses(live)
    assert live.record(0).landed.complete


def test_a_replay_of_the_lake_says_the_same(live: Live) -> None:
    push(live, events=(job(live),))
    train(live, 20)
    push(live, lines(live, *ERROR))
    push(live, events=(job(live, "FAILED", exit_code=1),))
    live.tick(15)
    assert live.written()
    assert live.replayed() == [comparable(one) for one in live.written()]


def test_lines_from_before_the_scheduler_spoke_are_the_jobs(live: Live) -> None:
    push(live, lines(live, "iter 1: loss 3.9, time 1000.00ms"))
    assert [one.attempt for one in landed(live)] == [None]
    live.clock.advance(2)
    live.tell(live.job(start_time=T0))
    live.tick()
    view = live.session.books.view(live.record(0))
    assert view.first_step == 1
    push(live, lines(live, "iter 2: loss 3.9, time 1000.00ms"))
    assert landed(live)[-1].attempt == ATTEMPT


def test_a_restart_changes_nothing_and_what_is_sent_again_lands_once(live: Live) -> None:
    push(live, events=(job(live),))
    train(live, 20)
    again = lines(live, *ERROR)
    assert push(live, again).accepted == 2
    live.restart()
    assert push(live, again, events=(job(live),)) == Outcome(accepted=1, duplicates=2)
    live.tick()
    assert live.advice() == [(FIRST, 1, "RESTART", False)]
    assert sum(one.block.data.count(b"KeyError") for one in landed(live)) == 1
    push(live, lines(live, "more"))
    numbers = [one.block.line_at(0) for one in landed(live)]
    assert numbers == sorted(set(numbers))


def test_an_event_is_told_once(live: Live) -> None:
    one = job(live)
    assert push(live, events=(one, replace(one, observed_at=3))) == Outcome(1, 1)
    live.restart()
    assert push(live, events=(one,)) == Outcome(0, 1)


def test_a_sender_that_stops_is_no_hung_job(live: Live) -> None:
    push(live, events=(job(live),))
    train(live, 30)
    live.tick(400)
    assert live.decided() == []
    words = "nothing was pushed for 60 s"
    assert (f"log {ATTEMPT} push agent", "unknown", words) in statuses(live)
    assert live.session.stopped == ["agent"]
    train(live, 1, 31)
    assert live.session.stopped == []
    assert statuses(live)[-1] == (f"log {ATTEMPT} push agent", "healthy", None)


def test_a_job_that_is_silent_while_its_sender_lives_hangs(live: Live) -> None:
    push(live, events=(job(live),))
    train(live, 30)
    for _ in range(80):
        live.tick(5)
        push(live)
    assert [one[2:] for one in live.decided()] == [("RESTART", False), ("RESTART", True)]


def test_a_sender_that_never_comes_back_after_a_restart_is_no_hung_job(live: Live) -> None:
    push(live, events=(job(live),))
    train(live, 30)
    live.restart()
    live.tick(400)
    assert live.decided() == []
    assert live.session.stopped == ["agent"]


def test_kernel_lines_go_to_the_jobs_of_their_node(live: Live) -> None:
    push(live, events=(job(live),))
    fault = "NVRM: Xid (PCI:0000:3b:00): 79, pid='<unknown>', name=<unknown>, GPU has fallen off the bus."
    push(live, lines(live, fault, host="node2", transport="kernel"))
    [batch] = landed(live)
    assert (batch.stream, batch.node, batch.attempt) == ("kernel", "node2", None)
    live.tick()
    verdict = live.session.books.view(live.record(0)).verdict
    assert verdict is not None
    assert verdict["culprit"]["node"] == "node2"


def test_lines_are_of_the_attempt_that_ran_then(live: Live) -> None:
    push(live, events=(job(live),))
    live.clock.advance(60)
    push(live, events=(job(live, "REQUEUED"),))
    live.clock.advance(60)
    second = ATTEMPT.replace(".0", ".1")
    push(live, events=(job(live, attempt=second),))
    entries = [(T0 + 30 * SECOND, "one"), (T0 + 90 * SECOND, "gap"), (T0 + 121 * SECOND, "two")]
    push(live, stream(*entries, job_id="7"))
    assert [one.attempt for one in landed(live)] == [ATTEMPT, None, second]
    times = [one.event_times for one in landed(live)]
    assert [None if one is None else one.tolist() for one in times] == [[at] for at, _ in entries]


def test_entries_behind_the_watermark_are_counted_and_kept(live: Live) -> None:
    push(live, lines(live, "new"))
    old = live.clock.now() - 400 * SECOND
    assert push(live, stream((old, "old"), job_id="7", host="node1")) == Outcome(1, late=1)
    assert [one.block.data for one in landed(live)] == [b"new\n", b"old\n"]


def test_what_makes_no_sense_is_refused_with_reasons(live: Live) -> None:
    outcome = push(
        live,
        stream((T0, "x"), attempt="seven"),
        events=(Tick(event_time=T0), job(live), job(live, cluster="other")),
    )
    assert (outcome.accepted, outcome.refused) == (1, 3)
    assert len(outcome.reasons) == 3


def test_the_first_to_name_a_cluster_decides_it(live: Live) -> None:
    push(live, events=(job(live),))
    assert live.session.cluster == "lab"
    refused = push(live, lines(live, "x", cluster="other", job_id="1"))
    assert refused.refused == 1


@pytest.mark.parametrize(
    ("labels", "words"),
    [
        ({"cluster": "other"}, "lines of cluster 'other'; expected 'lab'"),
        ({"attempt": OTHERS}, "lines of cluster 'other'; expected 'lab'"),
        ({"cluster": "lab", "attempt": OTHERS}, "lines of cluster 'other'; expected 'lab'"),
        ({"cluster": "other", "attempt": ATTEMPT}, "lines of cluster 'other'; expected 'lab'"),
    ],
)
def test_lines_of_another_cluster_are_refused(
    live: Live, labels: dict[str, str], words: str
) -> None:
    push(live, events=(job(live),))
    outcome = push(live, lines(live, "x", "y", **labels))
    assert (outcome.accepted, outcome.refused) == (0, 2)
    assert outcome.reasons[0].startswith(words)
    assert landed(live) == []
    assert push(live, lines(live, "x", attempt=ATTEMPT, cluster="lab")).accepted == 1


def test_events_of_another_cluster_are_refused(live: Live) -> None:
    push(live, events=(job(live),))
    node = NodeEvent(source="a", cluster="other", node="n1", state="DOWN")
    foreign = (node, job(live, attempt=OTHERS), job(live, cluster="local", attempt=OTHERS))
    outcome = push(live, events=foreign)
    assert (outcome.accepted, outcome.refused) == (0, 3)
    assert outcome.reasons == [
        "an event of cluster 'other'; expected 'lab', which this service watches"
    ]


def test_samples_of_another_cluster_are_refused(live: Live) -> None:
    push(live, events=(job(live),))
    clusters = enumerate(("other", "lab", "local"))
    batches = [samples(cluster, T0 + number) for number, cluster in clusters]
    [outcome] = live.session.take_pushed([body(samples=batches)])
    assert (outcome.accepted, outcome.refused) == (2, 1)
    assert outcome.reasons == [
        "samples of cluster 'other'; expected 'lab', which this service watches"
    ]


def test_while_nobody_has_named_the_cluster_lines_keep_their_own(live: Live) -> None:
    push(live, lines(live, "x", cluster="other", file="a"), lines(live, "y", file="b"))
    both = push(live, lines(live, "z", cluster="other", attempt=ATTEMPT))
    assert [one.cluster for one in landed(live)] == ["other", "local"]
    assert (both.refused, both.reasons) == (
        1,
        [
            "lines of cluster 'other' and of an attempt of cluster 'lab'; expected one cluster",
        ],
    )


def test_lines_that_come_as_events_keep_their_numbers(live: Live) -> None:
    push(live, events=(job(live),))
    text = "iter 4: loss 3.9, time 1000.00ms"
    line = LogLine(text, 9, 700, "job.out", attempt=ATTEMPT, cluster="lab", event_time=T0)
    assert push(live, events=(line,)) == Outcome(1)
    live.restart()
    assert push(live, events=(line,)) == Outcome(0, 1)
    [batch] = landed(live)
    assert (batch.block.line_at(0), batch.block.byte_offset_at(0)) == (9, 700)
    live.tick()
    assert live.session.books.view(live.record(0)).last_step == 4


def test_events_of_nodes_land(live: Live) -> None:
    event = NodeEvent(source="agent", cluster="lab", node="node1", state="DOWN", event_time=T0)
    assert push(live, events=(event,)).accepted == 1


def test_the_word_of_a_controller_from_before_a_restart_is_missed(live: Live) -> None:
    live.tell(live.job())
    live.tick()
    live.restart()
    push(live, lines(live, "x"))
    push(live, lines(live, "y"))
    found = [one for one in statuses(live) if one[0] == "slurm"]
    assert found == [
        ("slurm", "healthy", None),
        ("slurm", "unknown", "no snapshot since the start"),
    ]


def test_dumps_of_a_running_job_name_who_did_not_come(live: Live) -> None:
    push(live, events=(job(live),))
    done = tuple(work(number, "completed") for number in range(1, 7))
    for rank in range(4):
        works = done if rank == 2 else (*done, work(7, "started"))
        pushed = CollectiveDump(
            source="push",
            cluster="lab",
            attempt=ATTEMPT,
            rank=rank,
            groups=(group(range(4)),),
            collectives=works,
        )
        assert push(live, events=(pushed,)).accepted == 1
    live.tick(2)
    verdict = live.session.books.view(live.record(0)).verdict
    assert verdict is not None
    assert verdict["culprit"]["rank"] == 2
    live.session.finish()
    live.restart()
    live.tick(1)
    assert live.session.books.view(live.record(0)).verdict == verdict


def test_the_end_of_a_pushed_log_is_told_after_a_restart_too(live: Live) -> None:
    push(live, events=(job(live),))
    train(live, 3)
    push(live, events=(job(live, "FAILED", exit_code=1),))
    live.restart()
    live.tick(40)
    assert live.record(0).landed.complete


def test_a_start_reads_back_the_newest_lines_only(
    live: Live, monkeypatch: pytest.MonkeyPatch
) -> None:
    push(live, events=(job(live),))
    older = lines(live, "older")
    push(live, older)
    live.clock.advance(1)
    newer = lines(live, "newer")
    push(live, newer)
    monkeypatch.setattr(pushes, "RECALL_ROWS", 1)
    live.restart()
    assert push(live, newer, events=(job(live, event_time=T0),)) == Outcome(0, 2)
    assert push(live, older).accepted == 1
