"""Step lines that are read together say the same as step lines that are read one by one."""

# ruff: noqa: SLF001 - all that is kept is compared, not only what is said of it

from __future__ import annotations

import random
from collections.abc import Callable, Iterator
from dataclasses import astuple, fields
from datetime import UTC, datetime, timedelta
from itertools import islice

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from relume.benchmarks.demo import frameworks
from relume.benchmarks.demo.world import make_world
from relume.features.progress.series import Series
from relume.features.progress.tracker import ProgressTracker
from relume.ingest.blocks import BlockAssembler
from relume.ingest.loglines import LineParser
from relume.serve.analysis import AttemptAnalysis
from relume.serve.offline import Analyzer
from relume.serve.steps import finder

ANALYZER = Analyzer()
LEARN_FROM = 40
NEVER = 1 << 60
LINES = 1_500
_NOISE = (
    "saving checkpoint to /checkpoints/run",
    "evaluating on the validation set",
    "restoring from the last checkpoint",
    "[rank3]: RuntimeError: CUDA error: an illegal memory access was encountered",
    "gpu-004: [3] NCCL WARN NET/IB : got completion from peer with status=12",
    "a line of no meaning with 17 numbers: 1 2 3",
)


def megatron(draw: random.Random, clock: datetime, step: int, loss: float) -> str:
    skipped = int(draw.random() < 0.01)
    return (
        f" [{clock:%Y-%m-%d %H:%M:%S.%f}] iteration {step:8d}/  500000 | consumed samples: "
        f"{step * 512:12d} | elapsed time per iteration (ms): {draw.uniform(500, 1500):.1f} | "
        f"learning rate: {draw.random():.3E} | global batch size:   512 | lm loss: {loss:.6E} | "
        f"loss scale: {draw.choice((1.0, 1.0, 0.5))} | grad norm: {draw.random():.3f} | "
        f"number of skipped iterations: {skipped:3d} | number of nan iterations:   0 |"
    )


def plain(draw: random.Random, clock: datetime, step: int, loss: float) -> str:
    rank = draw.randrange(3)
    return (
        f"[rank{rank}]: {clock:%Y-%m-%d %H:%M:%S,%f} step {step} | loss {loss:.4f} | "
        f"lr 1.0e-04 | time {draw.random():.3f}s"
    )


def yearless(draw: random.Random, clock: datetime, step: int, loss: float) -> str:
    return f"{clock:%b %d %H:%M:%S} node{draw.randrange(2)} step: {step}, loss: {loss - 2.9:.3f}"


def bar(draw: random.Random, clock: datetime, step: int, loss: float) -> str:
    del clock
    taken = timedelta(seconds=int(step * 0.3))
    return f" {step // 50:3d}%|##  | {step}/5000 [{taken}<1:00:00, {draw.random():.2f}s/it, {loss}]"


Form = Callable[[random.Random, datetime, int, float], str]
FORMS: tuple[Form, ...] = (megatron, plain, yearless, bar)


