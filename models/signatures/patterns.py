r"""The regular-expression dialect of rules: what Hyperscan, RE2 and `re` read in the same way.

A pattern is about one line, but engines scan whole blocks, and the three disagree on corners
(``\s`` holds a vertical tab or not, ``\v`` is a class or a character). So a pattern is checked
against the common subset and rewritten so that nothing in it can match a newline; afterwards "found
in the block" and "found in the line" mean the same in every engine.
"""

from __future__ import annotations

import re
from functools import lru_cache
from typing import TYPE_CHECKING, NamedTuple

if TYPE_CHECKING:
    from collections.abc import Iterator


class PatternError(ValueError):
    """An expression is outside the dialect.

    Attributes
    ----------
    found
        The offending part, quoted.
    expected
        What to write instead.
    """

    def __init__(self, found: str, expected: str) -> None:
        super().__init__(f"found {found}, expected {expected}")
        self.found = found
        self.expected = expected


class Token(NamedTuple):
    """One syntactic piece of an expression: `kind` is the name of the alternative that read it."""

    kind: str
    text: str


_TOKEN = re.compile(
    r"""
      (?P<escape> \\x[0-9A-Fa-f]{2} | \\. )
    | (?P<set>    \[ \^? \]? (?: \\. | [^\]\\] )* \] )
    | (?P<open>   \( (?: \? (?: P<\w+> | P= | <?[=!] | [-a-zA-Z]*:? | . ) )? )
    | (?P<close>  \) )
    | (?P<repeat> (?: [*+?] | \{\d*,?\d*\} ) [?+]? )
    | (?P<other>  . )
    """,
    re.VERBOSE | re.DOTALL,
)

_SPACE = r"\t\f\r\x0b "
"""``\\s`` without the newline, spelt out: RE2's own has no vertical tab."""
_NOT_SPACE = r"\x00-\x08\x0e-\x1f\x21-\xff"
_IN_TEXT = {r"\s": f"[{_SPACE}]", r"\S": f"[{_NOT_SPACE}]", r"\W": r"[^\w\n]", r"\D": r"[^\d\n]"}
_IN_SET = {r"\s": _SPACE, r"\S": _NOT_SPACE}
_PLAIN_ESCAPES = frozenset({r"\d", r"\w", r"\b", r"\B", r"\t", r"\r", r"\f"})
_OPENINGS = frozenset({"(", "(?:", "(?i:"})
_REST_OF_LINE = ([".", "*", "$"], [".", "*?", "$"])
_NO_CHARACTER = frozenset({"^", "$", "|", r"\b", r"\B"})
_UNBOUNDED = re.compile(r"[*+]|\{\d*,\}")
_SET_TRAPS = re.compile(r"\[|&&|\|\||~~|--")
_CONTROL_RANGE = re.compile(r"\\(?:[tfr]|x[01][0-9A-Fa-f])-[^\]]")


def tokens(expression: str) -> Iterator[Token]:
    """Yield the pieces of `expression` in order; together they are the whole text."""
    for found in _TOKEN.finditer(expression):
        yield Token(found.lastgroup or "other", found.group())


@lru_cache(maxsize=8192)  # a rule's pattern is checked when it is read, and compiled afterwards
def one_line(pattern: str) -> str:
    r"""Return `pattern` in the form that the engines compile: it can never match across lines.

    An open end is left off: the lines in which it is found stay the same.

    ``^`` and ``$`` stay line anchors (engines compile in multi-line mode on bytes). A leading
    ``(?i)`` becomes a group, so that results can be joined into an alternation.

    Raises
    ------
    PatternError
        If the pattern uses anything outside the common dialect.

    Examples
    --------
    >>> one_line(r"(?i)xid\s*:")
    '(?i:xid[\\t\\f\\r\\x0b ]*:)'
    >>> one_line(r"lost [^,]+ at")
    'lost [^\\n,]+ at'
    >>> one_line(r"(?i)lost .*"), one_line(r"lost \d+"), one_line(r"lost \d{2,9}")
    ('(?i:lost )', 'lost \\d{1}', 'lost \\d{2}')
    """
    if not pattern.isprintable():
        raise PatternError(repr(pattern), r"printable characters (write others as '.')")
    if not pattern.isascii() and "(?i" in pattern:  # engines differ on their letter case
        raise PatternError(repr(pattern), "ASCII, when letter case is ignored")
    caseless = pattern.startswith("(?i)")
    body = pattern[4:] if caseless else pattern
    pieces = list(tokens(body))
    for piece in pieces:
        _rewrite(piece)  # what is left off has to be in the dialect, too
    rewritten = "".join(map(_rewrite, _without_tail(pieces)))
    return f"(?i:{rewritten})" if caseless else rewritten


