"""What is known of a slow job, and what is said of who is to blame."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from enum import StrEnum
from typing import TYPE_CHECKING

from relume.verdict import Domain, Health

if TYPE_CHECKING:
    from relume.models.straggler.detector import Slowdown
    from relume.models.straggler.ranks import RankTimes


class Blame(StrEnum):
    """Who has to change."""

    NODE = "node"
    JOB = "not the node"
    UNKNOWN = "unknown"


@dataclass(frozen=True, slots=True)
class Condition:
    """What metrics say of a node against its peers.

    Attributes
    ----------
    health
        *unhealthy*: its clocks are lower, it is throttled, its links lose packets, and its peers'
        are not.
    cause
        A short name where it is unhealthy: `thermal`, `power`, `clocks`, `network`.
    reason
        One sentence with the numbers.
    """

    health: Health
    cause: str = "clocks"
    reason: str = ""


@dataclass(frozen=True, slots=True)
class Evidence:
    """All that is known of a slow job. Each part may be missing.

    Attributes
    ----------
    ratio
        How many times as long steps take.
    waits
        Share of the slow time that is more waiting for input (0 to 1); null when not printed.
    slow_share
        Share of the steps that are slow since it began.
    is_gradual
        Whether it became slow bit by bit.
    ranks
        Times of its ranks while it was slow.
    conditions
        By node, where metrics say something.
    slow_elsewhere
        By node: other jobs that were slow on it and blamed it or could not tell, of late.
    slow_beside
        Other jobs, on other nodes, that became slow at the same time.
    """

    ratio: float
    waits: float | None = None
    slow_share: float = 1.0
    is_gradual: bool = False
    ranks: RankTimes | None = None
    conditions: Mapping[str, Condition] = field(default_factory=dict)
    slow_elsewhere: Mapping[str, int] = field(default_factory=dict)
    slow_beside: int = 0

    @classmethod
    def of(cls, slowdown: Slowdown, **known: object) -> Evidence:
        """Return what the slowdown itself tells, and what else is known by its name."""
        return cls(
            ratio=slowdown.ratio,
            waits=slowdown.waits,
            slow_share=slowdown.slow_share,
            is_gradual=slowdown.is_gradual,
            **known,  # type: ignore[arg-type]
        )


@dataclass(frozen=True, slots=True)
class Answer:
    """Who is to blame, and why.

    Attributes
    ----------
    blame
        The node, not the node, or unknown.
    cause
        `slow_worker`, `thermal`, `power`, `clocks`, `network`, `data_loading`, `storage`,
        `shared_resource`, `between_steps` (input or network), `stage_imbalance`,
        `sequence_imbalance`, `mixed_in`, `gradual_drift`, `all_ranks_alike`; null: not known.
    domain
        What has to change.
    nodes, ranks
        Culprits; empty unless `blame` is the node.
    confidence
        0 to 1.
    why
        The sentences that a person would be told.
    """

    blame: Blame
    cause: str | None
    domain: Domain
    confidence: float
    nodes: tuple[str, ...] = ()
    ranks: tuple[int, ...] = ()
    why: tuple[str, ...] = ()
