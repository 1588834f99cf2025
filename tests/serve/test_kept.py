"""What is kept of a log: its start, windows, what followed the last steps; and never much."""

from __future__ import annotations

import itertools

from hypothesis import given
from hypothesis import strategies as st

from relume.ingest.blocks import Block
from relume.serve.kept import MAX_TEXT, KeptBounds, KeptLines, Span


def fed(
    lines: list[str], cuts: list[int], file: str = "log", into: KeptLines | None = None
) -> KeptLines:
    """Feed the lines in blocks that begin at the lines `cuts`; a line ``step …`` shows a step."""
    found = into or KeptLines()
    raws = [f"{line}\n".encode() for line in lines]
    edges = sorted({0, len(lines), *(cut for cut in cuts if cut < len(lines))})
    for begin, end in itertools.pairwise(edges):
        offset = sum(map(len, raws[:begin]))
        block = Block(b"".join(raws[begin:end]), file, begin, raw_offset=offset, line_offset=offset)
        steps: list[Span] = []
        start = 0
        for raw in raws[begin:end]:
            if raw.startswith(b"step "):
                steps.append((start, start + len(raw) - 1))
            start += len(raw)
        found.add(block, steps)
    return found


def everything(found: KeptLines) -> object:
    return found.late("log"), found.head("log"), list(found.earlier("log", 10))


def test_what_follows_the_third_last_step_is_late_and_what_was_before_is_earlier() -> None:
    lines = ["begin", "step 1", "saved a", "step 2", "saved b", "step 3", "step 4", "lost", "gone"]
    found = fed(lines, [])
    assert found.late("log") == [(4, b"saved b"), (7, b"lost"), (8, b"gone")]
    assert list(found.earlier("log", 0)) == [b"begin", b"step 1", b"saved a", b"step 2"]


def test_a_log_that_ends_with_its_steps_has_nothing_late() -> None:
    found = fed(["begin", "step 1", "step 2", "step 3"], [])
    assert found.late("log") == []


def test_without_steps_what_is_earlier_is_before_the_end() -> None:
    found = fed(["begin", "waiting", "lost"], [])
    assert found.late("log") is None
    assert found.head("log") == [(0, b"begin"), (1, b"waiting"), (2, b"lost")]
    assert list(found.earlier("log", len("lost\n"))) == [b"begin", b"waiting"]


BOUNDS = KeptBounds()
LINES = st.lists(st.sampled_from(["step 1", "saved", "x" * 90, "", "lost 7"]), max_size=120)


SMALL = KeptBounds(
    head_bytes=150, window_bytes=60, window_stride=300, max_windows=3, late_bytes=100
)


@given(LINES, st.lists(st.integers(1, 120), max_size=12), st.lists(st.integers(1, 120), max_size=3))
def test_how_a_log_is_cut_changes_nothing(
    lines: list[str], cuts: list[int], others: list[int]
) -> None:
    found = [everything(fed(lines, edges, into=KeptLines(SMALL))) for edges in (cuts, others)]
    assert found[0] == found[1]


def test_windows_lie_over_the_whole_log_however_long_it_is() -> None:
    found = KeptLines()
    for number in range(40):
        offset = number << 20
        data = b"".join(
            b"%08d%s\n" % (at, b"y" * 119) for at in range(offset, offset + (1 << 20), 128)
        )
        block = Block(data, "log", number << 13, raw_offset=offset, line_offset=offset)
        found.add(block, [])
    sampled = list(found.sampled())
    megabytes = {int(one[:8]) >> 20 for one in sampled}
    assert {0, 8, 16, 24, 32} <= megabytes
    assert sum(map(len, sampled)) <= BOUNDS.head_bytes + BOUNDS.max_windows * BOUNDS.window_bytes


def test_only_the_first_logs_are_kept() -> None:
    found = KeptLines()
    for number in range(BOUNDS.max_logs + 3):
        fed(["one"], [], f"log-{number}", found)
    assert found.head("log-0") == [(0, b"one")]
    assert found.head(f"log-{BOUNDS.max_logs}") == []
    assert list(found.earlier(f"log-{BOUNDS.max_logs}", 0)) == []


def test_one_endless_line_leaves_little() -> None:
    found = KeptLines()
    for number in range(8):
        block = Block(b"x" * (1 << 20), "log", 0, raw_offset=number << 20, line_offset=0)
        found.add(block, [])
    assert (
        sum(len(one) for one in found.sampled())
        <= BOUNDS.head_bytes + BOUNDS.max_windows * MAX_TEXT
    )
