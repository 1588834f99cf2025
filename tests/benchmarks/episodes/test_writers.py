"""Lines tell what they are said to tell, and known forms are those that readers know."""

from __future__ import annotations

from random import Random

import pytest

from relume.benchmarks.episodes.label import Forms
from relume.benchmarks.episodes.script import Record, Source
from relume.benchmarks.episodes.systems import (
    KNOWN_SYSTEM,
    OTHER_SYSTEM,
    SystemStyle,
    controller_line,
)
from relume.benchmarks.episodes.unseen.prefixes import UNSEEN_STYLES
from relume.benchmarks.episodes.unseen.systems import UNSEEN_SYSTEM
from relume.benchmarks.episodes.world import World, make_world
from relume.benchmarks.episodes.writers import (
    CLOCKED,
    KNOWN_STYLES,
    OTHER_STYLES,
    PLAIN,
    Style,
    Voice,
)
from relume.ingest.forms import KERNEL, SLURMCTLD, form_of
from relume.ingest.loglines import LineParser

RANK = 13
ALL = (*KNOWN_STYLES, *OTHER_STYLES, *UNSEEN_STYLES, PLAIN, CLOCKED)


def world() -> World:
    return make_world(Random(5), min_nodes=4)


def line_of(style: Style, text: str = "loss 2.1") -> str:
    made = world()
    node = made.node_of(RANK)
    voice = Voice(made, RANK, made.clock(60, node), made.zoned(60, node), "ERROR")
    return style.write(voice, text)


@pytest.mark.parametrize("style", ALL, ids=lambda style: style.name)
def test_a_line_holds_its_message_and_what_it_tells(style: Style) -> None:
    line = line_of(style)
    assert "loss 2.1" in line
    assert "\n" not in line
    assert ("rank" in style.tells) <= (str(RANK) in line)
    assert ("node" in style.tells) <= (world().node_of(RANK) in line)


@pytest.mark.parametrize("style", [s for s in ALL if s.whole], ids=lambda style: style.name)
def test_a_whole_message_stays_in_one_line(style: Style) -> None:
    assert "\n" not in line_of(style, "Traceback\n  File\nValueError: x")


@pytest.mark.parametrize("style", KNOWN_STYLES, ids=lambda style: style.name)
def test_readers_know_the_known_prefixes(style: Style) -> None:
    event = LineParser("slurm-1.out").parse(line_of(style), 0, 0)
    told = event.rank if event.rank is not None else event.task
    assert (told == RANK) is ("rank" in style.tells)


def record(source: Source = Source.KERNEL) -> Record:
    return Record(60.0, source, world().nodes[1], -1, "usb 1-1: new high-speed USB device")


@pytest.mark.parametrize("style", KNOWN_SYSTEM, ids=lambda style: style.name)
def test_readers_know_the_known_kernel_logs(style: SystemStyle) -> None:
    made = world()
    line = style.write(made, record(), made.clock(60))
    assert form_of(f"{line}\n".encode() * 5) == KERNEL


@pytest.mark.parametrize(
    "style", [*KNOWN_SYSTEM, *OTHER_SYSTEM, *UNSEEN_SYSTEM], ids=lambda style: style.name
)
def test_a_system_log_tells_its_node_by_its_lines_or_its_name(style: SystemStyle) -> None:
    made = world()
    line = style.write(made, record(), made.clock(60))
    assert made.nodes[1] in line + style.file(made.nodes[1])


def test_readers_know_the_controllers_log() -> None:
    made = world()
    lines = [
        controller_line(
            made,
            Record(t, Source.CONTROLLER, "", -1, f"_job_complete: JobId={t} done"),
            Forms.KNOWN,
        )
        for t in range(5)
    ]
    assert form_of("\n".join(lines).encode()) == SLURMCTLD
