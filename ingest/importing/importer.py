"""Landing units in a lake, so that each row of each of them lands once.

Rows and the position that they bring the unit to are in one commit. So an import that was killed
goes on where the lake ends, and one that is over finds that it has nothing to do.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import dataclass, field

from relume.errors import InputError
from relume.ingest.importing.position import PREFIX, UnitPosition
from relume.ingest.importing.prepared import PreparedUnit, prepared
from relume.ingest.importing.steps import steps
from relume.ingest.importing.unit import Unit
from relume.ingest.lake import LakeWriter, Landing, LineBatch
from relume.ingest.lake.retention import BORN, JUDGE
from relume.ingest.skips import SkipCounts

COMMIT_BYTES = 32 << 20
"""Text that lands with one commit: what a kill may cost. Less makes more, smaller files."""
_EVENT_BYTES = 200
"""What an event counts for when the size of a commit is judged."""


@dataclass(slots=True)
class ImportReport:
    """What an import did.

    Attributes
    ----------
    imported, resumed, already
        Units that were read from the start, that were gone on with, that were there before.
    lines, events
        What landed.
    text_bytes
        Size of the lines, uncompressed.
    skipped
        What wasn't read, by reason.
    refused
        Units that could not be imported, or not to their end.
    """

    imported: int = 0
    resumed: int = 0
    already: int = 0
    lines: int = 0
    events: int = 0
    text_bytes: int = 0
    skipped: SkipCounts = field(default_factory=SkipCounts)
    refused: list[InputError] = field(default_factory=list)


def import_units(
    lake: LakeWriter,
    units: Iterable[Unit],
    *,
    commit_bytes: int = COMMIT_BYTES,
    advance: Callable[[int], None] = lambda _: None,
    landed: Callable[[Landing], None] = lambda _: None,
) -> ImportReport:
    """Land what of `units` isn't in the lake yet, in their order.

    A unit that can't be imported doesn't keep the others from it; what landed of it stays. Holds
    about 10 MiB of lines, whatever the size of the sources, and a hundred bytes a unit in the lake.

    Parameters
    ----------
    lake
        Open for writing; of no more use when an error is raised.
    units
        Their names are unique.
    commit_bytes
        Text that lands with one commit.
    advance
        Told how many bytes on disk were read since it was told last.
    landed
        Told of everything that lands, in order.

    Raises
    ------
    InputError
        When the lake is that of a live service.
    LakeWriteError
        When the disk failed.
    """
    positions = lake.positions
    if not positions.keys().isdisjoint((JUDGE, BORN)):
        raise InputError(
            f"import into the lake {lake.folder}",
            found="the lake of `relume serve`",
            expected="a lake of recordings",
            hint="the service would take old failures for new ones; name another folder",
        )
    run = _Import(lake, positions, commit_bytes, advance, landed)
    for unit in units:
        run.take(unit)
    run.commit()
    return run.report


class _Import:
    """One run over units."""

    def __init__(
        self,
        lake: LakeWriter,
        positions: dict[str, str],
        commit_bytes: int,
        advance: Callable[[int], None],
        landed: Callable[[Landing], None],
    ) -> None:
        self._lake, self._commit_bytes, self._advance = lake, commit_bytes, advance
        self._landed = landed
        self._known = {
            name: UnitPosition.from_text(text)
            for name, text in positions.items()
            if name.startswith(PREFIX)
        }
        self._names = {position.identity: name for name, position in self._known.items()}
        self._moved: dict[str, UnitPosition] = {}
        self._pending = 0
        self.report = ImportReport()

    def take(self, unit: Unit) -> None:
        """Land what isn't there of one unit."""
        ready = prepared(unit)
        # The same files in another place are the same unit.
        name = self._names.setdefault(ready.start.identity, PREFIX + unit.name)
        position = self._known.get(name)
        try:
            if position is None:
                self.report.imported += 1
                self._read(name, ready, ready.start)
                return
            ready.require_same(position)
            self._advance(sum(s.size for s in ready.stamps[: position.part] if s is not None))
            if position.done:
                self.report.already += 1
                self._advance(unit.size())
            else:
                self.report.resumed += 1
                self._read(name, ready, position)
        except InputError as error:
            self.report.refused.append(error)

    def commit(self) -> None:
        """Make durable what was taken."""
        self._lake.commit({name: one.to_text() for name, one in self._moved.items()})
        self._moved.clear()
        self._pending = 0

    def _read(self, name: str, ready: PreparedUnit, position: UnitPosition) -> None:
        for step in steps(ready, position, self.report.skipped):
            self._lake.append(step.landings)
            self._known[name] = self._moved[name] = step.position
            for landing in step.landings:
                self._count(landing)
                self._landed(landing)
            self._advance(step.read_bytes)
            if self._pending >= self._commit_bytes:
                self.commit()

    def _count(self, landing: Landing) -> None:
        if not isinstance(landing, LineBatch):
            self.report.events += 1
            self._pending += _EVENT_BYTES
            return
        data = landing.block.data
        self.report.lines += data.count(b"\n")
        self.report.text_bytes += len(data)
        self._pending += len(data)
