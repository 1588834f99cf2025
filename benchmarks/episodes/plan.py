"""What is drawn for one episode: the story, its size, its forms, and what is done to its logs."""

from __future__ import annotations

from random import Random

from relume.benchmarks.episodes.layout import (
    MAX_RANK_FILES,
    ONE,
    PER_NODE,
    PER_RANK,
    TWO,
    Layout,
)
from relume.benchmarks.episodes.systems import KNOWN_SYSTEM, OTHER_SYSTEM
from relume.benchmarks.episodes.world import World
from relume.benchmarks.episodes.writers import CLOCKED, KNOWN_STYLES, OTHER_STYLES, PLAIN, Style

_NEW_SHARE = 0.7
"""Of the held-out episodes, how many have new prefixes, and how many new wordings."""
_CUT_SHARE = 0.12
_LATE_SHARE = 0.25
_TORN_SHARE = 0.1
_INTERLEAVED_SHARE = 0.4
_UNMARKED_SHARE = 0.12


def wants_new(rng: Random) -> bool:
    """Draw whether one side of a held-out episode is new."""
    return rng.random() < _NEW_SHARE


def draw_layout(rng: Random, world: World, launcher: str, *, new: bool) -> Layout:
    """Draw how it is written; with `new`, in forms that no reader of prefixes was written for."""
    kinds = [ONE] * 5 + [TWO] * 2
    if world.ranks <= MAX_RANK_FILES:
        kinds += [PER_RANK] * 2
    if new:
        kinds += [PER_NODE] * 2
    files = rng.choice(kinds)
    is_system_new = new and rng.random() < 0.5
    system = rng.choice(OTHER_SYSTEM if is_system_new else KNOWN_SYSTEM)
    return Layout(
        files=files,
        known=not new,
        style=_style(rng, files, launcher, new=new),
        system=system,
        known_controller=not new or rng.random() < 0.5,
        unmarked_hours=rng.choice((-7, -5, 1, 2, 8))
        if new and rng.random() < _UNMARKED_SHARE
        else 0,
        cut_start=rng.random() < _CUT_SHARE,
        cut_end=rng.random() < _CUT_SHARE,
        interleaved=rng.random() < _INTERLEAVED_SHARE,
        torn=rng.random() < _TORN_SHARE,
        late_culprit=rng.random() < _LATE_SHARE,
        naming=rng.randrange(60),
    )


def _style(rng: Random, files: str, launcher: str, *, new: bool) -> Style:
    if files == PER_RANK:
        return rng.choice((PLAIN, PLAIN, CLOCKED))
    styles = OTHER_STYLES if new else KNOWN_STYLES
    return rng.choice([style for style in styles if style.fits(launcher)])
