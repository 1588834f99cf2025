"""Our own small Drain: lines in, templates out, one at a time, within fixed bounds.

The tree has a fixed depth: how many words a line has, then its first two words that hold no value.
A leaf is a short list of templates. A line joins the one there that it shares most constant words
with, if those are enough; words that differ become a `WILDCARD`. Else it begins a template.

What comes out depends on the lines and their order only, not on how they were cut into blocks, nor
on what is remembered: a remembered line is looked up again as soon as its leaf has changed.

Source: "Drain: An online log parsing approach with fixed depth tree", ICWS 2017.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from operator import eq
from typing import TypeAlias, TypeVar

import msgspec

from relume.models.templates.masking import FOLD, MASK, MAX_LINE_BYTES, Masker, cut

WILDCARD = b"*"
MAX_REMEMBERED = 1 << 15
"""Lines remembered with the template that they belong to, and as many of their masked words."""
KEY_WORDS = 2
"""Constant words that choose the leaf: the depth of the tree below the length."""
EVICTED_SHARE = 8

Words: TypeAlias = tuple[bytes, ...]
_Known: TypeAlias = "tuple[Template, int]"
"""A template, and the version of its leaf by which that is known."""
_T = TypeVar("_T")


@dataclass(frozen=True, slots=True)
class DrainSettings:
    """Bounds and the threshold.

    Attributes
    ----------
    similarity
        Share of a line's constant words (0 to 1) that a template must have at their places for the
        line to belong to it. Higher makes more templates.
    max_templates
        When one more would be there, the eighth of them that was seen longest ago goes.
    max_siblings
        The same within one leaf, of which only the one that was seen longest ago goes. It bounds
        what a line costs.
    """

    similarity: float = 0.6
    max_templates: int = 1024
    max_siblings: int = 32


class Template:
    """What lines of one kind have in common.

    Attributes
    ----------
    id
        From 0 on, in the order in which templates came; never used again.
    words
        Constant words as they are, values as `MASK`, words that differ as `WILDCARD`.
    count
        Lines that belonged to it.
    last
        Number of the newest of them, from 1 on.
    """

    __slots__ = ("count", "id", "last", "leaf", "words")

    def __init__(self, number: int, words: Words, leaf: _Leaf) -> None:
        self.id = number
        self.words = words
        self.count = 0
        self.last = 0
        self.leaf = leaf

    @property
    def text(self) -> str:
        """The template as a line."""
        return b" ".join(self.words).decode()


class TemplateState(msgspec.Struct, frozen=True, array_like=True):
    """A template, to be kept: the fields of `Template`."""

    id: int
    words: list[str]
    count: int
    last: int


class DrainState(msgspec.Struct, frozen=True):
    """Everything that a `Drain` knows, for JSON; the templates by their ids."""

    lines: int
    next_id: int
    templates: list[TemplateState]


class _Leaf:
    """Templates of one kind of line, the oldest first; `version` counts their changes."""

    __slots__ = ("key", "templates", "version")

    def __init__(self, key: Words) -> None:
        self.key = key
        self.templates: list[Template] = []
        self.version = 0


class Drain:
    r"""Mines templates. Bounded; not thread-safe.

    Costs a microsecond for a line that differs from an earlier one in digits only, five for another
    one of a known template, some tens for a new one.

    Examples
    --------
    >>> drain = Drain()
    >>> for line in (b"rank 3: lost peer n07", b"rank 5: lost peer n12", b"saved"):
    ...     _ = drain.add(line)
    >>> [(one.text, one.count) for one in drain.templates()]
    [('rank #: lost peer n#', 2), ('saved', 1)]
    >>> Drain.restore(drain.state()).state() == drain.state()
    True
    """

    def __init__(self, settings: DrainSettings | None = None) -> None:
        self.settings = settings or DrainSettings()
        self._masker = Masker()
        self._leaves: dict[Words, _Leaf] = {}
        self._templates: dict[int, Template] = {}
        self._lines_known: dict[bytes, _Known] = {}
        self._words_known: dict[Words, _Known] = {}
        self._lines = 0
        self._next_id = 0

    def __len__(self) -> int:
        return len(self._templates)

    def templates(self) -> Iterator[Template]:
        """Yield the templates by their ids."""
        return iter(self._templates.values())

    def get(self, number: int) -> Template | None:
        """Return the template of that id; null when it has gone."""
        return self._templates.get(number)

    def add(self, line: bytes) -> Template | None:
        """Take one line and return its template; null for a line without a word."""
        return self._add(cut(line).translate(FOLD))

    def add_lines(self, data: bytes) -> list[Template | None]:
        """Take the lines of a block, and return the template of each as it was then."""
        add = self._add
        lines = data.removesuffix(b"\n").translate(FOLD).split(b"\n")
        return [add(line if len(line) <= MAX_LINE_BYTES else cut(line)) for line in lines]

    def covering(self, line: bytes) -> list[Template]:
        """Return the templates that cover a line as it is, the oldest first. Changes nothing.

        It is stricter than `add`: every word is there, or is a value or a wildcard in the template.
        """
        words = self._masker.words(line)
        leaf = self._leaves.get(_key(words)) if words else None
        found = [] if leaf is None else leaf.templates
        return [one for one in found if _covers(one.words, words)]

    def state(self) -> DrainState:
        """Return what it knows."""
        templates = [
            TemplateState(one.id, [word.decode() for word in one.words], one.count, one.last)
            for one in self._templates.values()
        ]
        return DrainState(self._lines, self._next_id, templates)

    @classmethod
    def restore(cls, state: DrainState, settings: DrainSettings | None = None) -> Drain:
        """Return the Drain whose state it was, which goes on as that would have."""
        drain = cls(settings)
        drain._lines, drain._next_id = state.lines, state.next_id
        for kept in state.templates:
            words = tuple(word.encode() for word in kept.words)
            template = drain._place(kept.id, words, _key(words))
            template.count, template.last = kept.count, kept.last
        return drain

    def _add(self, folded: bytes) -> Template | None:
        known = self._lines_known.get(folded)
        if known is None or known[0].leaf.version != known[1]:
            words = self._masker.folded(folded)
            if not words:
                return None
            known = self._words_known.get(words)
            if known is None or known[0].leaf.version != known[1]:
                template = self._template_of(words)
                known = template, template.leaf.version
                _remember(self._words_known, words, known)
            _remember(self._lines_known, folded, known)
        template = known[0]
        self._lines = template.last = self._lines + 1
        template.count += 1
        return template

    def _template_of(self, words: Words) -> Template:
        """Find the template of a new line and make it fit, or make one."""
        key = _key(words)
        leaf = self._leaves.get(key)
        template = None if leaf is None else self._best(leaf, words)
        if template is None:
            self._make_room(leaf)
            self._next_id += 1
            return self._place(self._next_id - 1, words, key)
        merged = _merged(template.words, words)
        if template.words != merged:
            template.words = merged
            template.leaf.version += 1
        return template

    def _place(self, number: int, words: Words, key: Words) -> Template:
        leaf = self._leaves.get(key)
        if leaf is None:
            leaf = self._leaves[key] = _Leaf(key)
        template = self._templates[number] = Template(number, words, leaf)
        leaf.templates.append(template)
        leaf.version += 1
        return template

    def _make_room(self, leaf: _Leaf | None) -> None:
        """Let go of what was seen longest ago where there would be too many templates."""
        if leaf is not None and len(leaf.templates) >= self.settings.max_siblings:
            self._remove(min(leaf.templates, key=_last))
        if len(self._templates) >= self.settings.max_templates:
            oldest = sorted(self._templates.values(), key=_last)
            for template in oldest[: max(1, len(oldest) // EVICTED_SHARE)]:
                self._remove(template)

    def _remove(self, template: Template) -> None:
        leaf = template.leaf
        leaf.templates.remove(template)
        leaf.version += 1
        if not leaf.templates:
            del self._leaves[leaf.key]
        del self._templates[template.id]

    def _best(self, leaf: _Leaf, words: Words) -> Template | None:
        """Return the template that shares most constant words with a line, the oldest of them."""
        constants = [None if MASK in word or word == WILDCARD else word for word in words]
        total = len(words) - constants.count(None)
        most, best = -1, None
        for template in leaf.templates:
            shared = sum(map(eq, constants, template.words))
            if shared > most:
                most, best = shared, template
        return best if most >= self.settings.similarity * total else None


def _remember(known: dict[_T, _Known], key: _T, found: _Known) -> None:
    if len(known) >= MAX_REMEMBERED:
        known.clear()
    known[key] = found


def _is_constant(word: bytes) -> bool:
    return MASK not in word and word != WILDCARD


def _key(words: Words) -> Words:
    """Return the leaf of a line: its length, and its first constant words with their places.

    All lines of a leaf have these words there, and so have their templates whatever is merged.
    """
    key = [bytes((len(words),))]
    for place, word in enumerate(words):
        if _is_constant(word):
            key += (bytes((place,)), word)
            if len(key) > 2 * KEY_WORDS:
                break
    return tuple(key)


def _merged(words: Words, others: Words) -> Words:
    return tuple(
        word if word == other else WILDCARD for word, other in zip(words, others, strict=True)
    )


def _covers(words: Words, line: Words) -> bool:
    return all(word in (other, WILDCARD) for word, other in zip(words, line, strict=True))


def _last(template: Template) -> int:
    return template.last
