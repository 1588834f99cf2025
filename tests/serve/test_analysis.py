"""The runner gives one verdict whatever the blocks, the engine or the order of what doesn't matter."""

from __future__ import annotations

import itertools
import random
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from relume.ingest.attempts import find_attempts
from relume.ingest.blocks import BlockAssembler
from relume.ingest.loglines import LineParser
from relume.serve.offline import Analyzer
from relume.verdict import Kind, Verdict

STEPS = [f"iter {n}: loss 3.91, time 41{n % 10}.00ms, mfu 31.20%" for n in range(400)]
TIMEOUT = (
    "[rank0]:[E302 10:00:00.1 ProcessGroupNCCL.cpp:632] [Rank 0] Watchdog caught collective "
    "operation timeout: WorkNCCL(SeqNum=5, OpType=ALLREDUCE, NumelIn=1, NumelOut=1, "
    "Timeout(ms)=600000) ran for 600001 milliseconds before timing out."
)
FAILURE = [
    "[rank2]: Traceback (most recent call last):",
    '[rank2]:   File "/app/train.py", line 4, in main',
    "[rank2]: RuntimeError: CUDA error: an illegal memory access was encountered",
    TIMEOUT,
]
LOG = ("\n".join([*STEPS, *FAILURE]) + "\n").encode()


@pytest.fixture(scope="module")
def analyzer() -> Analyzer:
    return Analyzer()


ANALYZER = Analyzer()


def diagnose_cut(cuts: list[int], block_bytes: int) -> Verdict:
    """Feed `LOG` in pieces cut at `cuts`."""
    analysis = ANALYZER.begin("attempt", ["job.log"])
    parser, assembler = LineParser("job.log"), BlockAssembler("job.log", block_bytes=block_bytes)
    edges = [0, *sorted(cuts), len(LOG)]
    pieces = [LOG[a:b] for a, b in itertools.pairwise(edges)]
    blocks = [block for piece in pieces for block in assembler.feed(piece)]
    for block in [*blocks, *assembler.finish()]:
        analysis.feed(block, parser)
    return analysis.verdict()


WHOLE = diagnose_cut([], 1 << 20)


def test_the_whole_log_gives_the_expected_verdict() -> None:
    assert (WHOLE.kind, WHOLE.root_line, WHOLE.culprit.rank) == (Kind.CRASH, 402, 2)


@given(
    st.lists(st.integers(0, len(LOG)), max_size=8),
    st.sampled_from([1 << 10, 5_000, 1 << 14, 1 << 20]),
)
def test_cuts_do_not_change_the_verdict(cuts: list[int], block_bytes: int) -> None:
    assert diagnose_cut(cuts, block_bytes) == WHOLE


@given(st.randoms(use_true_random=False))
def test_noise_between_the_lines_does_not_change_what_is_said(rng: random.Random) -> None:
    noise = ["", "INFO all is well", "timeout=1800 error_rate=0.1", "Traceback is off", "x" * 2000]
    lines = [line for step in STEPS[:60] for line in (step, rng.choice(noise))]
    moved = ANALYZER.diagnose_lines("attempt", [*lines, *FAILURE])
    assert (moved.kind, moved.cause, moved.culprit) == (WHOLE.kind, WHOLE.cause, WHOLE.culprit)
    assert moved.root_line == len(lines) + 2


def test_a_verdict_can_be_asked_in_between(analyzer: Analyzer) -> None:
    analysis, parser = analyzer.begin("attempt", ["job.log"]), LineParser("job.log")
    assembler = BlockAssembler("job.log", block_bytes=4096)
    kinds = []
    for block in [*assembler.feed(LOG), *assembler.finish()]:
        analysis.feed(block, parser)
        kinds.append(analysis.verdict().kind)
    assert kinds[0] is Kind.BENIGN
    assert kinds[-1] is Kind.CRASH


def test_rank_files_are_read_side_by_side(analyzer: Analyzer, tmp_path: Path) -> None:
    for rank in range(4):
        extra = FAILURE[:3] if rank == 2 else []
        text = "\n".join([*STEPS[:50], *(line.removeprefix("[rank2]: ") for line in extra)])
        (tmp_path / f"rank_{rank}.log").write_text(text + "\n")
    [attempt] = find_attempts([tmp_path])
    verdict = analyzer.diagnose(attempt).verdict
    assert (verdict.kind, verdict.culprit.rank) == (Kind.CRASH, 2)
    assert Path(verdict.root_file or "").name == "rank_2.log"


def test_lines_of_ten_megabytes_and_broken_utf8_are_read(
    analyzer: Analyzer, tmp_path: Path
) -> None:
    path = tmp_path / "a.log"
    long_line = b"[rank1]: " + b"x" * 10_000_000 + b" and no end\n"
    path.write_bytes(long_line + b"\xff\xfe broken \xc3\n" + FAILURE[2].encode() + b"\n")
    result = analyzer.diagnose(find_attempts([path])[0])
    assert (result.verdict.kind, result.verdict.root_line) == (Kind.CRASH, 2)
    assert result.skipped.as_dict()["long_line_split"] == 1
