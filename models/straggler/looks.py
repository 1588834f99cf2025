"""The rules of who is to blame, each by itself; `LOOKS` has their order."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Final

from relume.models.straggler.evidence import Answer, Blame, Evidence
from relume.verdict import Domain, Health

if TYPE_CHECKING:
    from collections.abc import Hashable

    from relume.models.straggler.ranks import Decomposition, Share

GATE: Final = 0.05
"""What is longer by less than this share isn't slow."""
MOST: Final = 0.5
"""Share of the slow time that a cause must explain."""
CRITICAL_SHARE: Final = 0.25
"""Share of a job's nodes that can be to blame; of more it is no fault of theirs."""
SURE: Final = 5.0
"""Standard errors by which the slowest of many ranks must exceed the typical one."""
MIXED_SHARE: Final = 0.7
"""Share of slow steps below which something else is mixed in between steps that are as usual."""
OTHER_JOBS: Final = 2
"""Other jobs that must say the same of a node, or be slow at the same time."""

Look = Callable[[Evidence, "Decomposition | None"], Answer | None]
"""A rule: what the evidence and the times of the ranks, taken apart, say by it; or null."""


def _hardware(evidence: Evidence, parts: Decomposition | None) -> Answer | None:
    """A node whose metrics are worse than its peers', unless its ranks are as fast as they are."""
    sick = {n: c for n, c in evidence.conditions.items() if c.health is Health.UNHEALTHY}
    if not sick or len(sick) > max(1.0, CRITICAL_SHARE * len(evidence.conditions)):
        return None
    slow = _slow_nodes(evidence, parts)
    # A bad link makes no rank's own work longer.
    links = {node for node, condition in sick.items() if condition.cause == "network"}
    blamed = sorted(sick if slow is None else set(sick) & (slow | links))
    if not blamed:
        return None
    condition = sick[blamed[0]]
    return Answer(
        Blame.NODE,
        condition.cause,
        Domain.NETWORK if condition.cause == "network" else Domain.HARDWARE,
        0.9 if slow is None else 0.97,
        tuple(blamed),
        _slowest_ranks(evidence, parts, blamed),
        tuple(f"{node}: {sick[node].reason or sick[node].cause}" for node in blamed),
    )


def _slow_worker(evidence: Evidence, parts: Decomposition | None) -> Answer | None:
    """Without one rank, or one node, most of what lasts would be gone."""
    if parts is None or not _lasts(parts, evidence):
        return None
    for part, what in ((parts.rank, "rank"), (parts.node, "node")):
        if part is None or part.share < MOST or part.ratio < 1.0 + GATE:
            continue
        ranks = (_rank_of(part),) if what == "rank" else ()
        nodes = _nodes_of(evidence, ranks) if what == "rank" else (str(part.name),)
        words = (
            f"{what} {part.name} takes {part.ratio:.2f} times as long as its peers; without it "
            f"{_percent(part.share)} of the delay would be gone"
        )
        return Answer(Blame.NODE, "slow_worker", Domain.HARDWARE, 0.9, nodes, ranks, (words,))
    return None


def _again(evidence: Evidence, _: Decomposition | None) -> Answer | None:
    """The same node in several jobs that were slow."""
    often = {n: k for n, k in evidence.slow_elsewhere.items() if k >= OTHER_JOBS}
    if not often or evidence.slow_beside >= OTHER_JOBS:
        return None
    most = max(often.values())
    nodes = tuple(sorted(node for node, count in often.items() if count == most))
    if len(nodes) > 1:
        return None
    words = f"{nodes[0]} was part of {most} other jobs that were slow"
    return Answer(Blame.NODE, "slow_worker", Domain.HARDWARE, 0.7, nodes, why=(words,))


def _stage(evidence: Evidence, parts: Decomposition | None) -> Answer | None:
    """One pipeline stage has more to do."""
    stage = None if parts is None else parts.stage
    if stage is None or stage.share < MOST or not _explains(stage.ratio - 1.0, evidence):
        return None
    words = f"stage {stage.name} takes {stage.ratio:.2f} times as long as the others"
    alone = _nodes_of_stage(evidence, stage.name)
    if len(alone) != 1:
        return Answer(Blame.JOB, "stage_imbalance", Domain.WORKLOAD, 0.9, why=(words,))
    node = alone.pop()
    condition = evidence.conditions.get(node)
    if condition is not None and condition.health is Health.HEALTHY:
        why = (words, f"{node}, where it runs, is as healthy as the others: {condition.reason}")
        return Answer(Blame.JOB, "stage_imbalance", Domain.WORKLOAD, 0.75, why=why)
    words = f"{words}, and nothing else runs on {node}: it may be either"
    return Answer(Blame.UNKNOWN, "stage_imbalance", Domain.UNKNOWN, 0.5, why=(words,))


def _several(evidence: Evidence, parts: Decomposition | None) -> Answer | None:
    """Several ranks are slow and the others are not: more than one cause, or one that is shared."""
    if parts is None or not _lasts(parts, evidence):
        return None
    lasting = _percent(parts.lasting)
    words = f"several ranks are slow, the slowest by {lasting}; no one of them costs most"
    return Answer(Blame.UNKNOWN, None, Domain.UNKNOWN, 0.5, why=(words,))


def _sequences(evidence: Evidence, parts: Decomposition | None) -> Answer | None:
    """Another rank is the slowest each time: their work is uneven."""
    if parts is None or not _explains(parts.changing, evidence):
        return None
    words = f"another rank is slowest in each step, which costs {_percent(parts.changing)}"
    return Answer(Blame.JOB, "sequence_imbalance", Domain.WORKLOAD, 0.85, why=(words,))


