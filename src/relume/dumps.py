"""What the dumps of a job say, decoded: flight recorders, stacks, reports of NCCL's RAS.

`relume.ingest.dumps` reads them, `relume.models.collectives` judges them. Texts are those of a job
and so hostile; they are cut to a length that can be shown.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import NamedTuple

from relume.events import Collective, ProcessGroup


@dataclass(frozen=True, slots=True, kw_only=True)
class RankDump:
    """The flight recorder of one rank: a ring of its last collectives, oldest first.

    `collectives` holds all that were not complete and the last that were; older complete ones are
    left out. `is_whole` says that the ring holds everything since the start: a group without a
    collective in it had none. The counters of a `ProcessGroup` are the recorder's own; with
    point-to-point works in a group they count those, or both together.
    """

    rank: int
    file: str
    node: str | None = None
    version: str | None = None
    groups: tuple[ProcessGroup, ...] = ()
    collectives: tuple[Collective, ...] = ()
    is_whole: bool = False


class Frame(NamedTuple):
    """One call of a stack. `file` is the last part of its path; `line` is for display only."""

    function: str
    file: str
    line: int | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class ProcessStack:
    """The stack of a process' main thread, innermost call first.

    `process` tells processes apart: its id, or the file when that isn't told.
    """

    process: str
    file: str
    rank: int | None = None
    node: str | None = None
    frames: tuple[Frame, ...] = ()


@dataclass(frozen=True, slots=True, kw_only=True)
class RasPlace:
    """A rank of a communicator as RAS names it; a process of which only the node is known has none.

    `rank` counts within the communicator. `node` is an address, as RAS prints it.
    """

    rank: int | None = None
    node: str | None = None
    gpu: str | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class RasLaunched:
    """How many ranks have launched operations up to `number`; `places` names those that RAS does.

    RAS as text names only the few, as JSON it names all.
    """

    number: int
    ranks: int
    places: tuple[RasPlace, ...] = ()


@dataclass(frozen=True, slots=True, kw_only=True)
class RasCommunicator:
    """What RAS says of one communicator. `size` is its number of ranks, null when not told.

    `launched` has, by operation (``AllReduce``), the counts that differ between ranks.
    """

    name: str
    size: int | None = None
    launched: Mapping[str, tuple[RasLaunched, ...]] = field(default_factory=dict)
    unresponsive: tuple[RasPlace, ...] = ()
    errors: tuple[tuple[RasPlace, str], ...] = ()


@dataclass(frozen=True, slots=True, kw_only=True)
class RasReport:
    """One report of NCCL's RAS. `dead` are processes that RAS can't reach at all."""

    file: str
    communicators: tuple[RasCommunicator, ...] = ()
    dead: tuple[RasPlace, ...] = ()


@dataclass(frozen=True, slots=True)
class Dumps:
    """All dumps of one attempt."""

    ranks: tuple[RankDump, ...] = ()
    stacks: tuple[ProcessStack, ...] = ()
    ras: tuple[RasReport, ...] = ()

    def __bool__(self) -> bool:
        return bool(self.ranks or self.stacks or self.ras)
