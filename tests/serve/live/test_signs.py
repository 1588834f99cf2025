"""Metrics among the landings of a judge: whose they are, and that they only agree or contradict."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import replace
from itertools import groupby
from pathlib import Path

import pytest

from living import analyzer
from measuring import WAITING, WORKING, batch_of, measured
from relume.advice import Advice, comparable
from relume.events import Sample, SchedulerEvent, Tick
from relume.ingest.blocks import blocks_of_lines
from relume.ingest.lake import LakeReader, LakeWriter
from relume.ingest.lake.batches import Landing, LineBatch
from relume.models.policy.rules import SUSPECTED_HANG_RULE
from relume.serve.live.judge import Judge
from relume.verdict import Kind

SECOND = 1_000_000
START = 1_767_323_040 * SECOND
ATTEMPT, OTHER = "lab/7@1767323045.0", "lab/8@1767323045.0"
NODES = ("gpu-a01", "gpu-a02")
STEPS, END = 200, 500
"""The last step, and when the story ends; a silence alone is a hang after 300 s."""


def job(attempt: str, second: int, nodes: tuple[str, ...], state: str = "RUNNING") -> Landing:
    time = START + second * SECOND
    return SchedulerEvent(
        source="slurm",
        cluster="lab",
        event_time=time,
        observed_at=time,
        attempt=attempt,
        state=state,
        nodes=nodes,
    )


def story(
    samples: Iterable[Sample] = (), *, end: int = END, other: Landing | None = None
) -> list[Landing]:
    """A job that makes a step a second, then none; landed second by second, ticks last."""
    landings = [job(ATTEMPT, 0, NODES)] if other is None else [job(ATTEMPT, 0, NODES), other]
    timed: list[tuple[int, int, Landing]] = [(START, 0, one) for one in landings]
    for second in range(1, end):
        time = START + second * SECOND
        if second <= STEPS:
            [block] = blocks_of_lines([f"iter {second}: loss 3.9, time 1000.00ms"], "7.out")
            line = LineBatch(block=block, attempt=ATTEMPT, observed_at=time, cluster="lab")
            timed.append((time, 1, line))
        timed.append((time, 3, Tick(event_time=time, observed_at=time, cluster="lab")))
    timed += [(one.event_time or 0, 2, one) for one in samples]
    return [landing for _, _, landing in sorted(timed, key=lambda one: one[:2])]


def scraped(doing: dict[str, float], **changes: object) -> list[Sample]:
    return list(measured(NODES, START, END, lambda t: WORKING if t <= STEPS else doing, **changes))


def judged(landings: Iterable[Landing]) -> list[Advice]:
    return list(Judge(analyzer()).take_all(landings))


def hangs(advice: Iterable[Advice]) -> list[int]:
    """Seconds of silence after which it was called a hang."""
    return [(one.created_at - START) // SECOND - STEPS for one in advice if one.kind is Kind.HANG][
        :1
    ]


def test_metrics_that_agree_make_a_suspicion_a_hang() -> None:
    assert hangs(judged(story())) == []
    [first] = hangs(judged(story(scraped(WAITING))))
    assert 90 <= first <= 105
    [suspected, called] = judged(story(scraped(WAITING)))[:2]
    assert (suspected.rule, called.kind) == (SUSPECTED_HANG_RULE, Kind.HANG)


def test_what_works_is_no_hang_for_half_an_hour() -> None:
    samples = list(measured(NODES, START, 900, lambda _: WORKING))
    assert hangs(judged(story(samples, end=900))) == []
    assert hangs(judged(story(end=900))) == [301]
    assert hangs(judged(story(samples[: len(samples) // 2], end=900))) != []


def test_a_sign_alone_is_nothing() -> None:
    """Nodes that stand still while steps come: nobody even suspects anything."""
    still = measured(NODES, START, END, lambda t: WORKING if t < 20 else WAITING)
    assert judged(story(still, end=STEPS)) == []


def test_once_metrics_end_what_they_said_is_forgotten() -> None:
    early = [
        one for one in scraped(WAITING) if (one.event_time or 0) <= START + (STEPS + 14) * SECOND
    ]
    assert hangs(judged(story(early))) == hangs(judged(story()))


@pytest.mark.parametrize(
    "changes",
    [
        {"node": "gpu-b01"},
        {"node": None},
        {"cluster": "other"},
        {"attempt": OTHER},
        {"event_time": None},
    ],
)
def test_what_is_somebody_else_s_changes_nothing(changes: dict[str, object]) -> None:
    samples = [replace(one, **changes) for one in scraped(WAITING)]  # type: ignore[arg-type]
    timed = story(scraped(WAITING))
    others = iter(samples)
    mixed = [next(others) if isinstance(one, Sample) else one for one in timed]
    assert judged(mixed) == judged(story())


def test_what_is_the_attempt_s_own_by_name_counts() -> None:
    assert hangs(judged(story(scraped(WAITING, attempt=ATTEMPT)))) != []


def test_on_a_shared_node_nothing_counts() -> None:
    beside = job(OTHER, 0, ("gpu-a02",))
    assert hangs(judged(story(scraped(WAITING), other=beside))) == []
    elsewhere = job(OTHER, 0, ("gpu-b01",))
    assert hangs(judged(story(scraped(WAITING), other=elsewhere))) != []


def test_metrics_of_the_next_job_say_nothing_of_the_one_before() -> None:
    judge = Judge(analyzer())
    list(judge.take_all(story(end=STEPS)))
    assert judge.take(job(ATTEMPT, STEPS, NODES, "COMPLETED")) == []
    list(judge.take_all(scraped(WAITING)))
    assert judge.take(Tick(event_time=START + END * SECOND, cluster="lab")) == []


def test_a_replay_of_what_landed_hears_the_same(tmp_path: Path) -> None:
    for name, samples in (("with", scraped(WAITING)), ("without", [])):
        landings = story(samples)
        live = [comparable(one) for one in judged(landings)]
        with LakeWriter(tmp_path / name) as lake:
            for number in range(0, len(landings), 97):
                lake.append(landings[number : number + 97])
                lake.commit()
        again = Judge(analyzer()).take_all(LakeReader(tmp_path / name).landings())
        assert [comparable(one) for one in again] == live
        assert live


@pytest.mark.parametrize("size", [1, 7, 1000])
def test_samples_in_columns_are_heard_as_they_are_one_by_one(size: int) -> None:
    one_by_one = story(scraped(WAITING))
    landings: list[Landing] = []
    for kind, run in groupby(one_by_one, key=type):
        found = list(run)
        samples = [one for one in found if isinstance(one, Sample)]
        if kind is Sample:
            landings += [batch_of(samples[at : at + size]) for at in range(0, len(samples), size)]
        else:
            landings += found
    assert [comparable(one) for one in judged(landings)] == [
        comparable(one) for one in judged(one_by_one)
    ]
