"""What others do about slow steps."""

from __future__ import annotations

import numpy as np
import pytest

from relume.benchmarks.false_alarms.quiet import Regime
from relume.benchmarks.peers import stragglers as peers
from relume.benchmarks.straggler.injected import inject

PEERS = {name: call for name, call in peers.PEERS.items() if name != "2_x_median"}


@pytest.mark.parametrize("name", PEERS)
def test_a_peer_finds_what_is_slow_by_half(name: str) -> None:
    draws = np.random.default_rng(3)
    values = 5.0 * draws.normal(1.0, 0.01, 3000)
    values[2000:] *= 1.5
    places = PEERS[name](values)
    assert len(places[places >= 2000]) > 0


def test_a_timer_of_twice_the_median_sees_nothing_below_it() -> None:
    values = np.full(1000, 5.0)
    values[500:] = 9.9
    values[700] = 21.0
    assert peers.twice_the_median(values).tolist() == [700]


def test_alarms_close_to_each_other_are_one() -> None:
    rows = {name: peers.Row() for name in peers.PEERS}
    peers.add_run(rows, peers.MadeUp(Regime.AUTOREGRESSIVE), 1.5, 1)
    assert rows["raw_cusum"].early > 0
    run = inject(peers.MadeUp(Regime.AUTOREGRESSIVE), 1.5, 1)
    alarms = peers.raw_cusum(run.values)
    assert rows["raw_cusum"].early < len(alarms[alarms < run.onset])


def test_everybody_watches_the_same() -> None:
    rows = peers.table(1)
    assert {len(row.delays) for row in rows.values()} == {len(peers.SLOWDOWNS) * len(Regime)}
    assert {row.job_days for row in rows.values()} == {len(Regime)}
    assert rows["ours_guaranteed"].missed == 0
    assert rows["2_x_median"].missed > rows["2_x_median"].job_days
    assert rows["2_x_median"].quantile(0.5) > 300
    measures = rows["raw_cusum"].measures("raw")
    assert measures["raw_missed"] == 0
