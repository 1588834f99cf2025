"""What a story is, and the parts that many share."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import dataclass

from relume.benchmarks.episodes import endings, healthy
from relume.benchmarks.episodes.script import Script


@dataclass(frozen=True, slots=True)
class Story:
    """A kind of accident: its name, how many nodes it needs, and what happens."""

    name: str
    tell: Callable[[Script], None]
    min_nodes: int = 1


def truth(
    script: Script,
    kinds: str,
    domains: str,
    *,
    node: str | None = None,
    rank: int | None = None,
    exclude: bool = False,
    also: Iterable[int] = (),
) -> None:
    """Say what happened: words that a right verdict may use, best first, and who did it.

    `also` are ranks that may be named as the place, though nobody is to blame.
    """
    script.truth.also_ranks = tuple(also)
    script.truth.kinds = tuple(kinds.split())
    script.truth.domains = tuple(domains.split())
    script.truth.may_exclude = exclude
    if node is not None or rank is not None:
        script.blame(node=node, rank=rank)


def victims_wait(script: Script, lost: int) -> None:
    """The others wait for a rank until their watchdogs end them, or notice at once."""
    others = [r for r in script.others(lost) if script.rng.random() < 0.97]
    if script.rng.random() < 0.5:
        endings.timeouts(script, others, seconds=script.rng.choice((120, 600, 1800)))
        endings.taken_down(script, others)
    else:
        endings.peers_lost(script, others, lost=lost)


def victims_notice(script: Script, lost: int, *, before: float = 0.0) -> None:
    """The others notice at once; `before` seconds before the cause reaches the log."""
    script.now -= before
    endings.peers_lost(script, script.others(lost), lost=lost)
    script.now += before


def trains(script: Script) -> int:
    """Some steps as usual."""
    return healthy.train(script)
