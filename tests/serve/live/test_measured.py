"""What the metrics of an attempt's nodes say of a silence."""

from __future__ import annotations

from collections.abc import Iterable

import pytest

from measuring import SCRAPE, WAITING, WORKING, measured
from relume.events import Sample
from relume.models.hang.signs import Sign
from relume.serve.live.measured import SOURCE, Measured
from relume.verdict import Health

SECOND = 1_000_000
NODES = ("n1", "n2", "n3")
LAST = 300
"""Second of the last step."""


def after(silent: dict[str, float], **changes: object) -> list[Sample]:
    """What is scraped of a job that trains up to its last step, and then does something else."""
    return list(
        measured(NODES, 0, LAST + 120, lambda t: WORKING if t <= LAST else silent, **changes)
    )


def asked(samples: Iterable[Sample], nodes: int = len(NODES), *, first: int = 10) -> Sign | None:
    one = Measured()
    for sample in samples:
        time = sample.event_time or 0
        one.take(sample, time)
        if first * SECOND <= time <= LAST * SECOND:
            one.note_progress(time)
    return one.sign(LAST * SECOND, nodes)


def test_nodes_that_stand_still_agree_and_those_that_compute_contradict() -> None:
    still, moving = asked(after(WAITING)), asked(after(WORKING))
    assert still is not None
    assert moving is not None
    assert (still.source, still.health) == (SOURCE, Health.UNHEALTHY)
    assert moving.health is Health.HEALTHY
    for sign in (still, moving):
        assert LAST * SECOND < sign.since < sign.event_time == (LAST + 120 - SCRAPE) * SECOND
    assert "6 of 6 GPUs stand still, at 21 % of their usual power" in still.reason


def test_without_news_nothing_is_said_again() -> None:
    one = Measured()
    assert one.sign(0, 1) is None
    for sample in after(WAITING):
        one.take(sample, sample.event_time or 0)
    assert one.sign(0, 1) is not None
    assert one.sign(0, 1) is None


def test_before_the_first_step_nobody_knows_what_is_usual() -> None:
    sign = asked(after(WAITING), first=LAST + 1)
    assert sign is not None
    assert (sign.health, "no step yet" in sign.reason) == (Health.UNKNOWN, True)


def test_what_was_measured_while_it_loaded_is_not_usual() -> None:
    """A job that loads draws as little as one that hangs: that must not look like training."""
    loading = measured(
        NODES, 0, LAST + 120, lambda t: WORKING if 240 < t <= LAST else WAITING | {"cpu": 3.0}
    )
    sign = asked(loading, first=240)
    assert sign is not None
    assert sign.health is Health.UNHEALTHY


@pytest.mark.parametrize("doing", [WAITING, WORKING])
def test_where_most_nodes_are_not_measured_nobody_knows(doing: dict[str, float]) -> None:
    few = [one for one in after(doing) if one.node != "n3" or (one.event_time or 0) <= 0]
    sign = asked(few)
    assert sign is not None
    assert (sign.health, sign.reason) == (Health.UNKNOWN, "only 2 of 3 nodes are measured")
    assert asked(few, nodes=2) != sign


@pytest.mark.parametrize(("late", "counts"), [(119, True), (121, False), (-14, True), (-16, False)])
def test_what_is_stale_or_yet_to_come_counts_for_nothing(late: int, *, counts: bool) -> None:
    one = Measured()
    for sample in after(WAITING):
        one.take(sample, (sample.event_time or 0) + late * SECOND)
    assert (one.sign(0, 1) is not None) == counts


def test_a_sign_is_as_old_as_the_oldest_value_that_it_rests_on() -> None:
    last = (LAST + 120 - SCRAPE) * SECOND
    late = [
        one
        for one in after(WAITING)
        if one.node != "n3" or (one.event_time or 0) <= last - 4 * SCRAPE * SECOND
    ]
    sign = asked(late)
    assert sign is not None
    assert sign.event_time == last - 4 * SCRAPE * SECOND


def clocked(hertz: dict[str, float], until: int = 100) -> Measured:
    one = Measured()
    for second in range(0, until, SCRAPE):
        for node in ("n1", "n2", "n3", "n4", "n5"):
            sample = Sample(
                source="x",
                metric="gpu_sm_clock_hertz",
                value=hertz.get(node, 1.98e9),
                node=node,
                gpu="0",
                event_time=second * SECOND,
            )
            one.take(sample, second * SECOND)
    return one


def test_a_node_is_compared_with_the_others_of_the_job() -> None:
    slow = clocked({"n2": 1.1e9, "n5": 0.9e9})
    found = slow.conditions(("n1", "n2", "n3", "n4"), 0, 100 * SECOND)
    assert {node: one.health for node, one in found.items()} == {
        "n1": Health.HEALTHY,
        "n2": Health.UNHEALTHY,
        "n3": Health.HEALTHY,
        "n4": Health.HEALTHY,
    }


@pytest.mark.parametrize(
    ("since", "now", "is_known"),
    [(0, 209, True), (0, 211, False), (50, 100, True), (91, 100, False)],
)
def test_of_stale_values_and_of_those_before_a_slowdown_no_node_is_told(
    since: int, now: int, *, is_known: bool
) -> None:
    found = clocked({}).conditions(("n1", "n2", "n3", "n4"), since * SECOND, now * SECOND)
    assert (found != {}) == is_known
