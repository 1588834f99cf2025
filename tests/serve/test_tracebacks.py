"""The exception of a traceback is found wherever the log is cut."""

from __future__ import annotations

import pytest

from relume.events import LogLine
from relume.ingest.blocks import Block, blocks_of_lines
from relume.ingest.loglines import LineParser
from relume.serve.tracebacks import MAX_LINES, Raised, RaisedFinder

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
        finder.begin(block, PARSER)
        if not number:
            finder.follow(len(HEAD) + 1, PARSER.parse(HEAD, 0, 0))
        places = finder.finish()
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


@pytest.mark.parametrize(
    "prefix",
    [
        "2026-03-04 05:06:07 ",
        "2026-03-04T05:06:07Z ",
        "[2026-03-04 05:06:07] ",
        "2026-03-04 05:06:07,123 ERROR ",
        "2026-03-04 05:06:07,123 ERROR    ",
        "",
        "[rank4]: ",
    ],
)
def test_frames_are_those_that_stand_further_in_than_the_heading(prefix: str) -> None:
    """What stamps each line keeps its indentation, wherever the message is said to begin."""
    head = f"{prefix}Traceback (most recent call last):"
    lines = ('  File "/app/a.py", line 3, in f', "    raise Gone()", "pkg.Gone: it is gone")
    block = block_of(head, *(f"{prefix}{line}" for line in lines))
    finder = RaisedFinder()
    finder.begin(block, PARSER)
    finder.follow(len(head) + 1, PARSER.parse(head, 0, 0))
    (raised,) = finder.finish()
    assert raised.frame == "/app/a.py:f"
    assert block.data[raised.begin :].decode().startswith(f"{prefix}pkg.Gone")


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
    finder = RaisedFinder()
    finder.begin(block, PARSER)
    finder.follow(len(HEAD) + 1, PARSER.parse(HEAD, 0, 0))
    [place] = finder.finish()
    assert place.frame == raised_in


def test_a_traceback_without_frames_says_nothing_of_code() -> None:
    block = block_of(HEAD, LAST)
    finder = RaisedFinder()
    finder.begin(block, PARSER)
    finder.follow(len(HEAD) + 1, PARSER.parse(HEAD, 0, 0))
    [place] = finder.finish()
    assert place.frame == ""


def test_a_wave_of_tracebacks_is_read_once(monkeypatch: pytest.MonkeyPatch) -> None:
    ranks = range(MAX_LINES // 2)
    heads = [f"[rank{rank}]: Traceback (most recent call last):" for rank in ranks]
    ends = [f"[rank{rank}]: pkg.Gone: {rank}" for rank in ranks]
    looked: list[str] = []
    look = LineParser.look

    def count(self: LineParser, text: str, line: int, offset: int) -> LogLine:
        looked.append(text)
        return look(self, text, line, offset)

    monkeypatch.setattr(LineParser, "look", count)
    block, finder, at, places = block_of(*heads, *ends), RaisedFinder(), 0, list[Raised]()
    finder.begin(block, PARSER)
    for head in heads:
        places += finder.until(at)
        at += len(head) + 1
        finder.follow(at, PARSER.parse(head, 0, 0))
    places += finder.finish()
    named = [block.data[place.begin :].split(b"\n")[0].decode() for place in places]
    assert named == ends
    assert looked == [*heads[1:], *ends]
