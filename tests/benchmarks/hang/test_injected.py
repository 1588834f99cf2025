"""Bench `hang` on runs made by hand: where they are cut, what is said, what counts as early."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import pytest

from relume.benchmarks.hang.bench import LEARNED_SECONDS, run
from relume.benchmarks.hang.injected import Injections
from relume.benchmarks.hang.play import Play, play
from relume.benchmarks.hang.recordings import Run, families, load
from relume.clock import to_iso
from relume.ingest.blocks import Block
from relume.serve.live.watch import WatchSettings
from relume.serve.offline import Analyzer

ANALYZER = Analyzer()
GAP = 6


def log(steps: int, gap: int = GAP) -> str:
    """A log of the corpus' form: a step every `gap` seconds, after a start of half a minute."""
    lines = []
    for step in range(steps):
        time = to_iso((1_772_400_000 + 30 + gap * step) * 1_000_000)[:19].replace("T", " ")
        lines.append(f"[{time}] iter {step}: loss 3.9, time 1000.00ms")
    first = to_iso(1_772_400_000 * 1_000_000)[:19].replace("T", " ")
    return "\n".join([f"[{first}] building", *lines, ""])


@pytest.fixture
def data(tmp_path: Path) -> Path:
    for number, steps in enumerate((40, 42, 44)):
        path = (
            tmp_path / "mlperf-training-v2.1" / "site" / "x_n4_y" / "bert" / f"result_{number}.txt"
        )
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(log(steps), encoding="utf-8")
    (path.parent / "result_3.txt").write_text(log(5), encoding="utf-8")
    return tmp_path


@pytest.fixture
def injections(data: Path) -> Injections:
    return Injections(load(data, ANALYZER)[0], ANALYZER, WatchSettings())


def test_runs_are_read_second_by_second_and_short_ones_left_out(data: Path) -> None:
    runs, _, left_out = load(data, ANALYZER)
    assert left_out == {"too few steps": 1}
    assert [len(one.steps) for one in runs] == [40, 42, 44]
    assert {one.gap_seconds for one in runs} == {GAP}
    assert {one.nodes for one in runs} == {4}
    assert [len(members) for members in families(runs).values()] == [3]


def test_what_is_known_from_the_family_is_found_in_ninety_seconds(injections: Injections) -> None:
    for one in injections.known(1):
        assert one.acted is not None
        assert 0 < one.acted - max(90.0, 1.5 * one.longest_seconds) <= 2
        assert not one.early
    for one in injections.cold(1):
        assert one.acted is not None
        assert one.acted > 300


def test_a_second_signal_is_enough(injections: Injections) -> None:
    for one in injections.signed(1):
        assert one.acted is not None
        assert one.acted <= max(one.sign_seconds or 0.0, 90.0, 3.1 * one.gap_seconds) + 10


def test_metrics_that_agree_are_enough(injections: Injections) -> None:
    known = [one for one in injections.with_metrics(1) if one.trained_seconds >= LEARNED_SECONDS]
    assert known
    for one in known:
        assert one.acted is not None
        assert 85 <= one.acted <= max(90.0, 3.0 * one.gap_seconds) + 15
        assert not one.early


def test_pauses_that_were_seen_and_logs_that_are_not_read_are_no_hangs(
    injections: Injections,
) -> None:
    pauses = injections.pauses()
    assert (pauses.seen, pauses.acted) == (3 * 2 + 3 * 3, 0)
    assert injections.unread() == 0


def test_a_start_up_that_never_ends_is_suspected(injections: Injections) -> None:
    assert [one.suspected for one in injections.startups()] == [301.0] * 3


def test_a_cut_run_is_silent_after_its_cut(data: Path) -> None:
    whole = Play(run=load(data, ANALYZER)[0][0], speed=2.0)
    cut = replace(whole, cut=9, silent_seconds=50.0)
    assert len(list(cut.blocks())) < len(list(whole.blocks()))
    assert cut.gaps() == [2 * GAP] * 9
    assert cut.end - cut.onset == 51
    paused = replace(whole, pauses=((3, 100.0),))
    assert paused.gaps()[3] == 2 * GAP + 100
    assert paused.gaps()[:3] == whole.gaps()[:3]


def test_what_is_claimed_before_the_cut_counts() -> None:
    block = Block(b"iter 1: loss 3.9, time 1.00ms\n", "log", 0, raw_offset=0, line_offset=0)
    blocks = tuple((second, block) for second in (10, 20, 4000))
    made = Run(family="f", name="r", nodes=1, blocks=blocks, steps=(0, 1), phases=(None, None))
    played = play(Play(run=made), ANALYZER, WatchSettings())
    assert played.acted[0] < 4000
    assert played.left is not None
    assert played.left.nodes == 1


def test_the_bench_shows_new_and_known_attempts_apart(data: Path) -> None:
    result = run(data, quick=True)
    assert result.passed, result.measures
    assert result.measures["cold_p50_seconds"] != result.measures["known_p50_seconds"]
    assert result.corpus["hangs"] == 2 * 18 + 18 + 3
