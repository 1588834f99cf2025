"""An explanation as a picture (SVG): silences with their thresholds, and times of steps."""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from xml.sax.saxutils import escape

from relume.clock import to_iso
from relume.printing import printable
from relume.serve.explain.explain import Explained

WIDTH, HEIGHT, MARGIN, TOP = 960, 260, 64, 44
STYLE = (
    "<style>text{font:12px sans-serif;fill:#333}.title{font-weight:bold}"
    "circle{fill:#2b6cb0}line{stroke:#c05621;stroke-dasharray:5 4}</style>"
)
Points = Sequence[tuple[int, float]]


@dataclass(frozen=True, slots=True)
class _Panel:
    """One chart: points over time by the logarithm, and levels that are told by name."""

    title: str
    points: Points
    levels: Sequence[tuple[str, float]]

    def draw(self, offset: int) -> Iterator[str]:
        """Yield its elements, `offset` pixels down."""
        yield f'<g transform="translate(0,{offset})">'
        yield f'<text x="{MARGIN}" y="24" class="title">{escape(self.title)}</text>'
        if not self.points:
            yield f'<text x="{MARGIN}" y="{TOP + 24}">nothing was seen</text></g>'
            return
        times = [time for time, _ in self.points]
        values = [*(value for _, value in self.points), *(level for _, level in self.levels)]
        low = math.log(max(1e-3, min(values)))
        high = max(low + 1e-9, math.log(max(1e-3, *values)))

        def x(time: int) -> float:
            share = (time - times[0]) / max(1, times[-1] - times[0])
            return round(MARGIN + share * (WIDTH - 2 * MARGIN), 1)

        def y(value: float) -> float:
            share = (math.log(max(1e-3, value)) - low) / (high - low)
            return round(HEIGHT - MARGIN / 2 - share * (HEIGHT - TOP - MARGIN / 2), 1)

        for name, level in self.levels:
            yield (
                f'<line x1="{MARGIN}" x2="{WIDTH - MARGIN}" y1="{y(level)}" y2="{y(level)}"/>'
                f'<text x="{MARGIN + 4}" y="{y(level) - 4}">{escape(name)}, {level:.0f} s</text>'
            )
        for time, value in self.points:
            words = f"{to_iso(time)[:19]}: {value:.3g}"
            yield f'<circle cx="{x(time)}" cy="{y(value)}" r="2"><title>{words}</title></circle>'
        for value in (math.exp(low), math.exp(high)):
            yield f'<text x="4" y="{y(value) + 4}">{value:.3g}</text>'
        first, last = (to_iso(time)[:19] for time in (times[0], times[-1]))
        yield f'<text x="{MARGIN}" y="{HEIGHT}">{first}</text>'
        yield f'<text x="{WIDTH - MARGIN}" y="{HEIGHT}" text-anchor="end">{last}</text></g>'


def svg(one: Explained) -> str:
    """Return the picture as text. It holds no script, and refers to nothing outside itself."""
    seen = one.seen
    levels = []
    if seen.silences:
        limits = seen.silences[0].limits
        levels.append(("suspected", limits.suspicion_seconds))
        if math.isfinite(limits.actionable_seconds):
            levels.append(("a hang", limits.actionable_seconds))
    panels = (
        _Panel(f"{one.attempt}: silences, seconds", seen.gaps.points, levels),
        _Panel("times of steps, as printed", seen.paces.points, ()),
    )
    height = len(panels) * (HEIGHT + 20)
    parts = [
        f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {WIDTH} {height}">',
        f"<title>{escape(printable(one.title))}</title>",
        STYLE,
        f'<rect width="{WIDTH}" height="{height}" fill="#fff"/>',
    ]
    for number, panel in enumerate(panels):
        parts += panel.draw(number * (HEIGHT + 20))
    return "\n".join((*parts, "</svg>")) + "\n"
