from __future__ import annotations

import numpy as np
import pytest

from relume.benchmarks.simulator.faults import DAY, NO_NODE, FaultTable, draw_faults, node_faults
from relume.benchmarks.simulator.parameters import Parameters, load

DAYS, NODES = 348.0, 4_000


@pytest.fixture(scope="module")
def parameters() -> Parameters:
    return load()


@pytest.fixture(scope="module")
def table(parameters: Parameters) -> FaultTable:
    return draw_faults(parameters, NODES, DAYS, np.random.default_rng(7))


def test_the_rate_is_the_one_asked_for(parameters: Parameters, table: FaultTable) -> None:
    """Faults that come together count once: they are more, by as many as come along."""
    once = parameters.faults.per_node_day * NODES * DAYS
    more = parameters.node_weight * (1 / (1 - parameters.faults.together_share) - 1)
    assert len(table) == pytest.approx(once * (1 + more), rel=0.08)


def test_faults_come_in_the_order_of_their_time_within_the_days(table: FaultTable) -> None:
    assert (np.diff(table.at) >= 0).all()
    assert 0 <= table.at[0] <= table.at[-1] < DAYS * DAY


def test_causes_are_of_nodes_where_there_is_a_node(
    parameters: Parameters, table: FaultTable
) -> None:
    of_node = np.array([cause.node for cause in parameters.causes])[table.cause]
    assert (of_node == (table.node != NO_NODE)).all()
    weights = np.array([cause.weight for cause in parameters.causes])
    counts = np.bincount(table.cause, minlength=len(weights)) / len(table)
    assert counts == pytest.approx(weights / weights.sum(), abs=0.04)


def test_nodes_that_go_down_never_hang_and_only_software_repeats(
    parameters: Parameters, table: FaultTable
) -> None:
    loses = np.array([cause.loses_node for cause in parameters.causes])[table.cause]
    assert not (table.is_hang & loses).any()
    software = np.array([cause.domain == "workload" for cause in parameters.causes])[table.cause]
    assert not (table.repeats & ~software).any()
    assert not (table.is_persistent & (table.node == NO_NODE)).any()


def test_faults_cluster_on_nodes_and_in_time(parameters: Parameters) -> None:
    rng = np.random.default_rng(8)
    at, node, repair = node_faults(parameters.faults, 3.6e-3, NODES, DAYS, rng)
    counts = np.bincount(node, minlength=NODES)
    assert counts.var() / counts.mean() == pytest.approx(2.57, rel=0.2)
    assert np.median(repair) / DAY == pytest.approx(0.85, rel=0.1)
    order = np.lexsort((at, node))
    again = (np.diff(node[order]) == 0) & (np.diff(at[order]) <= 7 * DAY)
    assert again.sum() / len(at) == pytest.approx(0.25, abs=0.04)


def test_no_rate_is_no_fault(parameters: Parameters) -> None:
    quiet = parameters.model_copy(
        update={"faults": parameters.faults.model_copy(update={"per_node_day": 0.0})}
    )
    assert len(draw_faults(quiet, 100, 100, np.random.default_rng(1))) == 0
