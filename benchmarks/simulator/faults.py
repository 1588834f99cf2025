"""Draw the faults of a fleet at once: who is prone to them, which come again, how long repairs are.

Each node has its own rate, drawn once; each fault draws whether a neighbour faults with it, and
whether the node faults again soon after its repair. So faults cluster on few nodes and in time, as
in the traces that were published.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from relume.benchmarks.simulator.parameters import Cause, Faults, Parameters

if TYPE_CHECKING:
    from numpy.typing import NDArray

DAY = 86_400.0
TOGETHER_DAYS = 10 / 1440
"""Within which neighbours fault together."""
NO_NODE = -1


@dataclass(frozen=True, slots=True)
class FaultTable:
    """Faults in the order of their time, one entry each.

    Attributes
    ----------
    at, repair
        Seconds: when, and how long a repair takes.
    node
        Whose; -1 for those of no node.
    cause
        Place in the parameters' causes.
    is_hang, is_persistent, repeats
        Whether it shows as a hang; whether a restart on the same node fails again; whether a
        restart anywhere fails again.
    """

    at: NDArray[np.float64]
    repair: NDArray[np.float64]
    node: NDArray[np.int64]
    cause: NDArray[np.int64]
    is_hang: NDArray[np.bool_]
    is_persistent: NDArray[np.bool_]
    repeats: NDArray[np.bool_]

    def __len__(self) -> int:
        return len(self.at)


def draw_faults(
    parameters: Parameters, nodes: int, days: float, rng: np.random.Generator
) -> FaultTable:
    """Draw all faults of `nodes` nodes over `days`.

    Examples
    --------
    >>> from relume.benchmarks.simulator.parameters import load
    >>> table = draw_faults(load(), nodes=1000, days=100, rng=np.random.default_rng(1))
    >>> 0.8 < len(table) / (0.0038 * 1000 * 100) < 1.2
    True
    """
    faults = parameters.faults
    of_nodes = faults.per_node_day * parameters.node_weight
    at, node, repair = node_faults(faults, of_nodes, nodes, days, rng)
    count = rng.poisson((faults.per_node_day - of_nodes) * nodes * days)
    at = np.concatenate([at, rng.uniform(0, days * DAY, count)])
    node = np.concatenate([node, np.full(count, NO_NODE)])
    repair = np.concatenate([repair, np.zeros(count)])
    order = np.argsort(at, kind="stable")
    at, node, repair = at[order], node[order], repair[order]
    cause = np.where(
        node == NO_NODE,
        _causes(parameters.causes, len(at), rng, of_node=False),
        _causes(parameters.causes, len(at), rng, of_node=True),
    )
    hang, again, repeats = rng.uniform(size=(3, len(at)))
    loses = np.array([one.loses_node for one in parameters.causes])[cause]
    workload = np.array([one.domain == "workload" for one in parameters.causes])[cause]
    return FaultTable(
        at=at,
        repair=repair,
        node=node,
        cause=cause,
        is_hang=(hang < parameters.kinds.hang_share) & ~loses,
        is_persistent=(again < faults.persistent_share) & (node != NO_NODE),
        repeats=(repeats < parameters.kinds.repeats_share) & workload,
    )


def node_faults(
    faults: Faults, per_node_day: float, nodes: int, days: float, rng: np.random.Generator
) -> tuple[NDArray[np.float64], NDArray[np.int64], NDArray[np.float64]]:
    """Draw times (seconds), nodes and repairs (seconds) of faults that are tied to nodes.

    `per_node_day` counts faults that come together once: they end a job once.
    """
    # Each fault brings so many others on average; what is left is drawn by itself.
    alone = 1 - faults.again_share - faults.together_share
    first = per_node_day / (1 - faults.together_share) * alone
    rates = rng.gamma(faults.node_size, first / faults.node_size, nodes)
    counts = rng.poisson(rates * days)
    node = np.repeat(np.arange(nodes), counts)
    at = rng.uniform(0, days, len(node))
    all_at, all_node, all_repair = [], [], []
    while len(at):
        repair = faults.repair_median_days * rng.lognormal(0, faults.repair_spread, len(at))
        all_at.append(at)
        all_node.append(node)
        all_repair.append(repair)
        comes = rng.uniform(size=len(at)) < faults.again_share
        gap = faults.again_median_days * rng.lognormal(0, faults.again_spread, len(at))
        takes = rng.uniform(size=len(at)) < faults.together_share
        soon = at + rng.uniform(0, TOGETHER_DAYS, len(at))
        at = np.concatenate([(at + repair + gap)[comes], soon[takes]])
        node = np.concatenate([node[comes], (node[takes] + 1) % nodes])
        within = at < days
        at, node = at[within], node[within]
    if not all_at:
        return np.zeros(0), np.zeros(0, np.int64), np.zeros(0)
    order = np.argsort(np.concatenate(all_at), kind="stable")
    return (
        np.concatenate(all_at)[order] * DAY,
        np.concatenate(all_node)[order],
        np.concatenate(all_repair)[order] * DAY,
    )


def _causes(
    causes: tuple[Cause, ...], count: int, rng: np.random.Generator, *, of_node: bool
) -> NDArray[np.int64]:
    weights = np.array([cause.weight * (cause.node is of_node) for cause in causes])
    if not weights.sum():
        return np.zeros(count, np.int64)
    return rng.choice(len(causes), count, p=weights / weights.sum())
