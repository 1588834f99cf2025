"""Which lines to show of an attempt of which nobody knows why it failed: up to five, never a cause.

What is shown is unusual: new against the healthy history of the job's family and the fleet, or,
where there is none, against the part of the attempt in which it still made progress. Among those,
lines that look like a failure come first, the earliest before the later ones, and of the others
those that are closest to the end, or to where progress ended. One line stands for all of its
template.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, field

from relume.errors import counted
from relume.models.templates.drain import Drain, DrainSettings
from relume.models.templates.familiar import NOTHING, Familiar
from relume.models.templates.shapes import Shape, shape_of
from relume.verdict import Locator, Unrecognised

MAX_SHOWN = 5
MAX_TEXT = 500
"""Characters of a line shown."""
MAX_PRINTERS = 64
"""More are many: nobody asks who."""
_ENDING_LINES = 40
"""What a log without steps ends with: failures print about so much, traceback and all."""
_NEAR_LINES = 5
"""A line so far from the end is half as near as the last one."""
_SETTINGS = DrainSettings(max_templates=4096, max_siblings=64)
_BY_SHAPE = {Shape.FRAME: -4.0, Shape.PLAIN: 0.0, Shape.TROUBLE: 2.0, Shape.FAILURE: 3.0}
_NEW = 3.0
"""What it counts that nothing like a line was seen before: as much as looking like a failure."""
_NEW_HERE = 2.0
"""The same where it was seen in other jobs that ended well."""
_LEAST = 1.0
"""What counts less is nothing unusual, and only shown where nothing is."""
_SEEN_EARLIER = 0.25
"""What is left of that for a line that came already while the attempt still made progress."""


@dataclass(frozen=True, slots=True)
class LateLine:
    """A line that no rule knows, from where its log had stopped to show progress.

    `message_start` is where the text begins after all prefixes; `lines_before_end` how many lines
    of its log come after it. `event_time` is UTC microseconds, null if unknown, `where` who printed
    it, as far as its prefix says. `after_steps` says
    that its log had shown progress before, `is_early` that it is of the start of one that never
    did.
    """

    file: str
    line: int
    text: str
    message_start: int
    lines_before_end: int
    event_time: int | None = None
    after_steps: bool = False
    is_early: bool = False
    where: Locator = Locator()

    @property
    def raw(self) -> bytes:
        """The line as bytes, as templates are mined from."""
        return self.text.encode("utf-8", "replace")


@dataclass(slots=True)
class _Kind:
    """The late lines of one template: which of them is shown, how many there are, their shape.

    After steps it is the first. In a log without steps, where nobody knows since when they are a
    sign, it is the first of those that it ends with, else the last.
    """

    line: LateLine
    shape: Shape
    at: int
    count: int = 0
    score: float = 0.0
    is_new: bool = False
    why: str = ""
    printers: set[Locator] = field(default_factory=set)

    def add(self, line: LateLine, at: int) -> None:
        """Take one more line, the `at`th of all."""
        self.count += 1
        if len(self.printers) < MAX_PRINTERS:
            self.printers.add(line.where)
        if not self.line.after_steps and self.line.lines_before_end > _ENDING_LINES:
            self.line, self.at = line, at


def unrecognised(
    late: Iterable[LateLine],
    earlier: Iterable[bytes],
    familiar: Familiar = NOTHING,
    *,
    least: Shape = Shape.FRAME,
    limit: int = MAX_SHOWN,
) -> tuple[Unrecognised, ...]:
    """Return the most unusual of `late`, at most `limit`, the most telling first.

    Costs some ten microseconds a line. Deterministic.

    Parameters
    ----------
    late
        Lines that no rule knows, in the order in which they came.
    earlier
        Lines of the same logs from while there was progress, in any order.
    familiar
        What is known of healthy attempts.
    least
        Only new lines that look so bad at least. *Frame*: any, and where none is unusual, those
        that are most so.

    Examples
    --------
    >>> texts = ["shard 3 of 9 is there", "vault: seal broken on shard 4", "shard 5 of 9 is there"]
    >>> late = [LateLine("job.log", n, text, 0, 2 - n) for n, text in enumerate(texts)]
    >>> [line] = unrecognised(late, [b"shard 1 of 9 is there"])
    >>> line.text, line.why
    ('vault: seal broken on shard 4', ('nothing like it earlier', 'once', '1 line before the end'))
    """
    usual = Drain(_SETTINGS)
    for raw in earlier:
        usual.add(raw)
    kinds = _kinds(late)
    for kind in kinds:
        novelty, kind.why = _novelty(kind.line, usual, familiar)
        kind.is_new, kind.score = novelty >= _NEW_HERE, novelty
        kind.score += _BY_SHAPE[kind.shape]
    shown = [kind for kind in kinds if kind.score >= _LEAST]
    if least > Shape.FRAME:
        shown = [kind for kind in shown if kind.shape >= least and kind.is_new]
    elif not shown:
        shown = kinds
    _rank(shown)
    return tuple(map(_shown, shown[:limit]))


def _kinds(late: Iterable[LateLine]) -> list[_Kind]:
    drain, kinds = Drain(_SETTINGS), dict[int, _Kind]()
    for at, line in enumerate(late):
        template = drain.add(line.raw)
        if template is None:
            continue
        kind = kinds.get(template.id)
        if kind is None:
            shape = shape_of(line.text, line.message_start)
            kind = kinds[template.id] = _Kind(line, shape, at)
        kind.add(line, at)
    return list(kinds.values())


def _novelty(line: LateLine, usual: Drain, familiar: Familiar) -> tuple[float, str]:
    """How new a line is, and that in words."""
    raw, total = line.raw, familiar.family_attempts
    seen = familiar.seen(raw)
    if seen.family:
        words = f"seen in {seen.family} of {total} healthy attempts of this job"
        return _NEW * (0.5 - seen.family / total), words
    before = 0 if line.is_early else sum(one.count for one in usual.covering(raw))
    factor = _SEEN_EARLIER if before else 1.0
    if total:
        words = f"new: in none of {total} healthy attempts of this job"
        if seen.fleet:
            return factor * _NEW_HERE, f"{words}, in {seen.fleet} of other jobs"
        return factor * _NEW, words
    if seen.fleet:
        return factor * _NEW_HERE / 2, f"seen in {seen.fleet} healthy attempts of other jobs"
    return _within(line, before)


def _within(line: LateLine, before: int) -> tuple[float, str]:
    """Return the same where only the attempt itself tells what is usual."""
    if line.is_early:
        return 0.0, "looks like a failure, at the start"
    if before:
        return _SEEN_EARLIER * _NEW, f"{before} like it earlier"
    return _NEW, "nothing like it earlier"


def _rank(kinds: list[_Kind]) -> None:
    """Put the most telling first: by score, by rarity, and by their place.

    What looks like a failure counts more the earlier it came since steps ended; in a log without
    steps, since it began to end. Other lines count by how close they are to the end, or to where
    steps ended.
    """
    kinds.sort(key=lambda kind: kind.at)
    place = 0
    for order, kind in enumerate(kinds):
        before_end, after_steps = kind.line.lines_before_end, kind.line.after_steps
        if kind.shape >= Shape.TROUBLE:
            near = 1.0 if after_steps else min(1.0, _ENDING_LINES / max(1, before_end))
            kind.score += near
            if near == 1.0:
                kind.score += 0.5 / (1 + place)
                place += 1
        else:
            near = 1 / (1 + before_end / _NEAR_LINES)
            kind.score += max(near, 1 / (1 + order)) if after_steps else near
        kind.score += 1 / (1 + kind.count)
    kinds.sort(key=lambda kind: -kind.score)


def _shown(kind: _Kind) -> Unrecognised:
    line = kind.line
    times = "once" if kind.count == 1 else f"{kind.count} times"
    return Unrecognised(
        file=line.file,
        line=line.line,
        text=line.text[:MAX_TEXT],
        count=kind.count,
        lines_before_end=line.lines_before_end,
        why=(kind.why, times, _place(line.lines_before_end)),
        event_time=line.event_time,
        where=_common(kind.printers),
        is_trouble=kind.shape >= Shape.TROUBLE,
    )


def _common(printers: set[Locator]) -> Locator:
    """The one who printed all, or the node on which all who did are; else empty."""
    if len(printers) == 1:
        return next(iter(printers))
    nodes = {where.node for where in printers}
    node = nodes.pop() if len(nodes) == 1 and len(printers) < MAX_PRINTERS else None
    return Locator(node=node)


def _place(before_end: int) -> str:
    if before_end == 0:
        return "the last line"
    return f"{counted(before_end, 'line')} before the end"
