"""What is usual: which lines healthy attempts print, as far as anybody has seen some."""

from __future__ import annotations

from typing import NamedTuple, Protocol


class Seen(NamedTuple):
    """In how many healthy attempts a line like one was seen: of the job's family, of all jobs."""

    family: int = 0
    fleet: int = 0


class Familiar(Protocol):
    """What is known of healthy attempts, as seen from one job."""

    @property
    def family_attempts(self) -> int:
        """How many healthy attempts of the job's family are known."""
        ...

    def seen(self, line: bytes) -> Seen:
        """Return in how many of them a line like this one was."""
        ...


class _Nothing:
    """No history."""

    family_attempts = 0

    def seen(self, line: bytes) -> Seen:
        del line
        return Seen()


NOTHING: Familiar = _Nothing()
