"""Goodput and hindsight of made-up runs, replayed from end to end."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from recording import SECOND, START, TRACEBACK, clock, entry, judging, logged, recorded
from relume.advice import Operation
from relume.dataset import AttemptEntry
from relume.errors import InputError
from relume.models.policy.policy import Preset
from relume.models.worth.agreement import Act
from relume.models.worth.counterfactual import Hand
from relume.models.worth.outcomes import Label
from relume.serve.backtest.lived import BESIDE, GUESSED_NODES, NO_GPU, NO_QUEUE, NO_STEPS, NO_TIME
from relume.serve.backtest.replay import replay_unit
from relume.serve.backtest.results import Results, unit_result
from relume.serve.backtest.run import Recording
from relume.serve.backtest.sources import AttemptSource, make_unit
from relume.serve.backtest.worth import Assumed, Worth, sweep, worth_of
from relume.serve.scan.window import Window

WELL: dict[str, Any] = {"state": "COMPLETED", "exit_code": 0}


def steps(begin: int, end: int, first: int = 1) -> list[str]:
    """A step a second from `begin` to `end`, seconds after the start of all."""
    return [
        f"[{clock(at)}] iter {first + at - begin}: loss 3.9, time 1000.00ms"
        for at in range(begin, end)
    ]


def attempt(
    folder: Path, number: int, begin: int, end: int, lines: list[str], **changes: Any
) -> AttemptEntry:
    """Attempt `number` of the one job, on 16 GPUs, from `begin` to `end`."""
    fields: dict[str, Any] = {
        "attempt": f"lab/7@{START // SECOND}.{number}",
        "files": (logged(folder, f"{number}.out", lines),),
        "run": "opus",
        "gpus": 16,
        "start": START + begin * SECOND,
        "end": START + end * SECOND,
        "incidents": None,
    }
    return entry(**(fields | changes))


def worth(folder: Path, *entries: AttemptEntry, **options: Any) -> Worth:
    recorded(folder, *entries)
    recording = Recording(folder)
    with Results(folder / "results", recording.about(judging())) as results:
        recording.replay(judging(), results)
        return worth_of(recording, results.read(), **options)


def hours(found: Worth) -> dict[str, float]:
    """GPU-seconds of the buckets that have any, for each of 16 GPUs."""
    spent = found.goodput.gpu_hours.items()
    return {bucket: round(3600 * value / 16) for bucket, value in spent if value}


@pytest.fixture(scope="module")
def crash_loop(tmp_path_factory: pytest.TempPathFactory) -> Worth:
    """A bug at step 301: two attempts in vain after the first, then somebody mends it."""
    folder = tmp_path_factory.mktemp("loop")
    last = attempt(folder, 3, 1000, 1400, steps(1010, 1390, 101), **WELL)
    return worth(folder, *in_vain(folder), replace(last, attempt=f"lab/8@{START // SECOND}.0"))


def in_vain(folder: Path) -> list[AttemptEntry]:
    """One attempt that fails at step 301, and two that fail there again."""
    said = list(TRACEBACK)
    return [
        attempt(folder, 0, 0, 320, [*steps(10, 310), *said], eligible=START),
        attempt(folder, 1, 400, 620, [*steps(410, 610, 101), *said]),
        attempt(folder, 2, 700, 920, [*steps(710, 910, 101), *said]),
    ]


def test_each_second_of_a_run_is_in_one_bucket(crash_loop: Worth) -> None:
    found = crash_loop.goodput
    assert sum(found.shares.values()) == pytest.approx(1, abs=1e-9)
    assert sum(hours(crash_loop).values()) == pytest.approx(1400, abs=4)
    assert hours(crash_loop)["queue"] == 80 * 3
    again = 2 * 200 + 200  # of the last attempt only what comes after step 300 is new
    assert hours(crash_loop)["recompute"] == pytest.approx(again, abs=6)
    assert hours(crash_loop)["productive"] == pytest.approx(300 + 180, abs=6)
    assert found.estimated == 0
    assert found.measured.restart == pytest.approx(11, abs=1)
    assert found.measured.queue == 0


def test_restarts_in_vain_are_counted_and_relume_would_have_spared_the_second(
    crash_loop: Worth,
) -> None:
    futile = crash_loop.goodput.futile
    assert (futile.count, futile.restarts) == (2, 3)
    assert futile.held == pytest.approx(2 * 220 * 16 / 3600)
    found = crash_loop.hindsight.counterfactual
    assert found.failures == 3
    vain = 16 * 200
    assert found.lost[Hand.BASELINE] > 2 * vain
    assert vain < found.lost[Hand.RELUME] < found.lost[Hand.BASELINE]
    assert found.oracle_fraction is not None


def test_a_stop_of_a_job_that_gets_further_by_itself_is_paid_for(
    tmp_path: Path, crash_loop: Worth
) -> None:
    last = attempt(tmp_path, 3, 1000, 1400, steps(1010, 1390, 101), **WELL)
    found = worth(tmp_path, *in_vain(tmp_path), last).hindsight.counterfactual
    mended = crash_loop.hindsight.counterfactual
    assert found.lost[Hand.RELUME] == mended.lost[Hand.RELUME] + 16 * 1800
    assert found.lost[Hand.BASELINE] == mended.lost[Hand.BASELINE]


def test_what_people_did_is_set_beside_what_was_advised(crash_loop: Worth) -> None:
    pairs = crash_loop.hindsight.agreement.pairs
    assert {act for _, act in pairs} == {Act.STARTED_AGAIN}
    assert sum(pairs.values()) == 3


def test_workload_failures_say_nothing_of_the_machines(crash_loop: Worth) -> None:
    assert crash_loop.goodput.failures == 3
    assert crash_loop.goodput.rate.rate.count == 0
    [run] = crash_loop.goodput.largest
    assert run.mttf_seconds is None
    assert run.young_seconds is None
    assert run.expected is not None


def test_a_node_that_fails_gives_a_rate_and_advice_on_checkpoints(tmp_path: Path) -> None:
    found = worth(tmp_path, attempt(tmp_path, 0, 0, 86_400, [], files=(), state="NODE_FAIL"))
    assert found.goodput.rate.rate.value == pytest.approx(0.5)
    [run] = found.goodput.largest
    assert run.mttf_seconds == pytest.approx(86_400)
    assert run.young_seconds == pytest.approx((2 * 60 * 86_400) ** 0.5)
    assert found.goodput.lost == {"hardware": pytest.approx(16 * 1800 / 3600)}
    assert found.lives.notes[NO_STEPS] == 1
    assert found.hindsight.counterfactual.without_onset == 1


def test_a_hang_that_somebody_cancels_labels_its_alarm_and_gains_by_the_minute(
    tmp_path: Path,
) -> None:
    hung = attempt(tmp_path, 0, 0, 4300, steps(10, 310), state="CANCELLED", exit_code=None)
    found = worth(tmp_path, hung)
    [outcome] = found.hindsight.outcomes
    assert dict(outcome.labels) == {Label.TRUE: 1}
    assert found.hindsight.counterfactual.lost[Hand.BASELINE] == 16 * 600
    assert found.hindsight.counterfactual.lost[Hand.RELUME] < 16 * 600


def test_an_alarm_before_steps_that_go_on_was_false(tmp_path: Path) -> None:
    lines = [*steps(10, 1010), *steps(1500, 2000, 1001)]
    found = worth(tmp_path, attempt(tmp_path, 0, 0, 2000, lines, **WELL))
    [outcome] = found.hindsight.outcomes
    assert dict(outcome.labels) == {Label.FALSE: 1}
    [rule] = found.hindsight.counterfactual.by_rule.values()
    assert rule.false_alarms == 1
    assert rule.wasted == pytest.approx(16 * (11 + 1800), abs=16)


def test_what_nobody_can_know_is_said(tmp_path: Path) -> None:
    one = attempt(tmp_path, 0, 0, 300, steps(10, 290), gpus=None, nodes=(), **WELL)
    beside = replace(one, attempt="lab/8@5.0", run="two", gpus=0)
    late = attempt(tmp_path, 1, 100, 400, steps(110, 390), **WELL)
    lost = entry(9, files=(), state=None, start=None, end=None)
    found = worth(tmp_path, one, beside, late, lost, assumed=Assumed(gpus_per_node=4))
    assert found.lives.left_out == {NO_GPU: 1, NO_TIME: 1}
    assert found.lives.notes == {NO_QUEUE: 2, GUESSED_NODES: 1, BESIDE: 1}
    assert found.goodput.runs == 2
    assert found.goodput.held == pytest.approx((4 + 16) * 300 / 3600)


def test_only_what_reaches_into_the_window_counts(tmp_path: Path) -> None:
    first = attempt(tmp_path, 0, 0, 320, [*steps(10, 310), *TRACEBACK])
    second = attempt(tmp_path, 1, 400, 900, steps(410, 890, 301), **WELL)
    found = worth(tmp_path, first, second, window=Window(since=START + 350 * SECOND))
    assert found.goodput.attempts == 1


def test_nothing_at_all_is_no_error(tmp_path: Path) -> None:
    found = worth(tmp_path)
    assert found.goodput.attempts == 0
    assert set(found.goodput.shares.values()) == {0.0}
    assert found.hindsight.counterfactual.oracle_fraction is None


def test_presets_are_replayed_side_by_side(tmp_path: Path) -> None:
    data = tmp_path / "data"
    data.mkdir()
    said = list(TRACEBACK)
    recorded(
        data,
        attempt(data, 0, 0, 320, [*steps(10, 310), *said]),
        attempt(data, 1, 400, 620, [*steps(410, 610, 101), *said]),
    )
    found = sweep(Recording(data), judging(), tmp_path / "presets")
    assert list(found) == list(Preset)
    assert {path.name for path in (tmp_path / "presets").iterdir()} == set(Preset)
    assert all(one.hindsight.counterfactual.failures == 2 for one in found.values())


def test_names_that_are_no_nodes_cost_nothing(tmp_path: Path) -> None:
    odd = attempt(tmp_path, 0, 0, 300, steps(10, 290), nodes=("n[1", "a,b"), **WELL)
    unit = make_unit(AttemptSource(entry=odd).run, [AttemptSource(entry=odd)], lambda _: ())
    replayed = replay_unit(unit, judging().analyzer, judging().settings, "UTC")
    [result] = unit_result(unit, replayed).attempts
    assert result.nodelist is None
    assert result.nodes == 2


def test_what_was_to_be_held_back_and_was_never_tried_again_is_not_judged(tmp_path: Path) -> None:
    refused = "[rank1]: torch.distributed.DistNetworkError: Connection reset by peer"
    flap = "NCCL WARN NET/IB : Got async event : port error"
    first = attempt(tmp_path, 0, 0, 320, [*steps(10, 310), flap, refused])
    alone = worth(tmp_path, first)
    operations = [one.advice.operation for one in alone.lives.attempts[0].decisions]
    assert operations[-1] is Operation.HOLD
    assert alone.hindsight.counterfactual.untried == 1
    assert alone.hindsight.counterfactual.failures == 0


def test_a_try_while_the_run_was_to_be_held_back_tells_what_holding_is_worth(
    tmp_path: Path,
) -> None:
    flap = "NCCL WARN NET/IB : Got async event : port error"
    again = [
        attempt(tmp_path, 0, 0, 320, [*steps(10, 310), flap]),
        attempt(tmp_path, 1, 400, 620, [*steps(410, 610, 101), flap]),
    ]
    found = worth(tmp_path, *again)
    assert [one.repeats for one in found.lives.attempts] == [False, True]
    told = found.hindsight.counterfactual
    assert (told.failures, told.untried) == (2, 0)
    assert told.lost[Hand.RELUME] == pytest.approx(16 * 1800, rel=0.02)  # the first one's hold
    assert told.lost[Hand.BASELINE] > 16 * 200  # the second one was in vain


def test_shares_of_a_cluster_have_what_was_idle(tmp_path: Path) -> None:
    one = attempt(tmp_path, 0, 100, 400, steps(110, 390), eligible=START, **WELL)
    found = worth(tmp_path, one, assumed=Assumed(gpus=32)).cluster
    assert found is not None
    assert sum(found.values()) == pytest.approx(1, abs=1e-9)
    assert found["queue"] == pytest.approx(16 * 100 / (32 * 400))
    assert found["idle"] == pytest.approx(0.5)
    with pytest.raises(InputError, match="16 in use at once"):
        worth(tmp_path / "again", replace(one, files=()), assumed=Assumed(gpus=8))
