from __future__ import annotations

import math
from dataclasses import replace
from typing import TYPE_CHECKING

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from relume.benchmarks.simulator.cluster import Cluster
from relume.benchmarks.simulator.faults import DAY, NO_NODE, FaultTable, draw_faults
from relume.benchmarks.simulator.nodes import Nodes
from relume.benchmarks.simulator.operators import BASELINE, HUMAN, ORACLE, Operator, always
from relume.benchmarks.simulator.parameters import Parameters, load
from relume.benchmarks.simulator.runs import RunPlan
from relume.features.goodput.buckets import gpu_seconds
from relume.features.goodput.cluster import cluster_shares, shares

if TYPE_CHECKING:
    import polars as pl

PUBLISHED = load()
CALM = PUBLISHED.model_copy(
    update={"stragglers": PUBLISHED.stragglers.model_copy(update={"per_job_day": 0.0})}
)
CAUSES = {cause.name: number for number, cause in enumerate(PUBLISHED.causes)}
HOUR = 3_600.0


def faults(*rows: dict[str, object]) -> FaultTable:
    """Made by hand: each row needs `at`; the rest is a GPU of node 0 that a restart cures."""
    full = [
        {"repair": HOUR, "node": 0, "cause": CAUSES["gpu"], "hang": False, "stays": False,
         "repeats": False} | row
        for row in rows
    ]  # fmt: skip
    return FaultTable(
        at=np.array([row["at"] for row in full], np.float64),
        repair=np.array([row["repair"] for row in full], np.float64),
        node=np.array([row["node"] for row in full], np.int64),
        cause=np.array([row["cause"] for row in full], np.int64),
        is_hang=np.array([row["hang"] for row in full], np.bool_),
        is_persistent=np.array([row["stays"] for row in full], np.bool_),
        repeats=np.array([row["repeats"] for row in full], np.bool_),
    )


def lived(  # noqa: PLR0913
    operator: Operator,
    table: FaultTable,
    *,
    nodes: int = 12,
    plans: tuple[RunPlan, ...] = (RunPlan("run", 10),),
    parameters: Parameters = CALM,
    preempts: bool = False,
) -> tuple[Cluster, pl.DataFrame]:
    cluster = Cluster(parameters, Nodes(nodes), table, operator, seed=3, preempts=preempts)
    return cluster, cluster.run(list(plans), days=1.0).spans()


def seconds(spans: pl.DataFrame, gpus: int = 80) -> dict[str, float]:
    return {str(name): spent / gpus for name, spent in gpu_seconds(spans).rows()}


def test_a_quiet_run_starts_once_and_works() -> None:
    _, spans = lived(BASELINE, faults())
    assert seconds(spans) == {"restart": 300.0, "productive": DAY - 300}


def test_a_crash_costs_its_detection_a_restart_and_what_was_not_saved() -> None:
    _, spans = lived(BASELINE, faults({"at": 300 + 1.5 * 1800}))
    assert seconds(spans) == {
        "restart": 600.0,
        "productive": DAY - 600 - 600 - 900,
        "recompute": 900.0,
        "detection": 600.0,
    }


def test_a_broken_node_breaks_the_run_again_until_somebody_takes_it_out() -> None:
    table = faults({"at": 2 * HOUR, "stays": True, "repair": 2 * DAY})
    blind, _ = lived(replace(BASELINE, drains_after=math.inf), table)
    drained, _ = lived(BASELINE, table)
    named, _ = lived(ORACLE, table)
    assert blind.counts.futile > drained.counts.futile > named.counts.futile == 0
    assert blind.nodes.free == 2
    assert named.nodes.free == 1


def test_a_node_that_goes_down_leaves_by_itself() -> None:
    cluster, spans = lived(BASELINE, faults({"at": 2 * HOUR, "cause": CAUSES["node_down"]}))
    assert (cluster.counts.failures, cluster.counts.futile) == (1, 0)
    assert seconds(spans)["detection"] == CALM.run.node_timeout_seconds


def test_a_run_without_spares_waits_for_the_repair() -> None:
    table = faults({"at": 2 * HOUR, "cause": CAUSES["node_down"], "repair": HOUR})
    _, spans = lived(BASELINE, table, nodes=10)
    assert seconds(spans)["queue"] == HOUR


def test_who_stops_repeated_failures_waits_for_the_mending() -> None:
    table = faults({"at": HOUR, "node": NO_NODE, "cause": CAUSES["software"], "repeats": True})
    stopped, spans = lived(ORACLE, table, nodes=10)
    looped, _ = lived(replace(ORACLE, stops_at=None), table, nodes=10)
    assert (stopped.counts.stops, stopped.counts.futile) == (1, 1)
    assert looped.counts.futile > 3
    assert seconds(spans)["decision"] > 3 * HOUR


