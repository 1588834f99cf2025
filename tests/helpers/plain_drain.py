"""The plain form of `relume.models.templates.drain.Drain`: nothing is remembered, all is looked up.

It is what the quick one is checked against.
"""

from __future__ import annotations

import re
from dataclasses import dataclass

from relume.models.templates.drain import DrainSettings, DrainState, TemplateState
from relume.models.templates.masking import _VALUE, MAX_LINE_BYTES, MAX_WORDS


@dataclass
class Plain:
    """One template."""

    id: int
    words: list[bytes]
    count: int = 0
    last: int = 0


def masked(line: bytes) -> list[bytes]:
    """Return the words of a line without their values."""
    if len(line) > MAX_LINE_BYTES:
        head = line[:MAX_LINE_BYTES]
        line = head.rpartition(b" ")[0] or head
    folded = re.sub(rb"[0-9]", b"0", line)
    words = [word.decode("utf-8", "replace").encode() for word in folded.split()[:MAX_WORDS]]
    return [_VALUE.sub(b"#", word) if re.search(rb"[0/]", word) else word for word in words]


def is_constant(word: bytes) -> bool:
    return b"#" not in word and word != b"*"


def leaf_of(words: list[bytes]) -> tuple[int, list[tuple[int, bytes]]]:
    return len(words), [(n, word) for n, word in enumerate(words) if is_constant(word)][:2]


class PlainDrain:
    """Looks at every template for every line."""

    def __init__(self, settings: DrainSettings) -> None:
        self.settings = settings
        self.found: list[Plain] = []
        self.lines = 0
        self.next_id = 0

    def add(self, line: bytes) -> int | None:
        words = masked(line)
        if not words:
            return None
        siblings = [one for one in self.found if leaf_of(one.words) == leaf_of(words)]
        constants = [n for n, word in enumerate(words) if is_constant(word)]
        shared = [sum(one.words[n] == words[n] for n in constants) for one in siblings]
        if shared and max(shared) >= self.settings.similarity * len(constants):
            template = siblings[shared.index(max(shared))]
            pairs = zip(template.words, words, strict=True)
            template.words = [a if a == b else b"*" for a, b in pairs]
        else:
            template = self.begin(words, siblings)
        self.lines += 1
        template.count += 1
        template.last = self.lines
        return template.id

    def begin(self, words: list[bytes], siblings: list[Plain]) -> Plain:
        if len(siblings) >= self.settings.max_siblings:
            self.found.remove(min(siblings, key=lambda one: one.last))
        if len(self.found) >= self.settings.max_templates:
            oldest = sorted(self.found, key=lambda one: one.last)
            for one in oldest[: max(1, len(oldest) // 8)]:
                self.found.remove(one)
        template = Plain(self.next_id, words)
        self.next_id += 1
        self.found.append(template)
        return template

    def state(self) -> DrainState:
        kept = [
            TemplateState(one.id, [word.decode() for word in one.words], one.count, one.last)
            for one in self.found
        ]
        return DrainState(self.lines, self.next_id, kept)
