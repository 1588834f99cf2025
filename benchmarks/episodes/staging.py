"""A story on a stage that is given: the end of a run whose steps are told elsewhere.

The simulator and the fault kit say where an accident happens, when, and how long it takes until the
attempt is over; the stories say in which words.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field, replace
from datetime import datetime
from random import Random

from relume.benchmarks.episodes.endings import KNOWN_LAUNCHERS
from relume.benchmarks.episodes.label import Forms
from relume.benchmarks.episodes.layout import ONE, Layout, write
from relume.benchmarks.episodes.script import INFO, JOB_SOURCES, Script, Source, Truth
from relume.benchmarks.episodes.stories import STORIES, Story
from relume.benchmarks.episodes.systems import KNOWN_SYSTEM
from relume.benchmarks.episodes.world import World
from relume.benchmarks.episodes.writers import KNOWN_STYLES

RANKS_A_NODE = 8
SILENT_SECONDS = 60.0
"""A job that prints nothing for so long stands still before anybody dies."""
_TRIALS = 40
"""Drawings of a story until one fits."""
_SQUEEZED = 1.1
"""How much longer than there is time a story may be: it is then told a little faster."""
_BY_NAME = {story.name: story for story in STORIES}
_SYSTEM = next(style for style in KNOWN_SYSTEM if style.name == "iso")
"""Clocks of nodes tell year and zone, so that nobody has to guess them over months."""
_STYLES = tuple(style for style in KNOWN_STYLES if style.name in {"clock_torch", "composer"})
"""Ranks print clocks: without one a replay takes a line for as old as the one before it."""


@dataclass(frozen=True, slots=True)
class Stage(World):
    """A world in which accidents meet one node; null for whichever."""

    culprit: str | None = None

    def some_rank(self) -> int:
        """A rank of the node that is met, not the first of all, which prints more than others."""
        if self.culprit is None:
            return World.some_rank(self)
        ranks = [rank for rank in self.ranks_of(self.culprit) if rank] or [0]
        return self.rng.choice(ranks)

    def some_node(self) -> str:
        """The node that is met."""
        return World.some_node(self) if self.culprit is None else self.culprit


def make_stage(
    nodes: Sequence[str], job_id: int, start: datetime, *, culprit: str | None = None
) -> Stage:
    """Return a stage of these nodes, whose clocks agree; `start` is in the zone of the logs.

    Examples
    --------
    >>> from datetime import UTC
    >>> start = datetime(2026, 3, 2, tzinfo=UTC)
    >>> make_stage(["gpu-1", "gpu-2"], 7, start, culprit="gpu-2").some_node()
    'gpu-2'
    """
    offset = start.utcoffset()
    return Stage(
        rng=Random(0),
        nodes=tuple(nodes),
        per_node=RANKS_A_NODE,
        job_id=job_id,
        start=start,
        skew=dict.fromkeys(nodes, 0.0),
        zone_hours=0 if offset is None else round(offset.total_seconds() / 3600),
        spare_nodes=tuple(f"{nodes[-1]}-spare{number}" for number in range(4)),
        culprit=culprit,
    )


@dataclass(frozen=True, slots=True)
class Line:
    """One line: seconds from the start of the story, and the text with its clock."""

    at: float
    text: str


@dataclass(frozen=True, slots=True)
class Told:
    """What an accident leaves behind.

    Attributes
    ----------
    story
        Which one it was.
    truth
        What happened.
    seconds
        From its start to the last word.
    silent_seconds
        From its start to the first word of the job: by these it hung, if they are many.
    job, nodes, controller
        The lines of the job, of each node's system log, and of slurmctld; in the order of time.
    """

    story: str
    truth: Truth
    seconds: float
    silent_seconds: float
    job: list[Line] = field(default_factory=list)
    nodes: dict[str, list[Line]] = field(default_factory=dict)
    controller: list[Line] = field(default_factory=list)

    @property
    def shows_hang(self) -> bool:
        """Whether the job stood still before it said anything."""
        return "hang" in self.truth.kinds and self.silent_seconds >= SILENT_SECONDS


def stories(*names: str) -> tuple[Story, ...]:
    """Return stories by their names.

    Raises
    ------
    KeyError
        For a name that is none.
    """
    return tuple(_BY_NAME[name] for name in names)


def tell(
    choice: Sequence[Story],
    stage: Stage,
    draw: str,
    *,
    seconds: float,
    step: int = 0,
    fits: Callable[[Told], bool] | None = None,
) -> Told:
    """Tell one of some stories in known words, from the start of the stage on.

    Parameters
    ----------
    choice
        Which of them; where all need more nodes than there are, those that need the fewest.
    stage
        Where.
    draw
        Seeds which one, and its words.
    seconds
        Until the attempt is over: a longer story is drawn anew, and told faster if all are longer.
    step
        The last step that was told before.
    fits
        What it should be like besides; where none is so, the first one that is short enough.
    """
    fewest = max(len(stage.nodes), min(story.min_nodes for story in choice))
    able = [story for story in choice if story.min_nodes <= fewest]
    drawn = []
    for trial in range(_TRIALS):
        script = _script(able, stage, Random(f"{draw}/{trial}"), step)
        told = _told(*script, seconds)
        if script[1].now > seconds * _SQUEEZED:
            drawn.append((2, trial, told))
        elif fits is not None and not fits(told):
            drawn.append((1, trial, told))
        else:
            return told
    return min(drawn, key=lambda one: one[:2])[2]


def _script(able: Sequence[Story], stage: Stage, rng: Random, step: int) -> tuple[str, Script]:
    story = rng.choice(able)
    script = Script(replace(stage, rng=rng), rng, rng.choice(KNOWN_LAUNCHERS), trained=step)
    story.tell(script)
    return story.name, script


def _told(name: str, script: Script, seconds: float) -> Told:
    _make_room(script, seconds)
    layout = Layout(
        files=ONE,
        names=Forms.KNOWN,
        style=script.rng.choice(_STYLES),
        system=_SYSTEM,
        controller=Forms.KNOWN,
    )
    words = [r.at for r in script.records if r.source in JOB_SOURCES and r.level != INFO]
    last = max((record.at for record in script.records), default=0.0)
    told = Told(name, script.truth, last, min(words, default=seconds))
    for written in write(script, layout, script.rng).lines.values():
        for one in written:
            record = one.record
            if record.source in JOB_SOURCES:
                lines = told.job
            elif record.source is Source.CONTROLLER:
                lines = told.controller
            else:
                lines = told.nodes.setdefault(record.node, [])
            lines.append(Line(record.at, one.text))
    return told


def _make_room(script: Script, seconds: float) -> None:
    """Let nothing be said after `seconds`, and nothing before the start."""
    last = max((record.at + record.late for record in script.records), default=0.0)
    pace = min(1.0, seconds / last) if last > 0 else 1.0
    for record in script.records:
        record.at, record.late = max(0.0, record.at * pace), record.late * pace
