from __future__ import annotations

import math
import random
from collections.abc import Callable, Iterable, Sequence
from typing import NamedTuple

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from relume.errors import InputError
from relume.events import Sample
from relume.features.metrics.stale import STALE
from relume.models.absence.detector import AbsenceDetector, AbsenceSettings
from relume.models.absence.finding import Absence, AbsenceKind
from relume.verdict import Health

SECOND = 1_000_000
SCRAPE = 15
GPU, NODE = "gpu_power_watts", "node_load_count"


class Part(NamedTuple):
    """A metric of a node, or of one of its GPUs, at a second."""

    metric: str
    node: str
    gpu: str | None
    at: int


Lives = Callable[[Part], bool]
"""Whether it is measured."""


def scrape(
    at: int, lives: Lives, nodes: Iterable[str] = ("n1", "n2"), gpus: int = 4
) -> list[Sample]:
    found = []
    for node in nodes:
        parts = [(NODE, None), *((GPU, str(gpu)) for gpu in range(gpus))]
        found += [
            Sample(source="x", metric=metric, value=1.0, node=node, gpu=gpu, event_time=at * SECOND)
            for metric, gpu in parts
            if lives(Part(metric, node, gpu, at))
        ]
    return found


def run(lives: Lives, until: int = 1200, **options: object) -> list[Absence]:
    detector = AbsenceDetector()
    found = []
    for at in range(0, until, SCRAPE):
        detector.update(scrape(at, lives, **options))  # type: ignore[arg-type] # by name
        found += detector.advance(at * SECOND)
    return found


def told(found: Sequence[Absence]) -> list[tuple[str, str | None, str | None, bool]]:
    return [(one.kind.value, one.node, one.gpu, one.is_over) for one in found]


def test_while_all_is_measured_nothing_is_said() -> None:
    assert run(lambda *_: True) == []


def test_a_gpu_that_vanishes_beside_its_siblings_is_told_once() -> None:
    found = run(lambda part: (part.node, part.gpu) != ("n1", "2") or part.at < 300)
    assert told(found) == [("gpu_vanished", "n1", "2", False)]
    [absence] = found
    assert absence.since == 285 * SECOND
    assert 90 < (absence.at - absence.since) / SECOND <= 90 + SCRAPE + 10
    assert "others of it were" in absence.reason


def test_an_absence_is_never_health() -> None:
    [absence] = run(lambda part: (part.node, part.gpu) != ("n1", "2") or part.at < 300)
    assert absence.health is Health.UNKNOWN


