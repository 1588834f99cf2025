"""Tailing under arbitrary bytes, cuts, restarts, requeues and rotations; landing under any order."""

from __future__ import annotations

import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field, fields
from pathlib import Path

from hypothesis import given, settings
from hypothesis import strategies as st

from relume.events import LogLine, SchedulerEvent, Tick
from relume.ingest.blocks import Block, BlockAssembler
from relume.ingest.lake import LakeReader, LakeWriter, Landing, LineBatch
from relume.ingest.tail import Tailer, TailEvent
from relume.ingest.tailing.lines import LineHolder, TailBlock
from relume.ingest.tailing.position import TailPosition

PIECES = (
    b"a",
    b"\n",
    b"\r",
    b"\r\n",
    b"\0",
    b"\0" * 9,
    b"\x1b[31m",
    b"\x1b",
    b"\xff",
    "é\u2028".encode(),
    b"step 1",
    b"x" * 3000,
)
LOG = st.lists(st.sampled_from(PIECES), max_size=40).map(b"".join)
CUTS = st.lists(st.integers(1, 4000), min_size=1, max_size=12)
Row = tuple[bytes, int, int]


def rows(blocks: list[Block] | list[TailBlock]) -> list[Row]:
    """(text, physical line, byte offset) of each logical line, undecodable bytes replaced."""
    found = []
    for block in blocks:
        start = 0
        if not block.data:
            continue
        for raw in block.data.removesuffix(b"\n").split(b"\n"):
            text = raw.decode("utf-8", "replace").encode()
            found.append((text, block.line_at(start), block.byte_offset_at(start)))
            start += len(raw) + 1
    return found


def cut(data: bytes, sizes: list[int]) -> Iterator[bytes]:
    """Pieces of `data` of the given sizes, over and over."""
    start = 0
    while start < len(data):
        for size in sizes:
            yield data[start : start + size]
            start += size


@given(LOG, CUTS)
def test_lines_do_not_depend_on_how_the_bytes_come(log: bytes, sizes: list[int]) -> None:
    whole = LineHolder("log", max_line_bytes=8192)
    expected = rows(whole.take(log) + whole.finish())
    holder = LineHolder("log", max_line_bytes=8192)
    blocks: list[TailBlock] = []
    taken = 0
    for piece in cut(log, sizes):
        blocks += holder.take(piece)
        taken += len(piece)
        start = (taken, holder.line, holder.line_start)  # as after a restart
        holder = LineHolder("log", partial=holder.partial, start=start, max_line_bytes=8192)
    blocks += holder.finish()
    assert rows(blocks) == expected
    assert all(block.data.endswith(b"\n") and block.data.decode() for block in blocks)


@given(LOG.map(lambda log: log.replace(b"\0" * 8, b"")), CUTS)
def test_live_lines_are_those_of_a_file_that_is_read_later(log: bytes, sizes: list[int]) -> None:
    holder = LineHolder("log")
    live = [block for piece in cut(log, sizes) for block in holder.take(piece)]
    later = BlockAssembler("log")
    expected = rows(later.feed(log) + later.finish())
    # Of an unfinished line that shows nothing, live makes an empty line.
    assert rows(live + holder.finish()) in (expected, [*expected, (b"", *place_of_end(log))])


def place_of_end(log: bytes) -> tuple[int, int]:
    """Physical line and byte offset of what is after the last LF."""
    return log.count(b"\n"), log.rfind(b"\n") + 1


@dataclass
class World:
    """A file that is written to, its tailer, and what each stream should give."""

    path: Path
    tailer: Tailer
    streams: list[bytes] = field(default_factory=lambda: [b""])
    got: list[list[TailBlock]] = field(default_factory=lambda: [[]])
    rotations: int = 0

    def write(self, data: bytes) -> None:
        with self.path.open("ab") as stream:
            stream.write(data)
        self.streams[-1] += data

    def poll(self, limit: int) -> None:
        result = self.tailer.poll(limit)
        self.got[-1] += result.blocks
        if result.events & {TailEvent.TRUNCATED, TailEvent.ROTATED}:
            self.got.append([])

    def catch_up(self) -> None:
        """Read all that is there, and let a rotation be seen."""
        for _ in range(4):
            self.poll(1 << 20)

    def restart(self) -> None:
        self.tailer.close()
        self.tailer = Tailer(self.path, TailPosition.from_text(self.tailer.position.to_text()))

    def requeue(self) -> None:
        self.write(b"last words")  # NULs at the end would be taken for bytes under way
        self.catch_up()
        head = b"attempt %d " % len(self.streams)
        self.path.write_bytes(head)
        self.streams.append(head)

    def rotate(self, *, restart: bool) -> None:
        self.catch_up()
        self.write(b"last words")
        self.rotations += 1
        self.path.rename(self.path.with_name(f"log.{self.rotations}"))
        head = b"file %d " % len(self.streams)
        self.path.write_bytes(head)
        self.streams.append(head)
        if restart:
            self.restart()
        self.catch_up()