def test_faults_of_nodes_that_nobody_runs_on_end_no_run() -> None:
    cluster, spans = lived(BASELINE, faults({"at": HOUR, "node": 11, "repair": HOUR}))
    assert cluster.counts.failures == 0
    assert "detection" not in seconds(spans)


def test_false_alarms_and_wrong_exclusions_are_counted_and_cost() -> None:
    nervous = replace(BASELINE, false_alarms_per_job_day=20.0)
    cluster, spans = lived(nervous, faults())
    assert cluster.counts.false_alarms > 5
    assert seconds(spans)["recompute"] > 0
    unjust = replace(BASELINE, blames_innocent=1.0)
    cluster, _ = lived(unjust, faults({"at": HOUR}, {"at": 5 * HOUR}))
    assert cluster.counts.wrong_exclusions == 2


def test_slow_times_are_slow_and_the_oracle_leaves_a_slow_node_where_it_pays() -> None:
    slow = PUBLISHED.stragglers.model_copy(
        update={"per_job_day": 6.0, "node_share": 1.0, "mean_seconds": 4 * HOUR}
    )
    slowed = PUBLISHED.model_copy(update={"stragglers": slow})
    cluster, spans = lived(BASELINE, faults(), parameters=slowed)
    assert seconds(spans)["slow"] > HOUR
    assert {name for _, name, *_ in cluster.recording.attempts} == {"run.0"}
    _, knowing = lived(ORACLE, faults(), parameters=slowed)
    assert seconds(knowing).get("slow", 0.0) < seconds(spans)["slow"]


def test_work_that_is_done_frees_the_nodes_for_the_next() -> None:
    plans = (RunPlan("first", 8, work=2 * HOUR), RunPlan("second", 8, arrival=60, work=HOUR))
    _, spans = lived(BASELINE, faults(), plans=plans)
    assert seconds(spans.filter(run="first"), 64) == {"restart": 300.0, "productive": 2 * HOUR}
    assert seconds(spans.filter(run="second"), 64) == {
        "queue": 2 * HOUR + 240,
        "restart": 300.0,
        "productive": HOUR,
    }


def test_a_restarted_run_takes_nodes_from_smaller_later_ones_where_that_is_set() -> None:
    plans = (RunPlan("large", 8), RunPlan("small", 4, arrival=60))
    table = faults({"at": 2 * HOUR, "cause": CAUSES["node_down"], "repair": 8 * HOUR})
    polite, waiting = lived(BASELINE, table, plans=plans)
    greedy, spans = lived(BASELINE, table, plans=plans, preempts=True)
    assert (polite.counts.preempted, greedy.counts.preempted) == (0, 1)
    assert seconds(waiting.filter(run="large"), 64)["queue"] == 8 * HOUR
    assert "queue" not in seconds(spans.filter(run="large"), 64)
    assert seconds(spans.filter(run="small"), 32)["queue"] == 8 * HOUR


@settings(max_examples=25, deadline=None)
@given(seed=st.integers(0, 10_000), operator=st.sampled_from([BASELINE, HUMAN, ORACLE]))
def test_every_second_is_in_one_bucket_and_no_gpu_is_used_twice(
    seed: int, operator: Operator
) -> None:
    rng = np.random.default_rng(seed)
    harsh = PUBLISHED.model_copy(
        update={"faults": PUBLISHED.faults.model_copy(update={"per_node_day": 0.5})}
    )
    plans = [
        RunPlan(f"run{number}", int(rng.integers(1, 12)), float(rng.uniform(0, DAY)), 6 * HOUR)
        for number in range(8)
    ]
    table = draw_faults(harsh, 16, 2, rng)
    cluster = Cluster(harsh, Nodes(16), table, operator, seed, preempts=seed % 2 == 0)
    spans = cluster.run(plans, days=2).spans()
    assert sum(shares(spans).values()) == pytest.approx(1, abs=1e-9)
    whole = cluster_shares(spans, 128, 0, round(2 * DAY * 1e6))
    assert sum(whole.values()) == pytest.approx(1, abs=1e-9)
    again = Cluster(harsh, Nodes(16), table, operator, seed, preempts=seed % 2 == 0)
    assert again.run(plans, days=2).spans().equals(spans)


def test_knowing_more_is_worth_more() -> None:
    gains = []
    for seed in range(6):
        table = draw_faults(PUBLISHED, 550, 14, np.random.default_rng(seed))
        goodput = {}
        for operator in (BASELINE, replace(ORACLE, name="late", crash=always(60.0)), ORACLE):
            cluster = Cluster(PUBLISHED, Nodes(550), table, operator, seed)
            spans = cluster.run([RunPlan("run", 512)], 14).spans()
            goodput[operator.name] = shares(spans)["productive"]
        gains.append((goodput["baseline"], goodput["late"], goodput["oracle"]))
    low, middle, high = np.mean(gains, axis=0)
    assert low < middle < high
