"""Whatever is in dumps: no crash, bounded, and the same answer in any order."""

from __future__ import annotations

import pickle
import tempfile
from contextlib import suppress
from pathlib import Path
from random import Random
from typing import Any

import msgspec
import pytest
from hypothesis import given
from hypothesis import strategies as st

from recorders import document, dump, entry, group, work
from relume.benchmarks.dumps.faults import FAMILIES, make_hang
from relume.benchmarks.dumps.pickling import pickle_as_torch
from relume.benchmarks.dumps.running import Run
from relume.benchmarks.dumps.writing import FORMATS, choose_form, write_dumps
from relume.dumps import RankDump
from relume.ingest.attempts import find_attempts
from relume.ingest.dumps import ras, stacks
from relume.ingest.dumps.documents import DumpError, parse_document
from relume.ingest.dumps.flight import decode
from relume.ingest.dumps.pickles import (
    BrokenPickleError,
    UnsafePickleError,
    interpret,
    is_plain,
    unpickle,
)
from relume.ingest.dumps.ranks import ranks_by_name
from relume.ingest.dumps.read import read_dumps
from relume.ingest.skips import SkipCounts
from relume.models.collectives.evidence import judge_dumps
from relume.models.collectives.judge import judge
from relume.models.collectives.state import build_state

SCALARS = st.none() | st.booleans() | st.integers(-(1 << 62), 1 << 62) | st.text(max_size=9)
PLAIN = st.recursive(
    SCALARS,
    lambda inner: (
        st.lists(inner, max_size=4) | st.dictionaries(st.text(max_size=6), inner, max_size=4)
    ),
    max_leaves=12,
)
KEYS = st.sampled_from(["0", "1", "ranks", "desc", "entries", "last_enqueued_collective"])


def lists(value: Any) -> Any:
    if isinstance(value, (list, tuple)):
        return [lists(item) for item in value]
    return {k: lists(v) for k, v in value.items()} if isinstance(value, dict) else value


@given(value=PLAIN, protocol=st.sampled_from([2, 3, 4, 5]))
def test_both_ways_to_read_a_pickle_agree(value: Any, protocol: int) -> None:
    data = pickle.dumps(value, protocol)
    assert interpret(data) == lists(value)
    if is_plain(data):
        assert lists(pickle.loads(data)) == lists(value)  # noqa: S301 - our own
    assert interpret(pickle_as_torch(value)) == value
    assert is_plain(pickle_as_torch({"value": value}))


@given(value=PLAIN, protocol=st.sampled_from([2, 3, 4, 5]), cut=st.integers(min_value=1))
def test_pickles_cut_anywhere_say_that_they_are_broken(value: Any, protocol: int, cut: int) -> None:
    for data in (pickle.dumps(value, protocol), pickle_as_torch({"value": value})):
        with pytest.raises(BrokenPickleError):
            unpickle(data[: -1 - cut % len(data)])


@given(
    data=st.binary(max_size=60).map(lambda tail: b"\x80\x02" + tail)
    | st.lists(
        st.sampled_from([b"]", b"}", b"(", b"e", b"u", b"s", b"a", b"N", b"K\x01", b"X\1\0\0\0a", b"h\0",
                         b"q\0", b"q\1", b"\x86", b"\x85", b")", b"t", b"\x94", b".", b"\x88"]),
        max_size=30,
    ).map(lambda parts: b"\x80\x04" + b"".join(parts) + b".")
)  # fmt: skip
def test_any_pickle_is_read_or_refused(data: bytes) -> None:
    """What is proven plain gives the standard library's answer, or none; nothing else is run."""
    try:
        by_machine: Any = interpret(data)
    except (BrokenPickleError, UnsafePickleError):
        by_machine = None
    if by_machine is not None and is_plain(data):
        assert repr(lists(parse_document(data, "x"))) == repr(by_machine)
    with suppress(DumpError):
        parse_document(data, "x")


@given(
    changes=st.dictionaries(st.sampled_from(sorted(entry(0))), PLAIN, max_size=4),
    config=st.dictionaries(KEYS, PLAIN, max_size=3) | PLAIN,
    status=st.dictionaries(KEYS, PLAIN, max_size=3) | PLAIN,
)
def test_a_recorder_of_anything_is_decoded(
    changes: dict[str, Any], config: Any, status: Any
) -> None:
    told = document([entry(0), entry(1, **changes)]) | {"pg_config": config, "pg_status": status}
    flight = decode(told)
    assert len(flight.collectives) <= 2
    again = decode(msgspec.json.decode(msgspec.json.encode(lists(told))))
    assert again.is_whole == flight.is_whole


