"""Text of others on its way to a terminal."""

from __future__ import annotations


def printable(text: str) -> str:
    r"""Replace control characters: log text is hostile and must not reach the terminal with them.

    >>> printable("a\x1b[2Jb")
    'a�[2Jb'
    """
    return "".join(c if c.isprintable() else "\N{REPLACEMENT CHARACTER}" for c in text)
