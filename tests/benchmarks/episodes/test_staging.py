from __future__ import annotations

from datetime import UTC, datetime
from zoneinfo import ZoneInfo

import pytest

from relume.benchmarks.episodes.staging import make_stage, tell
from relume.benchmarks.episodes.stories import STORIES, Story
from relume.benchmarks.inject.faults import FAULTS
from relume.benchmarks.simulator.telemetry.causes import stories_of
from relume.verdict import Domain

START = datetime(2026, 3, 2, 4, tzinfo=UTC)
USED = {story for fault in FAULTS.values() for story in fault.tells} | {
    story
    for cause in ("gpu", "gpu_memory", "host", "nic", "switch", "software", "collective_timeout")
    for story in stories_of(cause, Domain.UNKNOWN, of_node=True)
}


def names(count: int) -> list[str]:
    return [f"gpu-{number}" for number in range(1, count + 1)]


@pytest.mark.parametrize("story", [one for one in STORIES if one in USED], ids=lambda one: one.name)
@pytest.mark.parametrize("count", [1, 4])
def test_an_accident_meets_the_node_that_it_is_to_meet(story: Story, count: int) -> None:
    count = max(count, 3) if story.min_nodes > 2 else count
    for culprit in (None, *names(count)):
        stage = make_stage(names(count), 7, START, culprit=culprit)
        told = tell([story], stage, "any", seconds=600)
        assert told.truth.node in {None, culprit} or culprit is None
        assert all(0 <= line.at <= 600.001 for line in [*told.job, *told.controller])
        assert set(told.nodes) <= set(names(count))
        assert told.job


def test_steps_are_told_elsewhere() -> None:
    for story in STORIES:
        if story.name in {"exception_everywhere", "gpu_falls_off"}:
            told = tell([story], make_stage(names(2), 7, START), "any", seconds=600, step=41)
            assert not any("iteration" in line.text or "step:" in line.text for line in told.job)


def test_what_is_too_long_is_drawn_anew_or_told_faster() -> None:
    stage = make_stage(names(2), 7, START, culprit="gpu-2")
    hang, crash = stories_of("gpu_system_processor", Domain.HARDWARE, of_node=True), USED
    both = [*hang, *(story for story in crash if story.name == "double_bit_error")]
    assert {tell(both, stage, str(n), seconds=60).story for n in range(8)} == {"double_bit_error"}
    squeezed = tell(hang, stage, "any", seconds=60)
    assert squeezed.seconds <= 60.001


def test_a_hang_is_what_says_nothing_for_long() -> None:
    stage = make_stage(names(2), 7, START)
    fabric = stories_of("switch", Domain.NETWORK, of_node=False)
    told = tell(fabric, stage, "any", seconds=700, fits=lambda one: one.shows_hang)
    assert (told.story, told.shows_hang) == ("fabric", True)
    assert told.silent_seconds > 60


def test_clocks_are_those_of_the_zone_of_the_logs() -> None:
    berlin = START.astimezone(ZoneInfo("Europe/Berlin"))
    stage = make_stage(names(2), 7, berlin, culprit="gpu-2")
    story = stories_of("gpu_memory", Domain.HARDWARE, of_node=True)
    told = tell(story, stage, "1", seconds=600, fits=lambda one: bool(one.nodes))
    assert "2026-03-02 05:0" in told.job[0].text
    assert told.nodes["gpu-2"][0].text.startswith("2026-03-02T05:00:00.000000+01:00")
