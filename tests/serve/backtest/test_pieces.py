from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from relume.clock import MICROSECONDS_PER_SECOND
from relume.ingest.blocks import Block, BlockAssembler, blocks_of_lines
from relume.ingest.loglines import LineParser
from relume.serve.backtest import pieces as module
from relume.serve.backtest.pieces import LineClock, timed_pieces

BASE = 1_772_582_400
"""2026-03-04, midnight."""
FORMS = (
    "[{date} {time},{ms:03d}] [INFO] step {n}",
    "{date}T{time}.{ms:03d}Z step {n}",
    "{date} {time} step {n}",
    "3: [{date} {time}] step {n}",
    "step {n}",
    "Mar 04 {time} gpu-a01 kernel: line {n}",
)


def line(form: str, second: int, n: int) -> str:
    hours, rest = divmod(second, 3600)
    time = f"{hours:02d}:{rest // 60:02d}:{rest % 60:02d}"
    return form.format(date="2026-03-04", time=time, ms=n % 1000, n=n)


lines = st.lists(
    st.tuples(st.sampled_from(FORMS), st.integers(0, 86_399)).map(lambda made: made), max_size=40
).map(lambda made: [line(form, second, n) for n, (form, second) in enumerate(made)])


def cut(text: list[str], size: int) -> list[Block]:
    assembler = BlockAssembler("log", block_bytes=size)
    raw = "".join(f"{one}\n" for one in text).encode()
    return [*assembler.feed(raw), *assembler.finish()]


def times(blocks: list[Block]) -> list[tuple[int | None, str]]:
    """Each line with its second."""
    parser = LineParser("log", near=1_772_607_600 * MICROSECONDS_PER_SECOND)
    return [
        (piece.second, text)
        for piece in timed_pieces(blocks, LineClock(parser))
        if piece.block is not None
        for text in piece.block.data.decode().splitlines()
    ]


@given(lines)
def test_every_line_comes_once_in_order_and_time_never_goes_back(text: list[str]) -> None:
    found = times(cut(text, 1 << 20))
    assert [one for _, one in found] == text
    seconds = [second for second, _ in found]
    timed = [second for second in seconds if second is not None]
    assert seconds == [*timed, *[None] * (len(seconds) - len(timed))]
    assert timed == sorted(timed)


@given(lines)
def test_a_remembered_clock_is_the_clock_that_a_line_has(text: list[str]) -> None:
    """The short cut over clocks at one place gives what parsing each line gives."""
    near = 1_772_607_600 * MICROSECONDS_PER_SECOND
    quick, slow = LineClock(LineParser("log", near=near)), LineParser("log", near=near)
    for one in text:
        found = slow.clock(one)
        assert quick.second(one.encode()) == (found and found[1] // MICROSECONDS_PER_SECOND)


@given(lines, st.integers(64, 2000))
def test_blocks_don_t_matter_once_a_clock_was_seen(text: list[str], size: int) -> None:
    text = [line(FORMS[0], 0, 999), *text]
    assert times(cut(text, size)) == times(cut(text, 1 << 20))


def test_lines_of_one_second_are_one_piece() -> None:
    text = [line(FORMS[0], second, n) for second in (5, 5, 6, 9) for n in range(2)]
    pieces = list(timed_pieces(blocks_of_lines(text, "log"), LineClock(LineParser("log"))))
    assert [piece.second for piece in pieces] == [BASE + 5, BASE + 6, BASE + 9]
    blocks = [piece.block for piece in pieces]
    assert [block and block.line_at(0) for block in blocks] == [0, 4, 6]


@pytest.mark.parametrize("size", [1 << 20, 200])
def test_lines_far_behind_a_clock_come_with_the_next_one(size: int) -> None:
    bars = [f"{n}%|####| {n}/100" for n in range(40)]
    clocked = [line(FORMS[0], second, 0) for second in (5, 905, 906)]
    text = [clocked[0], *bars, clocked[1], *bars[:5], clocked[2], *bars[:15]]
    found = times(cut(text, size))
    assert [one for _, one in found] == text
    seconds = [second and second - BASE for second, _ in found]
    assert seconds == [5] * 11 + [905] * 36 + [906] * 11 + [None] * 5


def test_between_a_clock_and_lines_far_behind_it_is_no_silence() -> None:
    bars = [f"{n}%|####| {n}/100" for n in range(40)]
    text = [line(FORMS[0], 5, 0), *bars, line(FORMS[0], 905, 0)]
    pieces = timed_pieces(cut(text, 1 << 20), LineClock(LineParser("log")))
    told = [(piece.second, piece.block is None) for piece in pieces]
    assert told == [(BASE + 5, False), (BASE + 5, True), (BASE + 905, False), (BASE + 905, False)]


def test_what_each_rank_adds_to_a_step_is_of_its_time() -> None:
    text = []
    for second in (5, 7, 9, 909):
        text += [line(FORMS[0], second, 0), *(f"rank {n} memory 3 GiB" for n in range(64))]
    seconds = [second and second - BASE for second, _ in times(cut(text, 1 << 20))]
    assert seconds == [5] * 11 + [7] * (54 + 65) + [9] * 65 + [909] * 65


def test_lines_before_the_first_clock_have_its_time() -> None:
    text = ["banner", "more", line(FORMS[2], 7, 0)]
    assert {second for second, _ in times(blocks_of_lines(text, "log"))} == {1_772_582_407}


def test_a_log_without_clocks_has_none() -> None:
    assert times(cut(["a", "b", line(FORMS[2], 7, 0)], 2))[0][0] is None
    assert times(cut(["a", "b"], 1 << 20)) == [(None, "a"), (None, "b")]


WORDS = st.sampled_from(["", "x", "step 1", "é", "ab\rcd", "2026-03-04", "12:00:00", "\x00"])
REPEATED = st.lists(
    st.tuples(
        st.sampled_from([*FORMS, "{n}"]),
        st.sampled_from([5, 6, 6, 7, 400, 80_000]),
        st.integers(1, 14),
        WORDS,
    ),
    max_size=25,
).map(
    lambda made: [
        line(form, second, 7) + words if n % 9 != 8 else words
        for form, second, count, words in made
        for n in range(count)
    ]
)


@given(REPEATED, st.integers(60, 3000), st.booleans())
def test_lines_that_repeat_a_clock_are_passed_together(
    text: list[str],
    size: int,
    ends: bool,  # noqa: FBT001
) -> None:
    raw = "\n".join(text).encode() + (b"\n" if ends else b"")
    found = []
    for worth in (1, 10**9):
        with pytest.MonkeyPatch.context() as patch:
            patch.setattr(module, "_WORTH_A_TABLE", worth)
            assembler = BlockAssembler("log", block_bytes=size)
            blocks = [*assembler.feed(raw), *assembler.finish()]
            pieces = timed_pieces(blocks, LineClock(LineParser("log")))
            found.append(
                [
                    (one.second, one.is_vague, one.block and (one.block.data, one.block.line_at(0)))
                    for one in pieces
                ]
            )
    assert found[0] == found[1]