def _waiting(evidence: Evidence, _: Decomposition | None) -> Answer | None:
    """Steps wait for input."""
    if evidence.waits is None or evidence.waits < MOST:
        return None
    words = f"{_percent(evidence.waits)} of the delay is waiting for input"
    if evidence.slow_beside >= OTHER_JOBS:
        beside = f"{evidence.slow_beside} other jobs became slow at the same time"
        return Answer(Blame.JOB, "storage", Domain.FACILITY, 0.85, why=(words, beside))
    return Answer(Blame.JOB, "data_loading", Domain.WORKLOAD, 0.9, why=(words,))


def _beside(evidence: Evidence, _: Decomposition | None) -> Answer | None:
    """Other jobs on other nodes became slow too: what they share is to blame."""
    if evidence.slow_beside < OTHER_JOBS:
        return None
    words = f"{evidence.slow_beside} other jobs on other nodes became slow at the same time"
    return Answer(Blame.JOB, "shared_resource", Domain.FACILITY, 0.8, why=(words,))


def _between(evidence: Evidence, parts: Decomposition | None) -> Answer | None:
    """Ranks work as long as before, so the time went where they talk to each other."""
    if parts is None or parts.own is None or not _acquits(evidence):
        return None
    if parts.own > (1.0 - MOST) * (evidence.ratio - 1.0):
        return None
    words = "every rank's own work takes as long as before: what lies between takes the time"
    links_known = len(evidence.conditions) > 1
    why = (words,) if links_known else (words, "nothing is known of the nodes' links")
    cause, domain = "network", Domain.NETWORK
    if evidence.waits is None:  # it may as well be the input
        cause, domain = "between_steps", Domain.UNKNOWN
    return Answer(Blame.JOB, cause, domain, 0.75 if links_known else 0.6, why=why)


def _mixed_in(evidence: Evidence, _: Decomposition | None) -> Answer | None:
    """Steps as usual with slow ones between: something else is done now and then."""
    if evidence.slow_share >= MIXED_SHARE:
        return None
    words = f"{_percent(evidence.slow_share)} of the steps are slow, the others are as before"
    return Answer(Blame.JOB, "mixed_in", Domain.WORKLOAD, 0.8, why=(words,))


def _alike(evidence: Evidence, parts: Decomposition | None) -> Answer | None:
    """Every rank works longer, as long as its peers."""
    if parts is None or not _acquits(evidence):
        return None
    cause = "gradual_drift" if evidence.is_gradual else "all_ranks_alike"
    lasting = _percent(parts.lasting, digits=1)
    words = f"all {parts.ranks} ranks are slow alike: the slowest by {lasting} more"
    return Answer(Blame.JOB, cause, Domain.WORKLOAD, 0.8, why=(words,))


def _percent(share: float, *, digits: int = 0) -> str:
    return f"{share:.{digits}%}".replace("%", " %")


def _acquits(evidence: Evidence) -> bool:
    return evidence.ranks is not None and evidence.ranks.own_work


def _explains(excess: float, evidence: Evidence) -> bool:
    """Whether it is the most part of what steps take longer, and more than noise makes."""
    return excess >= max(GATE, MOST * (evidence.ratio - 1.0))


def _lasts(parts: Decomposition, evidence: Evidence) -> bool:
    """Whether the slowest rank is slow in truth: one of many always is, by chance."""
    return parts.lasting >= SURE * parts.noise and _explains(parts.lasting, evidence)


def _nodes_of_stage(evidence: Evidence, stage: Hashable) -> set[str]:
    """Nodes on which a stage runs and no other does."""
    known = evidence.ranks
    if known is None or known.nodes is None or known.stages is None:
        return set()
    stages: dict[str | None, set[Hashable]] = {}
    for node, number in zip(known.nodes, known.stages, strict=True):
        stages.setdefault(node, set()).add(number)
    return {node for node, found in stages.items() if node is not None and found == {stage}}


def _slow_nodes(evidence: Evidence, parts: Decomposition | None) -> set[str] | None:
    """Nodes that the times of ranks let be to blame; null where these tell nothing of it."""
    if parts is None or evidence.ranks is None or evidence.ranks.nodes is None:
        return None
    if not _lasts(parts, evidence):
        return set() if evidence.ranks.own_work else None
    found = set(_nodes_of(evidence, (_rank_of(parts.rank),))) if parts.rank is not None else set()
    if parts.node is not None:
        found.add(str(parts.node.name))
    return found


def _slowest_ranks(
    evidence: Evidence, parts: Decomposition | None, nodes: list[str]
) -> tuple[int, ...]:
    if parts is None or parts.rank is None or parts.rank.share < MOST:
        return ()
    rank = _rank_of(parts.rank)
    return (rank,) if set(_nodes_of(evidence, (rank,))) & set(nodes) else ()


def _rank_of(part: Share) -> int:
    return int(str(part.name))


def _nodes_of(evidence: Evidence, ranks: tuple[int, ...]) -> tuple[str, ...]:
    known = evidence.ranks
    if known is None or known.nodes is None:
        return ()
    nodes = dict(zip(known.ranks, known.nodes, strict=True))
    return tuple(node for rank in ranks if (node := nodes.get(rank)) is not None)


LOOKS: Final[tuple[Look, ...]] = (
    _hardware,
    _slow_worker,
    _again,
    _stage,
    _several,
    _sequences,
    _waiting,
    _mixed_in,
    _beside,
    _between,
    _alike,
)
"""In the order in which they are tried."""
