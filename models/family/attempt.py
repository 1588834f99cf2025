"""What an attempt leaves to those that come after it: how long it was silent, and when."""

from __future__ import annotations

from dataclasses import dataclass, field
from hashlib import blake2b
from typing import NamedTuple

from relume.models.family.gaps import PhaseGaps


class FamilyKey(NamedTuple):
    """Whose attempts may teach each other: jobs of one name of one user of one cluster.

    A name that two users chose is two families, as it is two runs: nobody's jobs shall be able to
    change how those of others are judged. `user` is null where it isn't told. `name` is the job's,
    or that of its run where the job's isn't told.
    """

    cluster: str
    user: str | None
    name: str

    @property
    def digest(self) -> str:
        """Text of fixed length, to search by."""
        text = f"{self.cluster}\x1f{self.user or ''}\x1f{self.name}".encode("utf-8", "replace")
        return blake2b(text, digest_size=16).hexdigest()


@dataclass(frozen=True, slots=True, kw_only=True)
class AttemptGaps:
    """The silences of an attempt that is over.

    Attributes
    ----------
    attempt
        Text form of its identity.
    known_at
        When it was known that it is over, UTC microseconds by the clock of the ticks: whoever
        began before that doesn't know it.
    framework
        Format of its progress lines; null for none.
    nodes
        How many it ran on; null is not known.
    launch_seconds
        From its start to its first step; null without one.
    trained_seconds, lines
        From its first step to its last, and how many progress lines that were.
    stalled_step, stalled_seconds
        The last step it showed, and how long it had been silent by its end. A null step is not
        known.
    phases
        Its gaps by phase.
    wrong_signs
        Which other sources saw nothing work in a silence that ended by itself, and of how many
        seconds.
    """

    attempt: str
    known_at: int
    framework: str | None = None
    nodes: int | None = None
    launch_seconds: float | None = None
    trained_seconds: float = 0.0
    lines: int = 0
    stalled_step: int | None = None
    stalled_seconds: float = 0.0
    phases: dict[str, PhaseGaps] = field(default_factory=dict)
    wrong_signs: dict[str, float] = field(default_factory=dict)

    @property
    def job(self) -> str:
        """The job that it is an attempt of, in text form."""
        return self.attempt.rpartition(".")[0]
