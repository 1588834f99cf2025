"""Recorded dumps of real runs with an injected fault, and who was injected."""

from __future__ import annotations

import re
from dataclasses import dataclass
from pathlib import Path

from relume.benchmarks.registry import data_folder
from relume.errors import InputError

FOLDER = "flight-recorder"
LABELS = "fault_injection.log"
_INJECTED = re.compile(r"^Fault ranks: \[(?P<ranks>[\d, ]+)\]$", re.MULTILINE)


@dataclass(frozen=True, slots=True)
class RecordedSet:
    """The dumps of one run and the ranks that were made to fail."""

    name: str
    dumps: tuple[Path, ...]
    injected: frozenset[int]


def load(data: Path | None) -> list[RecordedSet]:
    """Return the recorded sets below `data`.

    Raises
    ------
    InputError
        When there is none, or one that doesn't say who was injected.
    """
    folder = data_folder(data, "dumps", f"the folder that holds {FOLDER}/") / FOLDER
    sets = [_load(labels.parent) for labels in sorted(folder.glob(f"*/{LABELS}"))]
    if not sets:
        raise InputError(f"bench dumps finds no {LABELS} below {folder}")
    return sets


def _load(folder: Path) -> RecordedSet:
    found = _INJECTED.search((folder / LABELS).read_text(encoding="utf-8"))
    if found is None:
        raise InputError(f"{folder / LABELS} doesn't say who was injected")
    ranks = frozenset(int(rank) for rank in found["ranks"].split(","))
    dumps = tuple(sorted(path for path in folder.iterdir() if path.name != LABELS))
    return RecordedSet(folder.name, dumps, ranks)
