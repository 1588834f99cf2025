"""Pieces of a backtest that can be replayed anywhere, and what comes back."""

from __future__ import annotations

import pickle
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from functools import lru_cache
from threading import Lock
from typing import TYPE_CHECKING, Any, NamedTuple, Protocol

import msgspec

from relume.errors import InputError
from relume.models.templates.history import TemplateHistory
from relume.serve.backtest.engines.lessons import Lesson, Lessons
from relume.serve.backtest.replay import Note
from relume.serve.backtest.results import About, UnitResult
from relume.serve.descriptors import allow_many_files

if TYPE_CHECKING:
    from relume.serve.backtest.run import Judging

Piece = tuple[str, ...]
"""Names of units that are replayed one after the other in one place."""
MAX_TRIES = 3
"""So many workers may die over a piece before it is given up."""
_LOCK = Lock()


class Replays(Protocol):
    """What can be replayed unit by unit; it is pickled to get to other processes."""

    def about(self, judging: Judging) -> About:
        """Return what results of a replay are of."""

    def replay_one(
        self,
        unit: str,
        judging: Judging,
        *,
        teaches: TemplateHistory | None = None,
        note: Note | None = None,
    ) -> UnitResult:
        """Replay the unit of that name; `note` is told what is advised."""


class Played(NamedTuple):
    """A piece that was replayed: the JSON of each of its units, and what they would teach."""

    piece: Piece
    results: tuple[bytes, ...]
    lessons: tuple[Lesson, ...] = ()


class GivenUp(NamedTuple):
    """A piece that could not be replayed, and why."""

    piece: Piece
    reason: str


@dataclass(frozen=True, slots=True)
class Work:
    """Everything that a piece needs besides its name.

    `about` is what the results are of: a worker that finds other data, rules or settings must not
    add to them. `learns` says whether lessons are wanted. `note` is told all Advice; work that
    has one stays in its process.
    """

    recording: Replays
    judging: Judging
    about: About
    learns: bool = False
    note: Note | None = None

    def replay(self, piece: Piece) -> Played:
        """Replay a piece; holds one unit's replay, and the results of the piece.

        Raises
        ------
        RelumeError
            When the data can't be read.
        """
        known = self.judging.analyzer.history
        lessons = Lessons(known) if self.learns else None
        results = tuple(msgspec.json.encode(self._replay_one(unit, lessons)) for unit in piece)
        return Played(piece, results, () if lessons is None else tuple(lessons.kept))

    def _replay_one(self, unit: str, lessons: Lessons | None) -> UnitResult:
        replay_one = self.recording.replay_one
        return replay_one(unit, self.judging, teaches=lessons, note=self.note)


class Engine(Protocol):
    """Replays pieces, in any order, each once."""

    @property
    def cores(self) -> int:
        """On how many cores it replays, at most."""

    def run(self, work: Work, pieces: Sequence[Piece]) -> Iterator[Played | GivenUp]:
        """Yield what came of each piece as it is done.

        Raises
        ------
        RelumeError
            When the data can't be read, or the engine can't be had.
        """


@dataclass(frozen=True, slots=True)
class Here:
    """Replays in this process, one piece after the other."""

    @property
    def cores(self) -> int:
        """The one of this process."""
        return 1

    def run(self, work: Work, pieces: Sequence[Piece]) -> Iterator[Played | GivenUp]:
        """Yield what came of each piece as it is done; see `Engine.run`."""
        return map(work.replay, pieces)


HERE = Here()


def packed(work: Work) -> bytes:
    """Return what `opened` makes work of again; compiled rules are compiled anew there."""
    return pickle.dumps(work)


def replay_packed(blob: bytes, piece: Piece) -> Played:
    """Replay a piece of packed work, one at a time in a process: an analyzer has one user.

    Raises
    ------
    RelumeError
        When this process finds other data, rules or settings, and when they can't be read.
    """
    with _LOCK:
        return opened(blob).replay(piece)


@lru_cache(maxsize=1)
def opened(blob: bytes) -> Work:
    """Return packed work, once a process: the results of its pieces are those of `work.about`."""
    work: Work = _unpickled(blob)
    allow_many_files()
    here = work.recording.about(work.judging)
    if here != work.about:
        fields = (name for name in About.__struct_fields__)
        differing = [one for one in fields if getattr(here, one) != getattr(work.about, one)]
        raise InputError(
            f"a worker's backtest of {work.about.data}",
            found=f"other {', '.join(differing)} there",
            expected="the same files, rules and version of Relume on every machine",
            hint="let the workers see the same folders",
        )
    return work


def _unpickled(blob: bytes) -> Any:  # noqa: ANN401 - whatever was packed
    return pickle.loads(blob)  # noqa: S301 - our own, from the process that started this one


Advance = Callable[[int, int], None]
"""Is told how many units are done, and how many there are."""
