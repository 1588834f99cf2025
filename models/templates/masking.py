"""A line without its values: numbers, hex words, UUIDs, paths, addresses, ranks and hosts' numbers.

Masking looks at one word at a time and can't tell one digit from another, so whatever is equal up
to its digits is masked alike. That makes it cheap to remember.
"""

from __future__ import annotations

import re

MASK = b"#"
"""Stands for a value, also within a word: ``rank#``, ``node#:``."""
MAX_WORDS = 32
"""What is looked at of a line; what two lines differ in stands before."""
MAX_LINE_BYTES = 1024
"""The same in bytes; a word that goes on after it is left out, since values differ in length."""
MAX_REMEMBERED = 1 << 16
"""Words remembered with what they are without their values; ..."""
REMEMBERED_BYTES = 64
"""... longer ones are not."""

FOLD = bytes(ord("0") if ord("0") <= byte <= ord("9") else byte for byte in range(256))
"""For `bytes.translate`: every digit is a zero."""
# Each alternative begins with a class or a literal that no other one of its own length repeats, and
# none scans a byte twice.
_VALUE = re.compile(
    rb"(?<![\w/.])[~.]{0,2}/[\w.+@%=~-]++(?:/[\w.+@%=~-]*+)*+"  # paths
    rb"|0x[0-9A-Fa-f]++"
    rb"|(?<![0-9A-Za-z])(?:[A-Za-z]{3,4}-)?[0-9A-Fa-f]{8}(?:-[0-9A-Fa-f]{4}){3}-[0-9A-Fa-f]{12}"
    rb"|(?<![0-9A-Za-z])(?=[A-Fa-f]*0)[0-9A-Fa-f]{6,}+(?![0-9A-Za-z])"  # hex with a digit in it
    rb"|(?<![0-9A-Za-z:])(?=[A-Fa-f:]*0)(?:[0-9A-Fa-f]{0,4}:){2,7}[0-9A-Fa-f.,]++"  # IPv6, MAC, PCI
    rb"|0++(?:[-.,:/_TxXeE+]{1,2}0++)*+"  # numbers, clocks, dates, IPv4, sizes such as 4x8
)


def cut(line: bytes) -> bytes:
    """Return what is looked at of a line."""
    if len(line) <= MAX_LINE_BYTES:
        return line
    end = line.rfind(b" ", 0, MAX_LINE_BYTES)
    return line[: end if end > 0 else MAX_LINE_BYTES]


class Masker:
    """Masks lines, and remembers their words. Bounded; what it gives depends on the line only.

    Examples
    --------
    >>> Masker().words(b"[rank3]: wrote /ckpt/step_10.pt in 2.5s at 0x7f3a")
    (b'[rank#]:', b'wrote', b'#', b'in', b'#s', b'at', b'#')
    """

    __slots__ = ("_known",)

    def __init__(self) -> None:
        self._known: dict[bytes, bytes] = {}

    def words(self, line: bytes) -> tuple[bytes, ...]:
        """Return the masked words of a line, `MAX_WORDS` at most; what follows is left out."""
        return self.folded(cut(line).translate(FOLD))

    def folded(self, line: bytes) -> tuple[bytes, ...]:
        """Return the same of a line that `FOLD` was applied to, and that was cut."""
        known = self._known.get
        masked = []
        for word in line.split(None, MAX_WORDS)[:MAX_WORDS]:
            found = known(word)
            masked.append(self._mask(word) if found is None else found)
        return tuple(masked)

    def _mask(self, word: bytes) -> bytes:
        masked = word if word.isascii() else word.decode("utf-8", "replace").encode()
        if b"0" in word or b"/" in word:  # every value has a digit or is a path
            masked = _VALUE.sub(MASK, masked)
        if len(word) <= REMEMBERED_BYTES:
            if len(self._known) >= MAX_REMEMBERED:
                self._known.clear()
            self._known[word] = masked
        return masked
