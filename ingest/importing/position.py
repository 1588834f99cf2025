"""How far the import of a unit has come: kept in the lake's journal with what landed."""

from __future__ import annotations

import msgspec

from relume.errors import InputError
from relume.ingest.importing.stamps import Stamp

PREFIX = "import "
"""Of the names under which the journal keeps these positions."""


class UnitPosition(msgspec.Struct, frozen=True, omit_defaults=True):
    """Position of one unit.

    Attributes
    ----------
    identity
        Digest of what it consists of, by content: the same for a copy in another folder.
    files, bytes
        How many files it consists of, and their size.
    done
        Whether all of it is in the lake.
    part
        Index of the part that is being read.
    taken
        Of events: how many of the part are in the lake.
    offset, line, line_start
        Of a log: the byte of the uncompressed text that is read next, its 0-based physical line,
        and the byte where that line starts.
    stamp
        What the part's file was when it was begun.
    """

    identity: str
    files: int = 0
    bytes: int = 0
    done: bool = False
    part: int = 0
    taken: int = 0
    offset: int = 0
    line: int = 0
    line_start: int = 0
    stamp: Stamp | None = None

    def to_text(self) -> str:
        """Return the text form."""
        return msgspec.json.encode(self).decode()

    @classmethod
    def from_text(cls, text: str) -> UnitPosition:
        """Read the text form.

        Raises
        ------
        InputError
            For any other text.
        """
        try:
            return msgspec.json.decode(text, type=cls)
        except msgspec.DecodeError as error:
            raise InputError(
                "position of an import",
                found=str(error),
                expected="what `relume lake import` wrote",
                hint="it was written by another version of Relume; import into a new lake",
            ) from error
