"""What the detector of absences says."""

from __future__ import annotations

from dataclasses import dataclass
from enum import StrEnum

from relume.verdict import Health


class AbsenceKind(StrEnum):
    """What is gone, from the smallest to the largest."""

    GPU = "gpu_vanished"
    """One GPU of a node, while others of it are measured: often lost without an Xid."""
    EXPORTER = "exporter_silent"
    """All that one exporter of a node says, while another one of it goes on."""
    NODE = "node_silent"
    """All that is measured on a node, while other nodes are."""
    EVERYTHING = "scrapes_stopped"
    """Everything: Prometheus, or the way from it to here."""


@dataclass(frozen=True, slots=True)
class Absence:
    """Something isn't measured any more, or is again. It is evidence, and no action follows alone.

    Attributes
    ----------
    kind
        What is gone.
    node, gpu, exporter
        Whose; null where the kind is about more. An exporter is `GPU_EXPORTER` or `NODE_EXPORTER`.
    since
        When it was measured last. UTC microseconds.
    at
        When that was found; where it is over, when it was measured again.
    is_over
        Whether it is measured again.
    reason
        One sentence for a person.
    """

    kind: AbsenceKind
    node: str | None
    gpu: str | None
    exporter: str | None
    since: int
    at: int
    is_over: bool
    reason: str

    @property
    def health(self) -> Health:
        """Always *unknown*: nobody measures it."""
        return Health.UNKNOWN