STEPS = st.lists(
    st.one_of(
        st.tuples(st.just("write"), LOG),
        st.tuples(st.just("poll"), st.integers(1, 5000)),
        st.tuples(st.sampled_from(["restart", "requeue"]), st.none()),
        st.tuples(st.just("rotate"), st.booleans()),
    ),
    max_size=12,
)


@contextmanager
def world() -> Iterator[World]:
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder, "log")
        path.write_bytes(b"begin ")
        made = World(path, Tailer(path), [b"begin "])
        yield made
        made.tailer.close()


@settings(max_examples=60)
@given(STEPS)
def test_no_line_is_lost_or_doubled_whatever_happens_to_the_file(
    steps: list[tuple[str, object]],
) -> None:
    with world() as made:
        for name, argument in steps:
            if name == "rotate":
                made.rotate(restart=bool(argument))
            elif argument is None:
                getattr(made, name)()
            else:
                getattr(made, name)(argument)
        made.catch_up()
        for _ in range(3):
            if (result := made.tailer.finish()).ended:
                break
        made.got[-1] += result.blocks
        assert result.ended
        expected = []
        for stream in made.streams:
            holder = LineHolder("log")
            expected.append(rows(holder.take(stream) + holder.finish()))
        assert [rows(blocks) for blocks in made.got] == expected


TEXT = st.text(max_size=8)
TIME = st.integers(-(2**40), 2**52)
EVENTS = st.one_of(
    st.builds(Tick, event_time=TIME),
    st.builds(SchedulerEvent, source=TEXT, attempt=TEXT, state=TEXT, nodes=st.just(("a", "b"))),
    st.builds(LogLine, TEXT, st.integers(0, 9), st.integers(0, 9), TEXT, event_time=TIME),
)


@st.composite
def batches(draw: st.DrawFn) -> LineBatch:
    """Draw the lines of a block, tailed or not, with some origin."""
    log, file = draw(LOG.filter(bool)), draw(TEXT)
    assembler = draw(st.sampled_from([LineHolder, BlockAssembler]))(file)
    made = assembler.take(log) if isinstance(assembler, LineHolder) else assembler.feed(log)
    blocks: list[Block] = [*made, *assembler.finish()]
    return LineBatch(
        block=draw(st.sampled_from(blocks))
        if blocks
        else Block(b"x\n", file, 3, raw_offset=9, line_offset=7),
        attempt=draw(st.none() | TEXT),
        stream=draw(TEXT),
        node=draw(st.none() | TEXT),
        observed_at=draw(st.none() | TIME),
        source=draw(TEXT),
    )


def shown(landing: Landing) -> object:
    """What must come back."""
    if not isinstance(landing, LineBatch):
        return landing
    times = None if landing.event_times is None else landing.event_times.tolist()
    others = [one.name for one in fields(landing) if one.name not in {"block", "event_times"}]
    same = [getattr(landing, name) for name in others]
    return rows([landing.block]), landing.block.file, times, same


@settings(max_examples=30)
@given(st.lists(st.lists(EVENTS | batches(), max_size=5), max_size=3))
def test_what_landed_comes_back_in_the_order_it_landed(commits: list[list[Landing]]) -> None:
    with tempfile.TemporaryDirectory() as folder:
        with LakeWriter(folder) as lake:
            for landings in commits:
                lake.append(landings)
                lake.commit()
        landed = [shown(landing) for landing in LakeReader(folder).landings()]
    expected = [shown(landing) for landings in commits for landing in landings]
    assert landed == [one for one in expected if not (isinstance(one, tuple) and one[0] == [])]
