"""A unit with what its files are now: whether it is the one of which a part is in the lake."""

from __future__ import annotations

import hashlib
from dataclasses import dataclass

from relume.errors import InputError, counted
from relume.ingest.importing.position import UnitPosition
from relume.ingest.importing.stamps import Stamp, stamp_of
from relume.ingest.importing.unit import LogPart, Part, Unit
from relume.ingest.opening import refuse_special

_DIGEST_BYTES = 12
_PLACES = 2
"""How much of a path tells files apart: ``n1/dmesg.txt`` and ``n2/dmesg.txt`` may say the same."""
_HINT = "what landed of it stays as it is; import what it is now into a new lake"


@dataclass(frozen=True, slots=True)
class PreparedUnit:
    """A unit, with the stamp of each part's file: null for no file, and for one that isn't there.

    `start` is the position before the first part.
    """

    unit: Unit
    stamps: tuple[Stamp | None, ...]
    start: UnitPosition

    def require_same(self, position: UnitPosition) -> None:
        """Refuse to go on from a position of other content.

        Raises
        ------
        InputError
            When files were changed, added or taken away since.
        """
        if position.identity != self.start.identity:
            raise InputError(
                f"import of {self.unit.name}",
                found=f"other content than what was imported: {_size(self.start)}",
                expected=_size(position),
                hint=_HINT,
            )
        if position.stamp is not None and position.stamp != self.stamps[position.part]:
            raise changed(self.unit.parts[position.part], position.stamp)


def prepared(unit: Unit) -> PreparedUnit:
    """Look at the files of a unit: at 128 KiB of each."""
    stamps = tuple(map(_stamp, unit.parts))
    digest = hashlib.blake2b(unit.facts.encode(), digest_size=_DIGEST_BYTES)
    for part, stamp in zip(unit.parts, stamps, strict=True):
        digest.update(repr((_facts(part), stamp and stamp.content)).encode())
    sizes = [stamp.size for stamp in stamps if stamp is not None]
    start = UnitPosition(identity=digest.hexdigest(), files=len(sizes), bytes=sum(sizes))
    return PreparedUnit(unit, stamps, start)


def changed(part: Part, before: Stamp) -> InputError:
    """Return the error for a file that isn't any more what it was when its import began."""
    now = _stamp(part)
    return InputError(
        f"import of {part.path}",
        found="no file any more" if now is None else f"that it changed meanwhile: {now}",
        expected=str(before),
        hint=f"is somebody writing to it? {_HINT}",
    )


def _facts(part: Part) -> object:
    if part.path is None:
        return None
    place = part.path.parts[-_PLACES:]
    if isinstance(part, LogPart):
        return place, part.stream, part.attempt, part.node, part.cluster
    return place


def _stamp(part: Part) -> Stamp | None:
    if part.path is None:
        return None
    try:
        refuse_special(part.path)
        return stamp_of(part.path)
    except (OSError, InputError):
        return None


def _size(position: UnitPosition) -> str:
    return f"{position.bytes} bytes in {counted(position.files, 'file')}"
