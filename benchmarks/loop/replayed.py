"""Whether what was advised live is what a replay of the landed events advises (DESIGN 4)."""

from __future__ import annotations

from collections.abc import Iterable
from pathlib import Path

from relume.advice import Advice, comparable
from relume.config import load_config
from relume.serve.configured import analyzer_of
from relume.serve.live.options import RunnerOptions
from relume.serve.live.replay import replay


def unlike_replay(configuration: Path, lake: Path, live: Iterable[Advice]) -> list[str]:
    """Judge a lake anew, as its service was configured; return the differences in words."""
    settings = load_config(configuration).settings
    again = replay(lake, RunnerOptions.of(settings), analyzer_of(settings))
    return differences(live, again)


def differences(live: Iterable[Advice], again: Iterable[Advice]) -> list[str]:
    """Return in words what only one of both says, or both say differently."""
    first, second = _by_name(live), _by_name(again)
    found = [f"{name}: only live" for name in first.keys() - second.keys()]
    found += [f"{name}: only in the replay" for name in second.keys() - first.keys()]
    for name in first.keys() & second.keys():
        mine, theirs = comparable(first[name]), comparable(second[name])
        fields = [field for field in mine if mine[field] != theirs[field]]
        found += [f"{name}: another {', '.join(fields)}"] if fields else []
    return sorted(found)


def _by_name(advice: Iterable[Advice]) -> dict[str, Advice]:
    return {f"{one.attempt} generation {one.generation}": one for one in advice}