OPERATIONS = st.sampled_from(
    ["nccl:all_reduce", "nccl:broadcast", "nccl:all_to_all", "gloo:barrier", "nccl:coalesced",
     "nccl:send 0->1", "nccl:recv 0<-1", "nccl:send 1->0", "nccl:recv 1<-0", "nccl:send 2->2",
     "nccl:recv 0<-9", "nccl:send 1->2", "nccl:recv 2<-1", "nccl:recv 0<-2", "nccl:send x", ""]
)  # fmt: skip
WORKS = st.builds(
    lambda number, name, state, group, start: work(
        number, state, operation=name, group=group, is_p2p="send" in name or "recv" in name,
        enqueued_time=start,
    ),
    st.integers(-1, 4), OPERATIONS, st.sampled_from(["scheduled", "started", "completed", "?"]),
    st.sampled_from(["0", "1", "2"]), st.none() | st.integers(0, 9),
)  # fmt: skip
GROUPS = st.builds(
    lambda ranks, name, told, last: group(ranks, name, description=told, last_enqueued=last),
    st.lists(st.integers(0, 5), max_size=5), st.sampled_from(["0", "1", "2"]),
    st.sampled_from([None, "", "default_pg", "PP"]), st.none() | st.integers(-2, 5),
)  # fmt: skip
RANKS = st.builds(
    lambda rank, works, groups, whole: dump(rank, *works, groups=groups, is_whole=whole),
    st.integers(0, 5), st.lists(WORKS, max_size=6), st.lists(GROUPS, max_size=3), st.booleans(),
)  # fmt: skip


@given(dumps=st.lists(RANKS, max_size=6))
def test_whatever_ranks_say_they_have_called_is_judged(dumps: list[RankDump]) -> None:
    """Groups may not have their own ranks, name one twice, or send to themselves."""
    found = judge(dumps)
    if found is not None:
        assert {*found.culprits, *found.suspects} <= build_state(dumps).world
        assert 0.0 < found.confidence <= 1.0
        assert found.why


@given(
    text=st.text(
        alphabet='Process Thread 0x7f()"MainThread:\n   File Rank #0-(ab) 12', max_size=300
    )
)
def test_texts_of_anything_are_read(text: str) -> None:
    assert isinstance(stacks.read_text(text, "x"), list)
    assert ras.read_text(text, "x").file == "x"


@given(document_of_anything=PLAIN)
def test_documents_of_anything_are_read(document_of_anything: Any) -> None:
    assert isinstance(stacks.read_json(document_of_anything, "x"), list)
    assert ras.read_json(document_of_anything, "x").file == "x"


@given(names=st.lists(st.text(alphabet="rank_0123/.pkljson", max_size=20), max_size=6))
def test_ranks_by_name_are_one_a_file(names: list[str]) -> None:
    assert len(ranks_by_name(names)) == len(names)


@given(
    family=st.sampled_from(sorted(FAMILIES)),
    version=st.sampled_from(FORMATS),
    seed=st.integers(0, 99),
    lost=st.sampled_from([0.0, 0.2, 0.6]),
)
def test_the_order_of_the_files_changes_nothing(
    family: str, version: str, seed: int, lost: float
) -> None:
    random = Random(seed)
    hang = make_hang(family, 8, random)
    run = Run(hang.job, hang.faults).run()
    with tempfile.TemporaryDirectory() as folder:
        write_dumps(Path(folder), hang, run, choose_form(hang, version, random), random, lost=lost)
        [attempt] = find_attempts([folder])
        files = [(file.path, file.form) for file in attempt.dumps]
        dumps, _ = read_dumps(files, SkipCounts())
        shuffled, _ = read_dumps(random.sample(files, len(files)), SkipCounts())
    assert judge(dumps.ranks) == judge(shuffled.ranks) == judge(tuple(reversed(dumps.ranks)))
    assert judge_dumps(dumps).collectives == judge(dumps.ranks)
