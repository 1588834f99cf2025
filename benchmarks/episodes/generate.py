"""Makes episodes: seeded, one after the other, none depends on another."""

from __future__ import annotations

import os
import re
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, replace
from pathlib import Path
from random import Random

from relume.benchmarks.episodes import decoys, healthy, plan
from relume.benchmarks.episodes.label import Forms, Label, Place
from relume.benchmarks.episodes.layout import (
    ONE,
    PER_NODE,
    PER_RANK,
    TWO,
    Files,
    Layout,
    Written,
    write,
)
from relume.benchmarks.episodes.script import JOB_SOURCES, Script, Source
from relume.benchmarks.episodes.stories import STORIES, Story
from relume.benchmarks.episodes.systems import UNZONED, accounting
from relume.benchmarks.episodes.world import make_world
from relume.errors import InputError, did_you_mean

_NAME = re.compile(r"(?P<story>\w+)-(?P<forms>known|other|unseen)-(?P<index>\d{1,4})")
SEED = 20260901
PER_STORY = 12
"""Of each story, half of them in known forms."""
UNSEEN_PER_STORY = 3
_ACCOUNTED = 0.5
"""Share of episodes with an accounting row."""
_COLLECTED_AFTER = 1_800.0
"""Seconds from the end of an attempt to when its logs were copied."""
_EARLIER_SHARE = 0.08
"""Share of episodes whose file begins with an attempt that failed of something else."""


@dataclass(frozen=True, slots=True)
class Episode:
    """One attempt: its label, the text of its files by name, and when they were collected.

    `collected` are POSIX seconds.
    """

    label: Label
    files: dict[str, str]
    collected: float

    def write(self, folder: Path) -> None:
        """Write the files below `folder`, which may exist."""
        for name, text in self.files.items():
            path = folder / name
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_bytes(text.encode())
            # Clocks without a year take it from when the log was written.
            os.utime(path, (self.collected, self.collected))


def episodes(seed: int = SEED, per_story: int = PER_STORY) -> Iterator[Episode]:
    """Yield all episodes, story by story: the first half of each in known forms."""
    for story in STORIES:
        for index in range(per_story):
            yield make(
                story, index, Forms.KNOWN if index < per_story // 2 else Forms.OTHER, seed=seed
            )


def unseen(seed: int = SEED, per_story: int = UNSEEN_PER_STORY) -> Iterator[Episode]:
    """Yield the episodes of the third group, which are in no data set: nobody is to look at them."""
    for story in STORIES:
        for index in range(per_story):
            yield make(story, index, Forms.UNSEEN, seed=seed)


def find(name: str, seed: int = SEED) -> Episode:
    """Make the episode of that name, such as ``node_lost-known-03``.

    Raises
    ------
    InputError
        For a name that is none.
    """
    found = _NAME.fullmatch(name)
    story = next((s for s in STORIES if found is not None and s.name == found["story"]), None)
    if found is None or story is None:
        raise InputError(
            f"episode {name}",
            found="no such story",
            expected="STORY-known-NN, STORY-other-NN or STORY-unseen-NN",
            hint=did_you_mean(name.partition("-")[0], [story.name for story in STORIES])
            or "see benchmarks/episodes/stories",
        )
    return make(story, int(found["index"]), Forms(found["forms"]), seed=seed)


def make(story: Story, index: int, forms: Forms, *, seed: int = SEED) -> Episode:
    """Make one episode.

    Examples
    --------
    >>> from relume.benchmarks.episodes.stories import STORIES
    >>> make(STORIES[0], 0, Forms.KNOWN) == make(STORIES[0], 0, Forms.KNOWN)
    True
    """
    name = f"{story.name}-{forms}-{index:02d}"
    rng = Random(f"{seed}/{name}")
    world = make_world(rng, min_nodes=story.min_nodes)
    new_words = forms is Forms.OTHER and plan.wants_new(rng)
    new_style = forms is not Forms.KNOWN and plan.wants_new(rng)
    launcher = plan.draw_launcher(rng, forms, new=new_style)
    script = Script(world, rng, launcher, new_words=new_words)
    if forms is Forms.UNSEEN:
        script.form = index
    if rng.random() < _EARLIER_SHARE:
        decoys.earlier_attempt(script)
    healthy.launch(script)
    story.tell(script)
    _surroundings(script)
    # A story without other words is told in another form.
    new_style = new_style or (forms is Forms.OTHER and not script.used_new)
    layout = plan.draw_layout(rng, world, launcher, forms, new=new_style)
    if script.no_cut:
        layout = replace(layout, cut_start=False, cut_end=False)
    has_accounting = rng.random() < _ACCOUNTED
    files = write(script, layout, rng)
    texts = {file: "".join(f"{w.text}\n" for w in lines) for file, lines in files.lines.items()}
    if has_accounting:
        texts["sacct.txt"] = accounting(
            world, script.truth.state, script.truth.exit_code, script.now + 30
        )
    label = _label(name, story, script, layout, files, forms=forms, accounted=has_accounting)
    return Episode(label, texts, world.clock(script.now + _COLLECTED_AFTER).timestamp())


