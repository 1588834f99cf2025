"""A rule skeleton: what a person begins with who wants Relume to know a line from now on.

It is a rule file as `docs/formats/signatures.md` describes it, with the lines that were seen as
samples; who writes the rule says what the line means.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from itertools import pairwise
from typing import NamedTuple

from relume.models.templates.masking import MASK, MAX_WORDS, Masker

CATEGORY = "site_unknown"
SOURCE = "relume report unknown"
LEAST_LITERAL = 8
"""Constant characters of a pattern: with fewer it is found everywhere."""
MOST_LITERAL = 120
MAX_GAPS = 2
"""Values between the words of a pattern."""
_GAP = r"\S{1,200}"
LEAST_SAMPLES = 2
MAX_SAMPLE = 500
_META = re.compile(r"([\\.+*?()|\[\]{}^$])")
_WORD = re.compile(r"[^ \t\n\r\x0b\x0c]+")
_NAME = re.compile(r"[a-z]{2,20}")
_NAME_WORDS = 4
_OTHER_DIGITS = str.maketrans("0123456789", "1234567890")
HARMLESS = ("step 100 of 5000, loss 2.31, 412 ms a step", "saved a checkpoint in 12.4 s")
"""Negative samples where the lake has none that come closer."""


@dataclass(frozen=True, slots=True)
class Skeleton:
    """A rule to begin with: its id, the pattern, and samples that must and must not be hit."""

    id: str
    pattern: str
    positive: tuple[str, ...]
    negative: tuple[str, ...]
    seen: str

    def toml(self) -> str:
        """Return the rule file."""
        return "\n".join(
            [
                f'category = "{CATEGORY}"',
                "",
                "[[signature]]",
                f"id = {_text(self.id)}",
                'role = "root"             # root, cascade, pointer, warning or noise',
                'tier = "exception"',
                'kind = "crash"            # or hang, …',
                'domain = "unknown"        # workload, platform, hardware, network, …',
                'retry = "unclear"         # whether starting again helps: yes or no',
                f"summary = {_text(self.seen)}  # say what the line means",
                f"patterns = [{_literal(self.pattern)}]",
                "positive = [",
                *(f"  {_text(sample)}," for sample in self.positive),
                "]",
                "negative = [",
                *(f"  {_text(sample)}," for sample in self.negative),
                "]",
                f"source = {_text(SOURCE)}",
                "",
            ]
        )


def skeleton(
    lines: Sequence[str], others: Iterable[str], *, seen: str, taken: Iterable[str] = ()
) -> Skeleton | None:
    r"""Return the skeleton of a rule for `lines`; null where nothing in them tells them apart.

    Parameters
    ----------
    lines
        Lines of one kind, the one to make the pattern of first.
    others
        Lines that it must not hit; those that come closest are its negative samples.
    seen
        How often it was seen, in one sentence.
    taken
        Ids of other rules.

    Examples
    --------
    >>> made = skeleton(["[rank3]: seal 4 is open", "[rank0]: seal 7 is open"], [], seen="Seen.")
    >>> made.id, made.pattern
    ('site_seal_is_open', 'seal \\S{1,200} is open')
    """
    samples = list(dict.fromkeys(map(_sample, lines)))
    pattern = _pattern(samples[0]) if samples else None
    if pattern is None:
        return None
    found = re.compile(pattern.encode())  # engines read bytes, too
    positive = [one for one in samples if found.search(one.encode())][:LEAST_SAMPLES]
    if len(positive) < LEAST_SAMPLES:
        positive.append(_varied(positive[0]))
    return Skeleton(
        id=_unique(_name(samples[0]), taken),
        pattern=pattern,
        positive=tuple(positive),
        negative=_negative(pattern, samples[0], others),
        seen=seen,
    )


def _sample(line: str) -> str:
    """Return a line as a sample: valid text, one line, cut."""
    text = line[:MAX_SAMPLE].encode("utf-8", "replace").decode()
    return text.replace("\n", " ").strip()


class _Word(NamedTuple):
    """A word of a line; `literal` is null where it holds a value, or what no pattern should."""

    start: int
    end: int
    literal: str | None


def _words(line: str) -> list[_Word]:
    masker, words = Masker(), list[_Word]()
    for found in _WORD.finditer(line[:MAX_SAMPLE]):
        word = found[0]
        masked = masker.words(word.encode("utf-8", "replace"))
        is_constant = masked == (word.encode("utf-8", "replace"),) and MASK not in masked[0]
        plain = is_constant and word.isprintable() and "\ufffd" not in word
        words.append(_Word(found.start(), found.end(), word if plain else None))
    return words[:MAX_WORDS]


def _pattern(line: str) -> str | None:
    """Return the words of a line with most constant characters, with a value or two between."""
    words = _words(line)
    best, most = None, LEAST_LITERAL - 1
    for begin, first in enumerate(words):
        size = gaps = 0
        for end in range(begin, len(words) if first.literal else begin):
            literal = words[end].literal
            gaps += literal is None
            size += len(literal or "")
            if gaps > MAX_GAPS or size > MOST_LITERAL:
                break
            if literal is not None and size > most:
                best, most = words[begin : end + 1], size
    return None if best is None else _joined(line, best)


def _joined(line: str, words: Sequence[_Word]) -> str:
    parts = [_escaped(words[0].literal or "")]
    for before, word in pairwise(words):
        between = line[before.end : word.start]
        parts.append(" " if between == " " else r"\s{1,40}")
        parts.append(_GAP if word.literal is None else _escaped(word.literal))
    return "".join(parts)


def _escaped(text: str) -> str:
    return _META.sub(r"\\\1", text)


def _name(line: str) -> str:
    """Return an id made of the words of a line."""
    constant = " ".join(word.literal.lower() for word in _words(line) if word.literal)
    return "_".join(["site", *_NAME.findall(constant)[:_NAME_WORDS]])


def _unique(name: str, taken: Iterable[str]) -> str:
    known, number, found = set(taken), 2, name
    while found in known:
        found, number = f"{name}_{number}", number + 1
    return found


def _varied(sample: str) -> str:
    """Return a line of the same kind with other values: a second sample where only one was seen."""
    other = sample.translate(_OTHER_DIGITS)
    return other if other != sample else f"[rank0]: {sample}"


def _negative(pattern: str, line: str, others: Iterable[str]) -> tuple[str, ...]:
    """Return the lines that a pattern must not hit and that come closest to one that it does."""
    found, own = re.compile(pattern.encode()), _constants(line)
    texts = dict.fromkeys(map(_sample, others))
    near = [text for text in texts if text and not found.search(text.encode())]
    near.sort(key=lambda text: -len(own & _constants(text)))
    near += [text for text in HARMLESS if not found.search(text.encode())]
    return tuple(dict.fromkeys(near))[:LEAST_SAMPLES]


def _constants(line: str) -> set[str]:
    return {word.literal for word in _words(line) if word.literal}


def _text(text: str) -> str:
    """Return a basic string of TOML that is safe to print: what is not printable is escaped."""
    plain = text.replace("\\", "\\\\").replace('"', '\\"')
    return f'"{"".join(c if c.isprintable() else f"{chr(92)}U{ord(c):08x}" for c in plain)}"'


def _literal(text: str) -> str:
    """Return a literal string of TOML, in which a backslash is one, where that is possible."""
    return _text(text) if "'" in text else f"'{text}'"
