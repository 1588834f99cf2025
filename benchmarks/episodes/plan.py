"""What is drawn for one episode: the story, its size, its forms, and what is done to its logs."""

from __future__ import annotations

from random import Random

from relume.benchmarks.episodes.endings import KNOWN_LAUNCHERS, OTHER_LAUNCHERS
from relume.benchmarks.episodes.label import Forms
from relume.benchmarks.episodes.layout import (
    MAX_RANK_FILES,
    ONE,
    PER_NODE,
    PER_RANK,
    TWO,
    Layout,
)
from relume.benchmarks.episodes.systems import KNOWN_SYSTEM, OTHER_SYSTEM
from relume.benchmarks.episodes.unseen.launchers import UNSEEN_LAUNCHERS
from relume.benchmarks.episodes.unseen.prefixes import UNSEEN_STYLES
from relume.benchmarks.episodes.unseen.systems import UNSEEN_SYSTEM
from relume.benchmarks.episodes.world import World
from relume.benchmarks.episodes.writers import CLOCKED, KNOWN_STYLES, OTHER_STYLES, PLAIN, Style

_NEW_SHARE = 0.7
"""Of the episodes that are not in known forms, how many have new prefixes, and of the held-out ones
how many have new wordings; of the unseen ones all have."""
_CUT_SHARE = 0.12
_LATE_SHARE = 0.25
_TORN_SHARE = 0.1
_INTERLEAVED_SHARE = 0.4
_UNMARKED_SHARE = 0.12


def wants_new(rng: Random) -> bool:
    """Draw whether one side of an episode is new."""
    return rng.random() < _NEW_SHARE


def draw_launcher(rng: Random, forms: Forms, *, new: bool) -> str:
    """Draw who starts the ranks; with `new`, somebody of whom no rule was written."""
    if not new:
        return rng.choice(KNOWN_LAUNCHERS)
    return rng.choice(UNSEEN_LAUNCHERS if forms is Forms.UNSEEN else OTHER_LAUNCHERS)


def draw_layout(rng: Random, world: World, launcher: str, forms: Forms, *, new: bool) -> Layout:
    """Draw how it is written; with `new`, in forms that no reader of prefixes was written for."""
    kinds = [ONE] * 5 + [TWO] * 2
    if world.ranks <= MAX_RANK_FILES:
        kinds += [PER_RANK] * 2
    if new:
        kinds += [PER_NODE] * 2
    files = rng.choice(kinds)
    is_system_new = new and rng.random() < 0.5
    new_systems = UNSEEN_SYSTEM if forms is Forms.UNSEEN else OTHER_SYSTEM
    system = rng.choice(new_systems if is_system_new else KNOWN_SYSTEM)
    return Layout(
        files=files,
        names=(forms if new else Forms.KNOWN),
        style=_style(rng, files, launcher, forms, new=new),
        system=system,
        controller=forms if new and rng.random() >= 0.5 else Forms.KNOWN,
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


def _style(rng: Random, files: str, launcher: str, forms: Forms, *, new: bool) -> Style:
    if files == PER_RANK:
        return rng.choice((PLAIN, PLAIN, CLOCKED))
    new_styles = UNSEEN_STYLES if forms is Forms.UNSEEN else OTHER_STYLES
    styles = new_styles if new else KNOWN_STYLES
    return rng.choice([style for style in styles if style.fits(launcher)])