def _surroundings(script: Script) -> None:
    """Logs of the system lie beside the job's, whether or not they have to say something."""
    speaks = {r.source for r in script.records} - JOB_SOURCES
    busy = sorted({r.node for r in script.records if r.source not in JOB_SOURCES and r.node})
    if speaks or script.rng.random() < 0.3:
        decoys.calm_nodes(script, *busy)
    if any(s.value == "slurmctld" for s in speaks) or script.rng.random() < 0.3:
        decoys.controller_noise(script)


def _label(
    name: str,
    story: Story,
    script: Script,
    layout: Layout,
    files: Files,
    *,
    forms: Forms,
    accounted: bool,
) -> Label:
    truth, world = script.truth, script.world
    rank, node = _told(script, files, accounted=accounted)
    roots: list[Place] = [
        (file, number)
        for file, written in files.lines.items()
        for number, line in enumerate(written)
        if line.is_root
    ]
    return Label(
        episode=name,
        story=story.name,
        forms=forms,
        kinds=truth.kinds,
        domains=truth.domains,
        node=node,
        rank=rank,
        roots=tuple(roots),
        harmless=_harmless(script),
        excludable=_excludable(script, node),
        nodes=len(world.nodes),
        ranks=world.ranks,
        variations=_variations(script, layout),
    )


def _told(script: Script, files: Files, *, accounted: bool) -> tuple[int | None, str | None]:
    """What the lines that are left tell of the culprit: its rank and its node.

    A rank gives its node by a line that says where it runs, or by the list of nodes where the
    lines show how many ranks there are: consecutive ranks share a node. A single node needs no
    telling where a list names it.
    """
    truth, world = script.truth, script.world
    lines = [line for written in files.lines.values() for line in written]
    told = frozenset[str]().union(*(line.tells for line in lines))
    lists_nodes = accounted or any(line.record.lists_nodes for line in lines)
    rank = truth.rank if "rank" in told else None
    in_list = lists_nodes and _size_is_shown(script, lines)
    placed = "rank" in told and (in_list or bool(_placing(script) & {w.places for w in lines}))
    is_only = truth.node is not None and len(world.nodes) == 1 and lists_nodes
    node = truth.node if "node" in told or placed or is_only else None
    return rank, node


def _size_is_shown(script: Script, lines: Iterable[Written]) -> bool:
    """Whether somebody says how many ranks there are, or a rank of the last node is seen."""
    last = script.world.ranks - script.world.per_node
    return any(
        (line.record.lists_nodes and line.record.source is Source.LAUNCHER)
        or (line.shows_rank and line.record.rank >= last)
        for line in lines
    )


def _placing(script: Script) -> set[int | None]:
    """Ranks of which one's place tells the culprit's node."""
    truth = script.truth
    if truth.rank is not None:
        return {truth.rank}
    return set() if truth.node is None else set(script.world.ranks_of(truth.node))


def _harmless(script: Script) -> frozenset[str]:
    """Names of nodes (and their addresses) and ranks that are no mistake."""
    truth, world = script.truth, script.world
    ranks = {*truth.also_ranks, truth.rank} - {None}
    nodes: set[str | None] = {world.node_of(rank) for rank in ranks if rank is not None}
    nodes |= {truth.node, *truth.also_nodes}
    if truth.domains[0] != "workload":  # the node is asked for
        ranks |= {rank for node in nodes if node for rank in world.ranks_of(node)}
    named = {name for node in nodes if node is not None for name in (node, world.address(node))}
    return frozenset(named | {f"rank {rank}" for rank in ranks} | set(truth.also_names))


def _excludable(script: Script, node: str | None) -> frozenset[str]:
    truth = script.truth
    if node is None or not truth.may_exclude:
        return frozenset()
    return frozenset((node, *truth.also_nodes))


def _variations(script: Script, layout: Layout) -> tuple[str, ...]:
    is_shifted = layout.unmarked_hours != 0 and layout.system.name in UNZONED
    skew = max(map(abs, script.world.skew.values()))
    facts = {
        layout.files: True,
        layout.style.name: True,
        layout.system.name: any(r.source not in JOB_SOURCES for r in script.records),
        script.launcher: True,
        "torn lines": layout.torn,
        "new file names": layout.files in {PER_RANK, PER_NODE} and layout.names is not Forms.KNOWN,
        "interleaved": layout.interleaved and layout.files in {ONE, TWO, PER_NODE},
        "cut start": layout.cut_start,
        "cut end": layout.cut_end,
        "culprit late": layout.late_culprit,
        "new words": script.used_new,
        f"skew {skew:.0f} s": skew >= 1,
        f"zone {layout.unmarked_hours:+d} h unmarked": is_shifted,
    }
    return tuple(name for name, holds in facts.items() if holds)
