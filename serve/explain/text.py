"""An explanation for a terminal: words, tables, and bars that show silences and pace over time."""

from __future__ import annotations

import math
from collections.abc import Iterator
from typing import TYPE_CHECKING

from rich.box import SIMPLE_HEAD
from rich.table import Table
from rich.text import Text

from relume.clock import to_iso
from relume.printing import printable
from relume.serve.explain.document import SHARES
from relume.serve.explain.explain import Explained
from relume.serve.explain.spread import Course
from relume.serve.explain.words import because, outcome, why_hang, why_slow

if TYPE_CHECKING:
    from rich.console import RenderableType

BARS = "▁▂▃▄▅▆▇█"
WIDTH = 72
NEAR = 3
"""A silence is shown from a third of what is suspected on; the furthest one always."""


def render(one: Explained) -> Iterator[RenderableType]:
    """Yield the parts of an explanation, in order."""
    yield Text(printable(f"{one.attempt}  {one.title}"), style="bold")
    for words in one.missing:
        yield Text(printable(f"not read: {words}"))
    yield _advice(one)
    yield Text("\nHang", style="bold")
    yield from (Text(f"- {printable(words)}") for words in why_hang(one))
    if one.seen.phases:
        yield _phases(one)
    if one.seen.silences:
        yield _silences(one)
    yield from _bars("silences", one.seen.gaps)
    yield Text("\nStraggler", style="bold")
    yield from (Text(f"- {printable(words)}") for words in why_slow(one))
    yield from _bars("times of steps", one.seen.paces)


def bars(values: list[float], width: int = WIDTH) -> str:
    """Return numbers as a row of bars, by their logarithms; each is the largest of its stretch.

    Examples
    --------
    >>> bars([1.0, 1.0, 10.0, 1.0])
    '▁▁█▁'
    """
    if not values:
        return ""
    per = math.ceil(len(values) / width)
    tops = [max(values[at : at + per]) for at in range(0, len(values), per)]
    heights = [math.log(max(top, 1e-6)) for top in tops]
    low, high = min(heights), max(heights)
    scale = (len(BARS) - 1) / (high - low) if high > low else 0.0
    return "".join(BARS[round((height - low) * scale)] for height in heights)


def _bars(name: str, course: Course) -> Iterator[Text]:
    values = [value for _, value in course.points]
    if len(values) > 1:
        first, last = (to_iso(course.points[at][0])[:19] for at in (0, -1))
        yield Text(
            f"{bars(values)}\n{name}, {min(values):.3g} to {max(values):.3g}, {first} to {last}"
        )


def _advice(one: Explained) -> RenderableType:
    if not one.seen.advice:
        return Text("nothing was advised")
    table = Table("advised", "operation", "kind", "rule", "cause", box=SIMPLE_HEAD)
    for advice in one.seen.advice:
        words = (advice.operation.value, advice.kind.value, advice.rule or "-", advice.cause or "-")
        table.add_row(to_iso(advice.created_at)[:19], *(Text(printable(word)) for word in words))
    return table


def _phases(one: Explained) -> Table:
    names = ("phase", "silences", *(f"{share:.0%} up to" for share in SHARES), "longest")
    table = Table(*names, box=SIMPLE_HEAD)
    for name, spread in one.seen.phases.items():
        numbers = (*(spread.quantile(share) for share in SHARES), spread.longest)
        table.add_row(name, str(spread.count), *(f"{number:.1f} s" for number in numbers))
    return table


def _silences(one: Explained) -> Table:
    names = ("silent since", "for", "phase", "suspected after", "a hang after", "because", "")
    table = Table(*names, box=SIMPLE_HEAD)
    furthest, *others = one.seen.silences
    near = [it for it in others if it.seconds * NEAR >= it.limits.suspicion_seconds]
    for silence in (furthest, *near):
        limits = silence.limits
        patience = limits.actionable_seconds
        table.add_row(
            to_iso(silence.since)[:19],
            f"{silence.seconds:.0f} s",
            silence.phase,
            f"{limits.suspicion_seconds:.0f} s",
            f"{patience:.0f} s" if math.isfinite(patience) else "never",
            because(silence.phase, limits),
            outcome(silence),
        )
    return table
