"""Pickles of plain data are read, by two ways alike; everything else is refused and never run."""

from __future__ import annotations

import os
import pickle
import struct
from typing import Any

import pytest

from hostile import Hostile
from recorders import document, entry
from relume.benchmarks.dumps.pickling import pickle_as_torch
from relume.ingest.dumps import pickles
from relume.ingest.dumps.pickles import (
    BrokenPickleError,
    UnsafePickleError,
    interpret,
    is_plain,
    unpickle,
)

PLAIN: dict[str, Any] = {
    "numbers": [0, 255, 256, 65_535, 65_536, -1, -(1 << 31), 1 << 40, -(1 << 62), 1.5],
    "others": [None, True, False, "", "é", "x" * 300, [], {}, [[]], {"a": {"b": []}}],
    "again": ["same", "same", "other"],
}


def lists(value: Any) -> Any:
    """Return plain data with lists for tuples: both ways read tuples as lists, or as they are."""
    if isinstance(value, (list, tuple)):
        return [lists(item) for item in value]
    return {k: lists(v) for k, v in value.items()} if isinstance(value, dict) else value


@pytest.mark.parametrize("protocol", [2, 3, 4, 5])
def test_plain_data_is_read(protocol: int) -> None:
    told = PLAIN | {"tuple": ("a", "b"), "deep": (1, (2, 3))}
    data = pickle.dumps(told, protocol)
    assert lists(unpickle(data)) == lists(told)


def test_a_recorder_as_pytorch_writes_it_is_proven_plain_and_read_alike_by_both_ways() -> None:
    told = document([entry(n) for n in range(40)])
    data = pickle_as_torch(told)
    assert is_plain(data)
    assert unpickle(data) == told
    assert interpret(data) == lists(told)


def test_many_strings_need_wide_indices() -> None:
    told = {f"key {n}": [f"key {n % 7}", n] for n in range(600)}
    data = pickle_as_torch(told)
    assert is_plain(data)
    assert unpickle(data) == interpret(data) == told


@pytest.mark.parametrize("protocol", [0, 2, 4])
def test_a_hostile_pickle_is_refused_with_what_it_tried_and_not_run(
    protocol: int, tmp_path: Any
) -> None:
    mark = tmp_path / "ran"
    data = pickle.dumps({"version": "2.4", "entries": Hostile(f"touch {mark}")}, protocol)
    with pytest.raises((UnsafePickleError, BrokenPickleError)) as refused:
        unpickle(data)
    assert not mark.exists()
    if protocol:
        assert str(refused.value) == f"it tries to load {os.system.__module__}.system"


@pytest.mark.parametrize(
    ("data", "says"),
    [
        (b"\x80\x04\x8c\x02os\x8c\x06system\x93.", "it tries to load os.system"),
        (b"\x80\x02(ios\nsystem\n.", "it tries to load os.system"),
        (b"cos\nsystem\n(S'true'\ntR.", "it tries to load os.system"),
        (b"\x80\x02}q\x00(X\x01\x00\x00\x00aNuR.", "it uses REDUCE"),
        (b"\x80\x02Pname\n.", "it uses PERSID"),
        (b"\x80\x02\x82\x01.", "it uses EXT1"),
        (b"\x80\x02\x8f.", "it uses EMPTY_SET"),
        (b"\x80\x05\x96" + struct.pack("<Q", 1 << 40), "it uses BYTEARRAY8"),
        (b"\x80\x02\xff.", "it uses operation 0xff"),
        (b"\x80\x02cos\nsys\x1b[31mtem\n.", "it tries to load os.sys?[31mtem"),
    ],
)
def test_what_is_no_plain_data_is_told(data: bytes, says: str) -> None:
    with pytest.raises(UnsafePickleError, match=says.replace("[", r"\[").replace("?", r"\?")):
        unpickle(data)


@pytest.mark.parametrize(
    "data",
    [
        b"",
        b"\x80",
        b"\x80\x02",
        b"\x80\x02.",
        b"\x80\x02(e.",
        b"\x80\x02]a.",
        b"\x80\x02](]a.",
        b"\x80\x02h\x07.",
        b"\x80\x02K\x01(K\x02e.",
        b"\x80\x02K\x01(X\x01\x00\x00\x00aK\x02u.",
        b"\x80\x02X\xff\xff\xff\xffabc",
        b"\x80\x04\x8d" + struct.pack("<Q", 1 << 62) + b"abc",
        b"\x80\x02}(X\x01\x00\x00\x00au.",
        b"\x80\x02}](es.",
        b"\x80\x02\x8a\xff" + bytes(255) + b".",
        b"\x80\x02((((.",
    ],
)
def test_broken_pickles_say_so(data: bytes) -> None:
    with pytest.raises(BrokenPickleError):
        interpret(data)
    with pytest.raises(BrokenPickleError):
        unpickle(data)


@pytest.mark.parametrize("data", [b"\x80\x02N](e.", b"\x80\x02}(K\x01K\x02u."])
def test_the_machine_is_stricter_than_the_standard_library(data: bytes) -> None:
    with pytest.raises(BrokenPickleError):
        interpret(data)


def test_tuples_of_tuples_are_never_hashed() -> None:
    """A key of 60 levels, each twice the one before, would take longer than the universe."""
    bomb = b"\x80\x02}(X\x01\x00\x00\x00xq\x00h\x00\x86q\x01"
    for level in range(1, 60):
        bomb += b"h%ch%c\x86q%c" % (level, level, level + 1)
    bomb += b"X\x01\x00\x00\x00vu."
    assert not is_plain(bomb)
    with pytest.raises(BrokenPickleError):
        unpickle(bomb)


def test_bounds_are_kept(monkeypatch: pytest.MonkeyPatch) -> None:
    with pytest.raises(BrokenPickleError, match="more lists and dicts"):
        unpickle(b"\x80\x02(" + b"]" * (pickles.MAX_CONTAINERS + 1))
    monkeypatch.setattr(pickles, "MAX_OPERATIONS", 50)
    with pytest.raises(BrokenPickleError, match="more than 50 operations"):
        unpickle(b"\x80\x02](" + b"N" * 60 + b"R")


def test_a_large_index_of_the_memo_takes_no_memory() -> None:
    """The standard library would make room for four thousand million objects."""
    data = b"\x80\x02]r\xff\xff\xff\xff."
    assert not is_plain(data)
    assert unpickle(data) == []


def test_a_string_that_says_to_be_longer_than_anything_is_refused() -> None:
    data = b"\x80\x02\x8d" + 7 * b"\x00" + b"\x80."
    assert not is_plain(data)
    with pytest.raises(BrokenPickleError):
        unpickle(data)
