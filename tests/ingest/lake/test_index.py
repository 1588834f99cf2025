"""One attempt is read without the others, and its landings come in their order."""

from __future__ import annotations

from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from relume.events import (
    CollectiveDump,
    LogLine,
    NodeEvent,
    Sample,
    SchedulerEvent,
    SourceStatus,
    Tick,
)
from relume.ingest.blocks import blocks_of_lines
from relume.ingest.lake import (
    CorruptSegmentError,
    LakeReader,
    LakeWriter,
    Landing,
    LineBatch,
    MissingSegmentError,
    buffers,
)
from relume.verdict import Health

A, B = "lab/1@1.0", "lab/2@1.0"


def lines(text: str, attempt: str | None = None, node: str | None = None) -> LineBatch:
    [block] = blocks_of_lines([text], f"{attempt or node}.log")
    return LineBatch(block=block, attempt=attempt, node=node)


def land(folder: Path, *commits: list[Landing]) -> LakeReader:
    with LakeWriter(folder) as lake:
        for landings in commits:
            lake.append(landings)
            lake.commit()
    return LakeReader(folder)


def shown(landing: Landing) -> object:
    """What can be compared: a block has no equality of its own."""
    if not isinstance(landing, LineBatch):
        return landing
    return landing.block.data, landing.block.file, landing.attempt, landing.node


def about(reader: LakeReader, attempts: set[str], nodes: set[str]) -> list[object]:
    return [shown(landing) for landing in reader.landings_about(attempts, nodes)]


def started(attempt: str) -> SchedulerEvent:
    return SchedulerEvent(source="sacct", attempt=attempt, state="RUNNING", nodes=("n1",))


def is_about(landing: Landing, attempts: set[str], nodes: set[str]) -> bool:
    attempt, node = getattr(landing, "attempt", None), getattr(landing, "node", None)
    return attempt in attempts or (attempt is None and node in nodes)


def test_an_attempt_comes_back_alone_and_in_order(tmp_path: Path) -> None:
    ours: list[Landing] = [
        started(A),
        lines("one", A),
        lines("two", A),
        Sample(source="x", metric="m", value=1),
    ]
    dump = CollectiveDump(source="flight", attempt=A, rank=3)
    reader = land(
        tmp_path,
        [*ours[:2], started(B), lines("other", B), Tick(event_time=1)],
        [lines("other again", B)],
        [dump, ours[2], lines("third", B, node="n1")],
    )
    expected = [shown(one) for one in (*ours[:2], dump, ours[2])]
    assert about(reader, {A}, set()) == expected
    assert about(reader, {"lab/3@1.0"}, {"n9"}) == []


def test_lines_of_a_node_come_when_they_belong_to_no_attempt(tmp_path: Path) -> None:
    down = NodeEvent(source="slurm", node="n1", state="down")
    kernel, other = lines("Xid", node="n1"), lines("Xid", node="n2")
    reader = land(tmp_path, [kernel, other, lines("step", B, node="n1"), down, lines("lost")])
    assert about(reader, set(), {"n1"}) == [shown(kernel), shown(down)]
    assert set(reader.index().nodes) == {"n1", "n2"}


def test_what_has_neither_attempt_nor_node_is_nobodys(tmp_path: Path) -> None:
    status = SourceStatus(source="tail", status=Health.UNKNOWN, reason="not yet")
    reader = land(tmp_path, [Tick(event_time=1), status, Sample(source="x", metric="m", value=1)])
    assert about(reader, {A}, {"n1"}) == []
    assert [(group.table, group.attempts | group.nodes) for group in reader.index().groups] == [
        (table, frozenset()) for table in ("tick", "source_status", "sample")
    ]


def test_the_index_says_which_batches_stand_where(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(buffers, "FLUSH_BYTES", 1)
    reader = land(tmp_path, [lines("a", A), lines("b", B)], [lines("c", A), started(B)])
    index = reader.index()
    assert [
        (g.sequence, g.table, g.number, g.rows, g.first_landed, g.last_landed, set(g.attempts))
        for g in index.groups
    ] == [
        (1, "log_line", 0, 1, 0, 0, {A}),
        (1, "log_line", 1, 1, 1, 1, {B}),
        (2, "log_line", 0, 1, 2, 2, {A}),
        (2, "scheduler_event", 0, 1, 3, 3, {B}),
    ]
    assert list(index.attempts) == [A, B]


def test_segments_of_others_are_not_even_opened(tmp_path: Path) -> None:
    reader = land(tmp_path, [lines("ours", A)], [lines("theirs", B)])
    index = reader.index()
    reader.tables()["log_line"][1].unlink()
    assert len(list(reader.landings_about({A}, index=index))) == 1
    with pytest.raises(MissingSegmentError):
        list(reader.landings_about({B}, index=index))


def test_a_damaged_segment_is_named(tmp_path: Path) -> None:
    reader = land(tmp_path, [lines("ours", A)])
    index = reader.index()
    [path] = reader.tables()["log_line"]
    path.write_bytes(path.read_bytes()[:-1] + b"?")
    with pytest.raises(CorruptSegmentError, match=path.name):
        list(reader.landings_about({A}, index=index))
    with pytest.raises(CorruptSegmentError, match=path.name):
        reader.index()


owners = st.sampled_from([A, B, None])
nodes = st.sampled_from(["n1", "n2", None])
landings = st.lists(
    st.one_of(
        st.builds(lines, st.text("ab ", min_size=1, max_size=5), owners, nodes),
        st.builds(LogLine, st.just("x"), st.just(0), st.just(0), st.just("f"), attempt=owners),
        st.builds(Sample, source=st.just("s"), metric=st.just("m"), value=st.just(1.0), node=nodes),
        st.builds(started, st.sampled_from([A, B])),
        st.builds(Tick, event_time=st.integers(0, 9)),
    ),
    max_size=12,
)


@given(
    commits=st.lists(landings, max_size=4),
    attempts=st.sets(st.sampled_from([A, B])),
    named=st.sets(st.sampled_from(["n1", "n2"])),
)
def test_it_is_the_whole_lake_less_what_is_others(
    tmp_path_factory: pytest.TempPathFactory,
    commits: list[list[Landing]],
    attempts: set[str],
    named: set[str],
) -> None:
    reader = land(tmp_path_factory.mktemp("lake"), *commits)
    everything: list[Landing] = [one for commit in commits for one in commit]
    expected = [shown(one) for one in everything if is_about(one, attempts, named)]
    assert about(reader, attempts, named) == expected