def test_what_comes_back_is_over_and_may_go_again() -> None:
    found = run(lambda part: part.gpu != "1" or part.node != "n2" or part.at // 300 % 2 == 0)
    assert told(found) == [("gpu_vanished", "n2", "1", over) for over in (False, True, False)]
    assert found[1].at == 600 * SECOND


def test_an_exporter_that_dies_is_one_finding_not_one_a_gpu() -> None:
    found = run(lambda part: part.metric == NODE or part.node != "n1" or part.at < 300)
    assert told(found) == [("exporter_silent", "n1", None, False)]
    assert found[0].exporter == "gpu exporter"
    found = run(lambda part: part.metric == GPU or part.node != "n1" or part.at < 300)
    assert [(one.kind.value, one.exporter) for one in found] == [
        ("exporter_silent", "node exporter")
    ]


def test_a_node_that_goes_silent_is_one_finding() -> None:
    found = run(lambda part: part.node != "n1" or part.at < 300)
    assert told(found) == [("node_silent", "n1", None, False)]


def test_the_exporters_of_a_dying_node_do_not_stop_in_the_same_second() -> None:
    """The last scrapes are up to one interval apart, and still it is the node."""

    def lives(part: Part) -> bool:
        return part.node != "n1" or part.at < (300 if part.metric == GPU else 330)

    assert told(run(lives)) == [("node_silent", "n1", None, False)]


def test_when_everything_stops_nothing_else_is_said_and_nothing_when_it_is_back() -> None:
    detector = AbsenceDetector()
    found = []
    for at in range(0, 3000, SCRAPE):
        # Scrapes come back one after the other: n2 two minutes after n1.
        def lives(part: Part) -> bool:
            return part.at < 300 or part.at >= (1500 if part.node == "n1" else 1560)

        detector.update(scrape(at, lives))
        found += detector.advance(at * SECOND)
    assert told(found) == [
        ("scrapes_stopped", None, None, False),
        ("scrapes_stopped", None, None, True),
    ]


def test_what_was_gone_when_everything_came_back_is_found_then() -> None:
    def lives(part: Part) -> bool:
        if part.at < 300:
            return True
        return part.at >= 1500 and (part.node, part.gpu) != ("n1", "3")

    assert told(run(lives, 3000)) == [
        ("scrapes_stopped", None, None, False),
        ("scrapes_stopped", None, None, True),
        ("gpu_vanished", "n1", "3", False),
    ]


def test_a_node_that_boots_may_take_its_time_with_the_second_exporter() -> None:
    def lives(part: Part) -> bool:
        return (
            part.node != "n1" or part.at < 300 or part.at >= (900 if part.metric == NODE else 960)
        )

    assert told(run(lives)) == [
        ("node_silent", "n1", None, False),
        ("node_silent", "n1", None, True),
    ]


def test_a_source_that_is_late_makes_nothing_absent() -> None:
    """Samples come a minute after their time, all of them."""
    detector = AbsenceDetector()
    for at in range(0, 1200, SCRAPE):
        detector.update(scrape(at - 60, lambda *_: True))
        assert detector.advance(at * SECOND) == []


@pytest.mark.parametrize("interval", [60, 300])
def test_slow_scrapes_are_waited_for(interval: int) -> None:
    detector = AbsenceDetector()
    for at in range(0, 40 * interval, 10):
        if at % interval == 0:
            detector.update(scrape(at, lambda *_: True))
        assert detector.advance(at * SECOND) == []


def test_what_prometheus_says_by_itself_shows_no_life() -> None:
    """`up` goes on, with 0, when the node is dead."""
    detector, found = AbsenceDetector(), []
    for at in range(0, 900, SCRAPE):
        detector.update(scrape(at, lambda part: part.node == "n2" or part.at < 300))
        detector.update([Sample(source="x", metric="scrape_up_flag", value=0.0, node="n1",
                                event_time=at * SECOND)])  # fmt: skip
        found += detector.advance(at * SECOND)
    assert told(found) == [("node_silent", "n1", None, False)]


@pytest.mark.parametrize("nothing", [math.nan, STALE])
def test_a_value_that_is_none_shows_no_life(nothing: float) -> None:
    detector, found = AbsenceDetector(), []
    for at in range(0, 900, SCRAPE):
        for one in scrape(at, lambda *_: True):
            is_lost = (one.node, one.gpu) == ("n1", "0") and at >= 300
            value = nothing if is_lost else 1.0
            detector.update([Sample(source="x", metric=one.metric, value=value, node=one.node,
                                    gpu=one.gpu, event_time=one.event_time)])  # fmt: skip
        found += detector.advance(at * SECOND)
    assert told(found) == [("gpu_vanished", "n1", "0", False)]


def test_gpus_that_are_called_otherwise_now_did_not_vanish() -> None:
    """The exporter was set to give UUIDs, or a GPU was exchanged."""
    detector, found = AbsenceDetector(), []
    for at in range(0, 1200, SCRAPE):
        for gpu in range(4):
            name = str(gpu) if at < 300 else f"GPU-{gpu}"
            detector.update([Sample(source="x", metric=GPU, value=1.0, node="n1", gpu=name,
                                    event_time=at * SECOND)])  # fmt: skip
        found += detector.advance(at * SECOND)
    assert found == []


def test_what_was_hardly_there_is_not_missed() -> None:
    assert run(lambda part: part.gpu != "3" or part.at < 2 * SCRAPE) == []


def test_what_is_gone_for_long_is_taken_away() -> None:
    detector = AbsenceDetector(AbsenceSettings(forget_seconds=3600))
    found = []
    for at in range(0, 9000, SCRAPE):
        detector.update(scrape(at, lambda part: part.node == "n2" or not 300 <= part.at < 8000))
        found += detector.advance(at * SECOND)
    assert told(found) == [("node_silent", "n1", None, False)]  # it came back as a new one


def test_memory_is_bounded() -> None:
    detector = AbsenceDetector(AbsenceSettings(max_units=50))
    for at in range(0, 3000, SCRAPE):
        names = [f"x{at}-{number}" for number in range(10)]
        detector.update(scrape(at, lambda *_: True, names))
        detector.advance(at * SECOND)
    assert len(detector.save()) < 20_000
    future = Sample(source="x", metric=NODE, value=1.0, node="n1", event_time=1)
    for at in range(10_000):
        detector.update([Sample(source="x", metric=NODE, value=1.0, node="n1",
                                event_time=10**15 + at)])  # fmt: skip
    assert len(detector.save()) < 100_000
    detector.update([future])


def stream(seed: int) -> list[list[Sample]]:
    """Scrapes of four nodes of which parts come and go."""
    draw = random.Random(seed)
    gaps = {
        (node, gpu): (draw.randrange(200, 900), draw.randrange(30, 900))
        for node in ("n1", "n2", "n3", "n4")
        for gpu in (None, "0", "1", "2", "3")
        if draw.random() < 0.3
    }

    def lives(part: Part) -> bool:
        start, length = gaps.get((part.node, part.gpu), (0, 0))
        return not start <= part.at < start + length

    nodes = ("n1", "n2", "n3", "n4")
    return [scrape(at, lives, nodes) for at in range(0, 2400, SCRAPE)]


def replayed(scrapes: Sequence[Sequence[Sample]], *, cut: int = 1, shuffle: bool = False,
             save: int | None = None) -> list[Absence]:  # fmt: skip
    detector, found, draw = AbsenceDetector(), [], random.Random(1)
    for number, samples in enumerate(scrapes):
        taken = draw.sample(samples, len(samples)) if shuffle else list(samples)
        for start in range(0, len(taken), cut):
            detector.update(taken[start : start + cut])
        found += detector.advance(number * SCRAPE * SECOND)
        if number == save:
            state, detector = detector.save(), AbsenceDetector()
            detector.restore(state)
    return found


@settings(max_examples=20)
@given(st.integers(0, 1000), st.integers(1, 50), st.integers(0, 150))
def test_cuts_order_and_saving_change_nothing(seed: int, cut: int, save: int) -> None:
    scrapes = stream(seed)
    plain = replayed(scrapes)
    assert replayed(scrapes, cut=cut, shuffle=True, save=save) == plain
    opened = [one for one in plain if not one.is_over]
    assert {one.kind for one in opened} <= set(AbsenceKind)


def test_a_state_that_is_none_is_refused() -> None:
    with pytest.raises(InputError, match="state of the detector"):
        AbsenceDetector().restore(b"{}")
