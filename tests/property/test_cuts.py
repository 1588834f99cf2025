"""How a log is cut into blocks, and when a verdict is asked for, changes nothing (DESIGN 4)."""

from __future__ import annotations

import itertools

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from attempts import DONE, RUN, XID, kernel, later, steps
from relume.ingest.blocks import Block, BlockAssembler
from relume.ingest.loglines import LineParser
from relume.serve.offline import Analyzer
from relume.verdict import Verdict
from stories import STORIES

ANALYZER = Analyzer()
NO_YEAR = ["Mar  2 03:00:00 begins", *RUN[:20], "Mar  2 09:00:00 ends", "Mar  2 09:10:00 is over"]
RAISED = [
    *steps(30),
    "[rank4]: Traceback (most recent call last):",
    "[rank5]: Traceback (most recent call last):",
    '[rank4]:   File "/app/data.py", line 3, in read',
    '[rank5]:   File "/app/data.py", line 3, in read',
    "[rank5]: mypkg.errors.ShardMissing: shard 18 is missing",
    "[rank0]: waiting for the next batch",
    "[rank4]: mypkg.errors.ShardMissing: shard 17 is missing",
    "[rank0]: RuntimeError: NCCL communicator was aborted on rank 0.",
]
LOGS = {
    "done": DONE,
    "silent": [*RUN[:50], *later("the job is alive")],
    "busy": [*RUN[:50], *later("uploading part {n} of 400")],
    "undated steps": [line[20:] for line in RUN[:50]] + later("the job is alive", 50),
    "goes on": [*later("shard {n} is done", 30), "FATAL: broken", *later("shard 3{n} is done", 50)],
    "raised": RAISED,
    "no year": NO_YEAR,
    "redrawn": ["".join(f"\r{n}%|#| {n}/100 [00:{n % 60:02d}<09:00]" for n in range(40)), *RUN[:9]],
    "blank lines": [*RUN[:5], *[""] * 2000, "RuntimeError: it ends", *[" "] * 1200],
    "long lines": [*RUN[:5], *["x" * 9000 + f" 2026-03-02 03:00:{n:02d}" for n in range(30)]],
    **{name: story.log.strip("\n").split("\n") for name, story in STORIES.items()},
}


def blocks(lines: list[str], cuts: list[int], file: str) -> list[Block]:
    """Return the lines as blocks that begin at the lines `cuts`, as a tail delivers them."""
    made: list[Block] = []
    raw = [(line + "\n").encode() for line in lines]
    edges = sorted({0, len(lines), *(cut for cut in cuts if cut < len(lines))})
    for begin, end in itertools.pairwise(edges):
        offset = sum(map(len, raw[:begin]))
        data = b"".join(raw[begin:end])
        made.append(Block(data, file, begin, raw_offset=offset, line_offset=offset))
    return made


def verdict_of(
    lines: list[str], cuts: list[int], asked: list[int], *, stream: str = "stdout"
) -> Verdict:
    """Feed the blocks, and ask for a verdict after those whose numbers are in `asked`."""
    file = "syslog-gpu-a07.log" if stream == "kernel" else "job.log"
    analysis, parser = ANALYZER.begin("attempt", []), LineParser(file, stream=stream)
    for number, block in enumerate(blocks(lines, cuts, file)):
        analysis.feed(block, parser)
        if number in asked:
            analysis.verdict()
    return analysis.verdict()


WHOLE = {name: verdict_of(lines, [], []) for name, lines in LOGS.items()}
CUTS = st.lists(st.integers(1, 400), max_size=30)


@given(st.sampled_from(sorted(LOGS)), CUTS, st.lists(st.integers(0, 30), max_size=6))
def test_cuts_and_questions_change_nothing(name: str, cuts: list[int], asked: list[int]) -> None:
    assert verdict_of(LOGS[name], cuts, asked) == WHOLE[name]


@pytest.mark.parametrize("name", sorted(LOGS))
def test_line_by_line_with_a_question_after_each_is_the_same(name: str) -> None:
    every = list(range(1, len(LOGS[name])))
    assert verdict_of(LOGS[name], every, every[:: max(1, len(every) // 50)]) == WHOLE[name]


@pytest.mark.parametrize("name", ["done", "raised", "silent", "blank lines", "redrawn"])
@pytest.mark.parametrize("block_bytes", [64, 1000, 4096])
def test_blocks_of_any_size_say_the_same(name: str, block_bytes: int) -> None:
    analysis, parser = ANALYZER.begin("attempt", []), LineParser("job.log")
    assembler = BlockAssembler("job.log", block_bytes=block_bytes)
    raw = "".join(line + "\n" for line in LOGS[name]).encode()
    for block in [*assembler.feed(raw), *assembler.finish()]:
        analysis.feed(block, parser)
    assert analysis.verdict() == WHOLE[name]


@settings(max_examples=30)
@given(CUTS, CUTS, st.randoms(use_true_random=False))
def test_two_logs_that_grow_side_by_side_say_what_they_say_one_after_the_other(
    job_cuts: list[int], kernel_cuts: list[int], rng: object
) -> None:
    job, system = LineParser("job.log"), LineParser("syslog-gpu-a07.log", stream="kernel")
    lines = {"job.log": RUN, "syslog-gpu-a07.log": kernel("03:13:21", XID)}
    queues = [
        [(block, job) for block in blocks(RUN, job_cuts, "job.log")],
        [(b, system) for b in blocks(lines[system.file], kernel_cuts, system.file)],
    ]
    apart, together = (ANALYZER.begin("attempt", list(lines)) for _ in range(2))
    for block, parser in itertools.chain(*queues):
        apart.feed(block, parser)
    while any(queues):
        queue = rng.choice([queue for queue in queues if queue])  # type: ignore[attr-defined]
        together.feed(*queue.pop(0))
        together.verdict()
    assert together.verdict() == apart.verdict()
    assert apart.verdict().exclude_nodes == ("gpu-a07",)


def test_asking_again_judges_nothing_anew() -> None:
    analysis, parser = ANALYZER.begin("attempt", []), LineParser("job.log")
    for block in blocks(RUN, [200], "job.log"):
        analysis.feed(block, parser)
        first = analysis.verdict()
        assert analysis.verdict() is first
