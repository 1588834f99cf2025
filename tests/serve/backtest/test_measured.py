"""Backtests of lakes that hold metrics of the nodes."""

from __future__ import annotations

import json
from collections.abc import Iterable
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from typer.testing import CliRunner

from measuring import WAITING, WORKING, answer_of, batch_of, measured
from recording import SECOND, START, clock, entry, judging, logged, recorded, steps
from relume.advice import Advice
from relume.cli import app
from relume.dataset import AttemptEntry
from relume.events import Sample
from relume.ingest.datasets import read_dataset
from relume.ingest.importing import import_units, units_of
from relume.ingest.lake import LakeReader, LakeWriter
from relume.models.policy.rules import SUSPECTED_HANG_RULE
from relume.serve.backtest.lakes import lake_units
from relume.serve.backtest.replay import Finding, replay_unit
from relume.serve.backtest.units import dataset_units
from relume.serve.live.judge import Judge
from relume.verdict import Kind
from ticking import Eager, advice_of

NODES = ("gpu-a01", "gpu-a02")
STEPS = 200


def hung(folder: Path, number: int = 7, **changes: Any) -> AttemptEntry:
    """An attempt that makes a step a second, then none, and is cancelled 250 s later."""
    begin = changes.pop("start", START)
    log = logged(folder, f"{number}.out", steps(STEPS, start=begin))
    fields: dict[str, Any] = {"files": (log,), "state": "CANCELLED", "nodes": NODES}
    times = {"start": begin, "end": begin + (STEPS + 250) * SECOND}
    return entry(number, **(fields | times | changes))


def scraped(doing: dict[str, float] = WAITING, **changes: Any) -> list[Sample]:
    at = {"start": START, "seconds": STEPS + 250} | changes
    return list(measured(NODES, at=lambda t: WORKING if t <= STEPS else doing, **at))


def findings(
    folder: Path, entries: Iterable[AttemptEntry], samples: Iterable[Sample] = ()
) -> dict[str, list[Finding]]:
    """What comes of a backtest of a lake of a data set and of samples, by attempt."""
    recorded(folder, *entries)
    with LakeWriter(folder / "lake") as lake:
        assert not import_units(lake, units_of([folder])).refused
        # As they come from Prometheus: one query after the other, not in order of time.
        by_query = sorted(samples, key=lambda one: one.metric)
        lake.append(by_query)
        lake.commit()
    found: dict[str, list[Finding]] = {}
    for unit in lake_units(LakeReader(folder / "lake")):
        results = replay_unit(unit, judging().analyzer, judging().settings, "UTC")
        found |= {name: result.findings for name, result in results.items()}
    return found


def replayed(
    folder: Path, entries: Iterable[AttemptEntry], samples: Iterable[Sample] = ()
) -> dict[str, list[Advice]]:
    """What is advised."""
    found = findings(folder, entries, samples)
    return {name: [one.advice for one in known] for name, known in found.items()}


def hangs(found: dict[str, list[Advice]]) -> dict[str, int]:
    """Seconds after the start at which an attempt was first called hung, by its job's number."""
    return {
        name[4]: (one.created_at - START) // SECOND
        for name, advice in found.items()
        for one in reversed(advice)
        if one.kind is Kind.HANG
    }


def test_metrics_show_a_hang_that_the_log_alone_does_not_show_yet(tmp_path: Path) -> None:
    found = replayed(tmp_path, [hung(tmp_path)], scraped())
    [called] = hangs(found).values()
    assert STEPS + 90 <= called <= STEPS + 105


def test_without_metrics_of_its_own_nodes_all_is_as_without_any(tmp_path: Path) -> None:
    results = []
    for name, samples in (
        ("none", []),
        ("others", list(measured(("gpu-b01",), START, 450, lambda _: WAITING))),
        ("late", scraped(start=START + 3600 * SECOND)),
        ("nameless", [replace(one, node=None) for one in scraped()]),
    ):
        folder = tmp_path / name
        folder.mkdir()
        results.append(replayed(folder, [hung(folder)], samples))
    [[suspected]] = results[0].values()
    assert suspected.rule == SUSPECTED_HANG_RULE
    assert all(one == results[0] for one in results)


def test_a_node_is_known_by_its_other_names_and_in_the_only_cluster(tmp_path: Path) -> None:
    samples = [replace(one, node=f"{(one.node or '').upper()}.lab.example") for one in scraped()]
    nameless = [replace(one, cluster="local") for one in samples]
    assert hangs(replayed(tmp_path, [hung(tmp_path)], nameless)) != {}


def test_of_several_clusters_each_has_its_own_nodes(tmp_path: Path) -> None:
    there = replace(hung(tmp_path, 8), attempt=f"far/8@{START // SECOND}.0")
    found = replayed(tmp_path, [hung(tmp_path), there], scraped())
    assert list(hangs(found)) == ["7"]


@pytest.mark.parametrize(
    ("begin", "end", "is_alone"),
    [(-50, 440, False), (100, 550, False), (-50, 150, True), (440, 900, True)],
)
def test_while_a_job_of_another_run_is_on_a_node_it_says_nothing(
    tmp_path: Path, begin: int, end: int, *, is_alone: bool
) -> None:
    """Alone again for long enough before the silence, or until after it, it does."""
    times = {"start": START + begin * SECOND, "end": START + end * SECOND}
    other = hung(tmp_path, 8, nodes=NODES[:1], **times)
    found = hangs(replayed(tmp_path, [hung(tmp_path), other], scraped()))
    assert ("7" in found) == is_alone


