"""What is the same for all that is in a lake of recordings, and not in its rows."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path

from relume.errors import InputError
from relume.ingest.lake.journal import read_positions
from relume.ingest.lake.writer import LakeWriter

_PREFIX = "about "
ZONE, ORIGIN = "zone", "origin"
_WORDS = {ZONE: "clocks of zone", ORIGIN: "recordings of origin"}


def read_about(lake: Path) -> dict[str, str]:
    """Return the `ZONE` of the clocks that name none, and the `ORIGIN`, as far as they are noted.

    Raises
    ------
    LakeError
        When there is no lake.
    """
    found = read_positions(lake)
    return {name: found[_PREFIX + name] for name in (ZONE, ORIGIN) if _PREFIX + name in found}


def zone_of_lake(lake: Path, otherwise: str) -> str:
    """Return the zone that the lake's clocks are noted to be in, else `otherwise`.

    Raises
    ------
    LakeError
        When there is no lake.
    """
    return read_about(lake).get(ZONE, otherwise)


def note_about(lake: LakeWriter, facts: Mapping[str, str]) -> None:
    """Note facts about all that is, and will be, in a lake; each stays what it was noted as.

    Raises
    ------
    InputError
        When the lake holds something else: its lines don't say which of both they are.
    """
    for name, value in facts.items():
        known = lake.positions.get(_PREFIX + name, value)
        if known != value:
            raise InputError(
                f"import into the lake {lake.folder}",
                found=f"{_WORDS[name]} {value}",
                expected=f"{_WORDS[name]} {known}, as all in it",
                hint="import it into a lake of its own",
            )
    new = {_PREFIX + name: value for name, value in facts.items()}
    if not new.items() <= lake.positions.items():
        lake.commit(new)
