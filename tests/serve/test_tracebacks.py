"""The exception of a traceback is found wherever the log is cut."""

from __future__ import annotations

import pytest

from relume.ingest.blocks import Block, blocks_of_lines
from relume.ingest.loglines import LineParser
from relume.serve.tracebacks import MAX_LINES, RaisedFinder

HEAD = "[rank4]: Traceback (most recent call last):"
FRAMES = ['[rank4]:   File "/app/a.py", line 3, in f', "[rank0]: something else"]
LAST = "[rank4]: pkg.Gone: it is gone"
PARSER = LineParser("log")


def block_of(*lines: str) -> Block:
    [block] = blocks_of_lines(lines, "log")
    return block


def found(*blocks: Block) -> list[tuple[int, str]]:
    """Follow the traceback at the first line through the blocks."""
    finder, lines = RaisedFinder(), list[tuple[int, str]]()
    for number, block in enumerate(blocks):
        places = finder.resume(block, PARSER)
        if not number:
            places += finder.follow(block, len(HEAD) + 1, PARSER, PARSER.parse(HEAD, 0, 0))
        text = block.data.decode()
        assert {place.frame for place in places} <= {"/app/a.py:f"}
        lines += [(number, text[place.begin :].split("\n")[0]) for place in places]
    return lines


def test_it_is_found_in_the_same_block_and_in_later_ones() -> None:
    assert found(block_of(HEAD, *FRAMES, LAST)) == [(0, LAST)]
    assert found(block_of(HEAD), block_of(*FRAMES), block_of(LAST)) == [(2, LAST)]


def test_it_ends_once() -> None:
    assert found(block_of(HEAD, *FRAMES, LAST), block_of(LAST)) == [(0, LAST)]


def test_a_traceback_without_end_is_given_up() -> None:
    assert found(block_of(HEAD, *["[rank0]: noise"] * MAX_LINES), block_of(LAST)) == []
    assert found(block_of(HEAD, "[rank4]: no exception's name"), block_of(LAST)) == []


TORCH = "/env/lib/python3.11/site-packages/torch"


@pytest.mark.parametrize(
    ("inner", "raised_in"),
    [
        ([("/app/c.py", "h")], "/app/c.py:h"),
        ([("<frozen importlib>", "_load")], "/app/a.py:f"),
        ([(f"{TORCH}/a.py", "x"), (f"{TORCH}/b.py", "y")], f"/app/a.py:f > {TORCH}/b.py:y"),
        ([(f"{TORCH}/a.py", "x"), ("/app/c.py", "h")], "/app/c.py:h"),
    ],
)
def test_own_code_and_what_it_called_say_where_it_was_raised(
    inner: list[tuple[str, str]], raised_in: str
) -> None:
    frames = [f'[rank4]:   File "{path}", line 9, in {name}' for path, name in inner]
    other = '[rank0]:   File "/app/b.py", line 3, in g'
    block = block_of(HEAD, *FRAMES, *frames, other, "[rank4]:     ~~~^^^", LAST)
    [place] = RaisedFinder().follow(block, len(HEAD) + 1, PARSER, PARSER.parse(HEAD, 0, 0))
    assert place.frame == raised_in


def test_a_traceback_without_frames_says_nothing_of_code() -> None:
    block = block_of(HEAD, LAST)
    [place] = RaisedFinder().follow(block, len(HEAD) + 1, PARSER, PARSER.parse(HEAD, 0, 0))
    assert place.frame == ""