def test_a_hot_node_of_a_slow_job_is_found_in_a_lake(tmp_path: Path) -> None:
    """Steps of 5 s, which take a fifth longer from step 1,100 on."""
    nodes, lines, second = ("gpu-a01", "gpu-a02", "gpu-a03"), [], 0.0
    for step in range(1140):
        milliseconds = (6000 if step >= 1100 else 5000) + 13 * (step * 7 % 11)
        second += milliseconds / 1000
        lines.append(f"[{clock(second)}] iter {step}: loss 3.9, time {milliseconds}.00ms")
    log, end = logged(tmp_path, "7.out", lines), START + int(second) * SECOND
    slow = entry(files=(log,), state="CANCELLED", nodes=nodes, start=START, end=end)
    clocks = [
        Sample(
            source="prometheus",
            cluster="lab",
            event_time=time * SECOND,
            metric=metric,
            value=value,
            node=node,
            gpu=str(gpu),
        )
        for time in range(START // SECOND + 5000, end // SECOND, 15)
        for node in nodes
        for gpu in range(4)
        for metric, value in (
            ("gpu_sm_clock_hertz", 1.2e9 if node == "gpu-a02" else 1.98e9),
            ("gpu_throttle_reasons_bits", 64.0 if node == "gpu-a02" else 0.0),
        )
    ]
    for name, samples, cause in (("with", clocks, "thermal"), ("none", [], "sustained_slowdown")):
        folder = tmp_path / name
        folder.mkdir()
        (folder / "7.out").write_bytes((tmp_path / "7.out").read_bytes())
        [[found]] = findings(folder, [slow], samples).values()
        assert (found.advice.kind, found.advice.cause) == (Kind.STRAGGLER, cause)
        assert found.verdict is not None
        assert found.verdict.culprit.node == ("gpu-a02" if samples else None)
        assert ("1.2e+09 against 1.98e+09 of 8 peers" in found.verdict.why[-1]) == bool(samples)


stretches = st.lists(
    st.tuples(st.sampled_from([1, 20, 45, 100, 400]), st.sampled_from([WORKING, WAITING])),
    min_size=1,
    max_size=6,
)
pauses = st.lists(st.sampled_from([1] * 9 + [31, 61, 120, 302]), min_size=5, max_size=30)


@settings(max_examples=25)
@given(pauses, stretches, st.integers(0, 14), st.integers(0, 600))
def test_fewer_ticks_change_nothing_with_metrics_either(
    tmp_path_factory: pytest.TempPathFactory,
    pauses: list[int],
    doing: list[tuple[int, dict[str, float]]],
    shift: int,
    silence: int,
) -> None:
    folder, second, lines = tmp_path_factory.mktemp("ticks"), 0, []
    for n, pause in enumerate(pauses):
        second += pause
        lines.append(f"[{clock(second)}] iter {n}: loss 3.9, time 1000.00ms")
    course = [now for seconds, now in doing for _ in range(seconds)]
    log = logged(folder, "7.out", lines)
    end = START + (second + silence) * SECOND
    recorded(folder, entry(files=(log,), nodes=NODES, start=START, end=end, state="CANCELLED"))
    begin = START + shift * SECOND + 400_000
    samples = list(measured(NODES, begin, len(course), course.__getitem__))
    [unit] = dataset_units(read_dataset(folder))
    unit = replace(unit, samples=lambda _: iter(samples))
    expected = advice_of(unit, Eager)
    assert advice_of(unit, Judge) == expected
    together = 1 + silence % 90
    parts = [batch_of(samples[n : n + together]) for n in range(0, len(samples), together)]
    unit = replace(unit, samples=lambda _: iter(parts))
    assert advice_of(unit, Judge) == expected


def test_a_backtest_of_a_lake_with_metrics_from_end_to_end(tmp_path: Path) -> None:
    """One job hangs, and its nodes show it. One evaluates for 20 minutes, and its nodes show it."""
    data, lake, answer = tmp_path / "data", tmp_path / "lake", tmp_path / "answer.json"
    data.mkdir()
    later = [
        f"[{clock(1400 + n)}] iter {STEPS + n}: loss 3.9, time 1000.00ms" for n in range(1, 61)
    ]
    log = logged(data, "8.out", [*steps(STEPS), *later, "Training complete."])
    evaluates = entry(
        8,
        files=(log,),
        state="COMPLETED",
        exit_code=0,
        nodes=("gpu-b01",),
        start=START,
        end=START + 1470 * SECOND,
    )
    recorded(data, hung(data), evaluates)
    runner = CliRunner()

    def called_hung(*sources: Path) -> set[str]:
        command = ["lake", "import", *map(str, sources), "--lake", str(lake)]
        imported = runner.invoke(app, command)
        assert imported.exit_code == 0, imported.output
        out = tmp_path / f"out-{len(sources)}"
        tested = runner.invoke(app, ["backtest", str(lake), "--out", str(out), "--json"])
        assert tested.exit_code == 0, tested.output
        units = [json.loads(line) for line in (out / "results.jsonl").read_text().splitlines()]
        return {
            attempt["attempt"][4]
            for unit in units
            for attempt in unit["attempts"]
            for one in attempt["advice"]
            if one["advice"]["kind"] == "hang"
        }

    assert called_hung(data) == {"8"}  # by its log alone it looks like one, and 7 doesn't yet
    busy = measured(("gpu-b01",), START, 1470, lambda _: WORKING)
    answer.write_text(answer_of([*scraped(), *busy]))
    assert called_hung(data, answer) == {"7"}