def lines_of(form: Form, seed: int) -> Iterator[str]:
    """Steps over days, with beginnings anew, late lines, losses that jump, and other lines."""
    draw, clock, step, loss = random.Random(seed), datetime(2026, 3, 28, 20, tzinfo=UTC), 0, 3.0
    while True:
        clock += timedelta(seconds=draw.choice((1, 2, 30, 400)), microseconds=draw.randrange(10**6))
        step += draw.choice((0, 1, 1, 1, 5))
        step = draw.choice((0, step // 2)) if draw.random() < 0.002 else step
        loss = draw.choice((3.0, 60.0, float("nan"))) if draw.random() < 0.002 else loss
        if draw.random() < 0.01:
            yield draw.choice(_NOISE)
        behind = draw.random() < 0.01
        yield form(draw, clock, max(0, step - 3 * behind), loss * draw.uniform(1.0, 1.1))


def analysed(log: bytes, block_bytes: int, *, paced: bool) -> AttemptAnalysis:
    analysis, parser = ANALYZER.begin("attempt", ["job.log"]), LineParser("job.log")
    if paced:
        assert analysis.progress.step_times() == []  # from here on each step's own time is kept
    assembler = BlockAssembler("job.log", block_bytes=block_bytes)
    for block in [*assembler.feed(log), *assembler.finish()]:
        analysis.feed(block, parser)
    return analysis


def told(analysis: AttemptAnalysis) -> list[object]:
    """All that is kept of a job's steps."""
    progress, episode = analysis.progress, analysis._episode
    tracker = progress._tracker
    series = [*tracker.series(), *tracker.epochs()]
    kept = [[astuple(sample) for sample in one.kept.samples()] for one in series]
    of_tracker = _fields(tracker, "_series", "_epochs", "measured")
    of_series = [_fields(one, "kept") for one in series]
    of_episode = episode._advances, episode._begin_time, episode._end_time
    late = [analysis._kept.late("job.log"), progress.new_steps, progress.first_step]
    pace = [(printer, astuple(step)) for printer, step in progress.step_times()]
    said = [late, pace, progress.last_step, progress.framework, analysis.verdict()]
    return [of_tracker, of_series, kept, of_episode, *said]


def _fields(one: ProgressTracker | Series, *without: str) -> dict[str, object]:
    return {f.name: getattr(one, f.name) for f in fields(one) if f.name not in without}


def assert_same(
    monkeypatch: pytest.MonkeyPatch, log: bytes, block_bytes: int, *, paced: bool = False
) -> None:
    """Fail unless reading lines together tells the same, and lines were read together at all."""
    monkeypatch.setattr(finder, "LEARN_FROM", NEVER)
    one_by_one = told(analysed(log, block_bytes, paced=paced))
    monkeypatch.setattr(finder, "LEARN_FROM", LEARN_FROM)
    together = told(analysed(log, block_bytes, paced=paced))
    for expected, found in zip(one_by_one, together, strict=True):
        assert repr(found) == repr(expected)


@pytest.mark.parametrize("form", FORMS)
@settings(max_examples=4, deadline=None)
@given(seed=st.integers(0, 1 << 30), block_kib=st.integers(4, 64))
def test_steps_in_all_kinds_of_trouble(form: Form, seed: int, block_kib: int) -> None:
    log = "\n".join(islice(lines_of(form, seed), LINES)).encode()
    with pytest.MonkeyPatch.context() as monkeypatch:
        assert_same(monkeypatch, log, block_kib << 10)


@pytest.mark.parametrize("paced", [False, True])
@pytest.mark.parametrize("name", ["megatron", "deepspeed", "hf_trainer", "torchtitan", "mlperf"])
def test_steps_of_a_framework(name: str, paced: bool, monkeypatch: pytest.MonkeyPatch) -> None:  # noqa: FBT001
    lines = getattr(frameworks, name)(make_world(name), LINES)
    assert_same(monkeypatch, "\n".join(lines).encode(), 32 << 10, paced=paced)


def test_of_a_long_line_what_stands_far_out_counts_too(monkeypatch: pytest.MonkeyPatch) -> None:
    words = "some words of no meaning " * 90
    lines = (
        f"[2026-03-28 20:{step // 60 % 60:02}:{step % 60:02}] iteration {step:8d}/ 500000 | "
        f"{words} | lm loss: {3 + step / 1000:.4f} |"
        for step in range(1000, 2500)
    )
    assert_same(monkeypatch, "\n".join(lines).encode(), 512 << 10)


def test_most_lines_of_a_calm_log_are_read_together(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(finder, "LEARN_FROM", LEARN_FROM)
    lines = list(frameworks.megatron(make_world("calm"), 4 * LINES))
    seen: list[bytes] = []
    see = finder.StepFinder.see

    def count(self: finder.StepFinder, text: bytes, parser: LineParser) -> None:
        seen.append(text)
        see(self, text, parser)

    monkeypatch.setattr(finder.StepFinder, "see", count)
    analysis = analysed("\n".join(lines).encode(), 64 << 10, paced=False)
    assert analysis.progress.new_steps > 3 * LINES
    assert len(seen) < len(lines) // 4
