"""Where a tail stands: enough to go on after a restart without losing or doubling a line."""

from __future__ import annotations

from dataclasses import dataclass
from hashlib import blake2b
from typing import Annotated

import msgspec

from relume.errors import InputError

HEAD_BYTES = 256
"""How much of a file's start is remembered, to notice that another file took its place."""
_DIGEST_BYTES = 16

_Count = Annotated[int, msgspec.Meta(ge=0)]


@dataclass(frozen=True, slots=True, kw_only=True)
class TailPosition:
    """Where to go on reading one file; see `docs/formats/tailing.md`.

    Attributes
    ----------
    device, inode
        The file that is meant, whatever its name is by now; 0 when none was opened yet. A network
        filesystem may get another device number at its next mount, so the inode decides.
    offset
        Bytes of the file that were read.
    head_length, head_digest
        How many of the first bytes are remembered, and their digest. 0: none are.
    line
        0-based physical line that is read next, or that `partial` is in.
    line_start
        Byte offset of the start of that line.
    partial
        What was read of an unfinished line and not delivered.

    Examples
    --------
    >>> position = TailPosition(inode=7, offset=12, line=1, line_start=9, partial=b"ste")
    >>> TailPosition.from_text(position.to_text()) == position
    True
    """

    device: _Count = 0
    inode: _Count = 0
    offset: _Count = 0
    head_length: _Count = 0
    head_digest: bytes = b""
    line: _Count = 0
    line_start: _Count = 0
    partial: bytes = b""

    def to_text(self) -> str:
        """Return the JSON form, bytes in base64, for the lake's journal or a ledger."""
        return msgspec.json.encode(self).decode()

    @classmethod
    def from_text(cls, text: str) -> TailPosition:
        """Read the JSON form.

        Raises
        ------
        InputError
            For any other text.
        """
        try:
            position = msgspec.json.decode(text, type=cls)
        except (msgspec.DecodeError, UnicodeError) as error:
            raise InputError(
                "position of a tail",
                found=str(error),
                expected="the JSON that to_text gives",
                hint="was it written by another version of Relume?",
            ) from error
        if len(position.partial) > position.offset or position.line_start > position.offset:
            raise InputError(
                "position of a tail",
                found=f"{len(position.partial)} unfinished bytes at offset {position.offset}",
                expected="at most as many as were read",
            )
        return position


def digest(head: bytes) -> bytes:
    """Return what is kept of a file's first bytes."""
    return blake2b(head, digest_size=_DIGEST_BYTES).digest()
