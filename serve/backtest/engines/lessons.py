"""What attempts that ended well would teach, kept where they are replayed and learned elsewhere."""

from __future__ import annotations

import pickle
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from itertools import islice
from tempfile import TemporaryFile
from typing import IO, NamedTuple

from relume.models.templates.history import MAX_LINES, TemplateHistory

MAX_BYTES = 64 << 20
"""Lines kept of one piece; what comes after them is learned some other day."""


class Lesson(NamedTuple):
    """The arguments of `TemplateHistory.learn`."""

    attempt: str
    families: tuple[str, ...]
    lines: tuple[bytes, ...]


class Lessons(TemplateHistory):
    """Stands where a history would learn, and keeps what it is told, up to `MAX_BYTES`.

    Parameters
    ----------
    known
        A history whose attempts need no lesson; null for none.

    Examples
    --------
    >>> lessons = Lessons()
    >>> lessons.learn("lab/7@0.0", ["run ada/llm"], [b"ward 3 is open"])
    True
    >>> lessons.kept[0].lines
    (b'ward 3 is open',)
    """

    def __init__(self, known: TemplateHistory | None = None) -> None:
        super().__init__()
        self._known, self._bytes = known, 0
        self.kept: list[Lesson] = []

    def learn(self, attempt: str, families: Sequence[str], lines: Iterable[bytes]) -> bool:
        """Keep what a healthy attempt printed; false where that is known, or there is no room."""
        if self._bytes > MAX_BYTES or (self._known is not None and self._known.knows(attempt)):
            return False
        taken = tuple(islice(lines, MAX_LINES))
        self._bytes += sum(map(len, taken))
        self.kept.append(Lesson(attempt, tuple(families), taken))
        return True


@dataclass(slots=True)
class InOrder:
    """Teaches a history in the order of the pieces, whatever order they are done in.

    Lessons that come early wait in a file without a name.
    """

    history: TemplateHistory
    _next: int = 0
    _waiting: dict[int, tuple[int, int]] = field(default_factory=dict)
    _file: IO[bytes] | None = None

    def take(self, place: int, lessons: Sequence[Lesson]) -> None:
        """Take the lessons of the piece at a place; none where it was given up."""
        if place == self._next:
            self._learn(lessons)
        else:
            self._waiting[place] = self._keep(pickle.dumps(lessons) if lessons else b"")
        while self._next in self._waiting:
            self._learn(self._kept(*self._waiting.pop(self._next)))

    def close(self) -> None:
        """Learn what still waits, and let the file go."""
        for place in sorted(self._waiting):
            self._learn(self._kept(*self._waiting[place]))
        self._waiting.clear()
        if self._file is not None:
            self._file.close()

    def _learn(self, lessons: Sequence[Lesson]) -> None:
        for one in lessons:
            self.history.learn(*one)
        self._next += 1

    def _keep(self, data: bytes) -> tuple[int, int]:
        if not data:
            return 0, 0
        if self._file is None:
            self._file = TemporaryFile()  # noqa: SIM115 - it outlives this call
        place = self._file.seek(0, 2)
        self._file.write(data)
        return place, len(data)

    def _kept(self, place: int, size: int) -> Sequence[Lesson]:
        if not size or self._file is None:
            return ()
        self._file.seek(place)
        lessons: Sequence[Lesson] = pickle.loads(self._file.read(size))  # noqa: S301 - our own
        return lessons