def refuse_explosive(expression: str) -> None:
    """Refuse a Python expression that repeats a repetition without bound, such as ``(a+)+``.

    `verify` and `captures` run in a backtracking engine on text that a job wrote: an unbounded
    repeat inside another takes exponential time on the right line.

    Raises
    ------
    PatternError
        If an unbounded repeat holds another one. Bound the outer: ``(?:a+){1,20}``.
    """
    open_groups: list[bool] = [False]
    closed = False
    for kind, text in tokens(expression):
        unbounded = kind == "repeat" and _UNBOUNDED.match(text) is not None
        if unbounded and closed:
            raise PatternError(f"{text!r} on a group that repeats", "a bounded repeat: {0,20}")
        closed = False
        if kind == "open":
            open_groups.append(False)
        elif kind == "close" and len(open_groups) > 1:
            closed = open_groups.pop()
            open_groups[-1] |= closed
        elif unbounded:
            open_groups[-1] = True


def _without_tail(pieces: list[Token]) -> list[Token]:
    """Leave off what a line needn't have to be found, at the end: ``.*``, ``.*$``, ``[^,]+``.

    Hyperscan reports every position where a match may end: an open tail costs a call a byte.
    """
    if [piece.text for piece in pieces[-3:]] in _REST_OF_LINE:
        pieces = pieces[:-1]
    while len(pieces) > len("a*") and pieces[-1].kind == "repeat" and _is_character(pieces[-2]):
        if fewest := _fewest(pieces[-1].text):
            return [*pieces[:-1], Token("repeat", f"{{{fewest}}}")]
        pieces = pieces[:-2]
    return pieces


def _is_character(piece: Token) -> bool:
    return piece.kind in {"other", "set", "escape"} and piece.text not in _NO_CHARACTER


def _fewest(repeat: str) -> int:
    """How often at least."""
    if repeat.startswith("{"):
        return int(repeat.strip("{}?").split(",")[0])
    return int(repeat.startswith("+"))


def _rewrite(piece: Token) -> str:
    kind, text = piece
    if kind == "escape":
        return _rewrite_escape(text)
    if kind == "set":
        return _rewrite_set(text)
    if kind == "open" and text not in _OPENINGS:
        raise PatternError(repr(text), "'(', '(?:', '(?i:', or '(?i)' at the very start")
    if kind == "repeat" and re.fullmatch(r"(?:[*+?]|\{\d+(?:,\d*)?\})\??", text) is None:
        raise PatternError(repr(text), r"'*', '+', '?', '{2}' or '{0,9}'; a literal brace is '\{'")
    if kind == "other" and text in "[{}":
        raise PatternError(repr(text), rf"a closed set or repeat; the literal is '\{text}'")
    return text if text.isascii() else _utf8(text)


def _utf8(text: str) -> str:
    """Spell a character as its bytes, in a group so that a repeat takes all of them."""
    return "(?:" + "".join(rf"\x{byte:02x}" for byte in text.encode()) + ")"


def _rewrite_escape(text: str) -> str:
    if text in _IN_TEXT:
        return _IN_TEXT[text]
    if text in _PLAIN_ESCAPES or not text[1].isalnum() or _is_plain_hex(text):
        return text
    raise PatternError(repr(text), r"\d \w \s \D \W \S \b \B \t \r \f, \x20..\x7f or punctuation")


def _is_plain_hex(text: str) -> bool:
    """Whether `text` is an ASCII character in hex: above ASCII, engines differ on letter case."""
    return re.fullmatch(r"\\x[0-7][0-9A-Fa-f]", text) is not None and text[2:].lower() != "0a"


def _rewrite_set(text: str) -> str:
    negated = text.startswith("[^")
    body = text[2 if negated else 1 : -1]
    unescaped = re.sub(r"\\.", "_", body)
    if not body or body.startswith("]") or _SET_TRAPS.search(unescaped) or not text.isascii():
        raise PatternError(repr(text), r"ASCII with '[', ']', '&&', '||', '~~', '--' escaped")
    if not negated and _CONTROL_RANGE.search(body):
        raise PatternError(repr(text), "a set without ranges of control characters")
    pieces = [_rewrite_in_set(piece.text, negated=negated) for piece in tokens_of_set(body)]
    if not negated:
        return f"[{''.join(pieces)}]"
    if pieces[0] == "-":  # else '\n-x' would read as a range
        pieces[0] = r"\-"
    return rf"[^\n{''.join(pieces)}]"


def tokens_of_set(body: str) -> Iterator[Token]:
    r"""Yield the characters and escapes of the inside of a set such as ``\w.-``."""
    for found in re.finditer(r"(\\x[0-9A-Fa-f]{2}|\\.)|.", body):
        yield Token("escape" if found.group(1) else "other", found.group())


def _rewrite_in_set(text: str, *, negated: bool) -> str:
    if text in _IN_SET:
        return _IN_SET[text]
    if negated and text in {r"\n", r"\W", r"\D"}:
        return "" if text == r"\n" else text
    if text in {r"\b", r"\B"} or (not negated and text in {r"\W", r"\D"}):
        raise PatternError(f"{text!r} in a set", "characters, ranges or \\d \\w \\s \\S")
    return _rewrite_escape(text) if text.startswith("\\") else text
