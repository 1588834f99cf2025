"""Bytes of somebody else's make nothing but objects of ours, or an error."""

from __future__ import annotations

import io
import os
import pickle
import subprocess
from array import array
from collections import Counter, OrderedDict, deque
from collections.abc import Callable
from datetime import UTC, timedelta
from pathlib import Path
from typing import Any
from zoneinfo import ZoneInfo

import numpy as np
import pytest

from clusters import analyzer
from relume.advice import Operation
from relume.errors import InputError
from relume.ingest.lake import LakeWriter
from relume.models.hang.settings import HangSettings
from relume.models.straggler.settings import StragglerSettings
from relume.models.straggler.stream import PaceStream, warm_up
from relume.serve.kept import KeptLines
from relume.serve.live.options import RunnerOptions
from relume.serve.live.state import codec
from relume.serve.live.state.codec import dumps, load
from relume.serve.live.state.digest import digest_of
from relume.serve.offline import Analyzer
from relume.serve.steps.finder import StepFinder


def again(value: object) -> object:
    return load(io.BytesIO(dumps(value, analyzer())), analyzer())


@pytest.mark.parametrize(
    "value",
    [
        {"a": [1, 2.5, None, b"x", (True, "y")]},
        {3, 4},
        frozenset({"a"}),
        deque([1, 2], maxlen=3),
        Counter("aab"),
        OrderedDict(a=1),
        timedelta(seconds=3),
        UTC,
        ZoneInfo("Europe/Berlin"),
        array("d", [1.5, 2.5]),
        array("q"),
        Operation.RESTART,
        HangSettings.of_budget(0.01),
        np.float64(1.5),
        np.int64(-3),
    ],
    ids=repr,
)
def test_values_come_back_as_they_were(value: object) -> None:
    found = again(value)
    assert found == value
    assert type(found) is type(value)
    assert digest_of(found) == digest_of(value)


@pytest.mark.parametrize(
    "value",
    [
        np.arange(6, dtype=np.int32).reshape(2, 3),
        np.zeros(0),
        np.array([(1, 2.5)], dtype=[("a", "<i8"), ("b", "<f4")]),
        np.asfortranarray(np.arange(6.0).reshape(2, 3)),
    ],
    ids=["two axes", "empty", "records", "by columns"],
)
def test_arrays_come_back_as_they_were_and_can_be_written_to(value: np.ndarray[Any, Any]) -> None:
    found = again(value)
    assert isinstance(found, np.ndarray)
    assert found.dtype == value.dtype
    np.testing.assert_array_equal(found, value)
    assert found.flags.writeable


def test_what_is_compiled_once_is_the_reader_s_own() -> None:
    one = analyzer()
    rule = one.catalogue.signatures[0]
    found = again([one, one.scanner, one.scanner.plan, rule])
    assert isinstance(found, list)
    assert all(
        a is b for a, b in zip(found, [one, one.scanner, one.scanner.plan, rule], strict=True)
    )
    assert isinstance(again(StepFinder(one.scanner.steps, one.scanner.plan)), StepFinder)


def test_what_another_analyzer_compiled_can_t_be_kept() -> None:
    with pytest.raises(pickle.PicklingError, match="that the analyzer didn't make"):
        dumps(Analyzer(engine="re2").scanner.plan, analyzer())


def test_objects_stay_shared() -> None:
    line = [1]
    found = again((line, line))
    assert isinstance(found, tuple)
    assert found[0] is found[1]


class Evil:
    """Runs something when it is read back."""

    def __init__(self, call: Callable[..., object], *arguments: object) -> None:
        self._made = call, arguments

    def __reduce__(self) -> tuple[Callable[..., object], tuple[object, ...]]:
        return self._made


EVIL = {
    "a command": Evil(os.system, "true"),
    "a process": Evil(subprocess.Popen, ["true"]),
    "code": Evil(eval, "1"),
    "an attribute": Evil(getattr, "x", "upper"),
    "a function of a pure package": Evil(warm_up),
    "a function of ours": Evil(dumps, 1, 2),
    "a class that opens files": Evil(LakeWriter, "/nowhere"),
    "a class of the standard library": Evil(Path, "/nowhere"),
    "a class of a module that isn't named": Evil(RunnerOptions),
}


@pytest.mark.parametrize("name", EVIL)
def test_a_name_that_isn_t_allowed_is_refused(name: str) -> None:
    with pytest.raises(InputError, match="kept state; found"):
        load(io.BytesIO(pickle.dumps(EVIL[name], 5)), analyzer())


@pytest.mark.parametrize(
    ("module", "name"),
    [
        ("relume.serve.kept", "KeptLines.add"),
        ("relume.serve.kept", "Block"),
        ("relume.serve.kept", "chain"),
        ("relume.models.straggler.stream", "np"),
        ("relume.models.nowhere", "Thing"),
        ("relume.serve.kept", "Nothing"),
        ("builtins", "exec"),
    ],
)
def test_neither_what_a_module_imports_nor_what_a_class_has_can_be_named(
    module: str, name: str
) -> None:
    names = b"".join(b"\x8c" + bytes([len(text)]) + text.encode() for text in (module, name))
    with pytest.raises(InputError, match="kept state; found"):
        load(io.BytesIO(b"\x80\x05" + names + b"\x93."), analyzer())


@pytest.mark.parametrize(
    "data", [b"", b"x", b"\x80\x05", b"\x80\x05N", b"\x80\x05\x8c\x05ab", b"\x80\x05K\x01R."]
)
def test_what_is_no_pickle_is_refused(data: bytes) -> None:
    with pytest.raises(InputError, match="kept state; found"):
        load(io.BytesIO(data), analyzer())


def test_arrays_of_objects_are_neither_kept_nor_read() -> None:
    with pytest.raises(pickle.PicklingError, match="an array of objects"):
        dumps(np.array([KeptLines()]), analyzer())
    data = pickle.dumps(Evil(codec.numbers, "O", (1,), b"\0" * 8), 5)
    with pytest.raises(InputError, match="an array of objects"):
        load(io.BytesIO(data), analyzer())


@pytest.mark.parametrize(
    ("stands", "arguments"),
    [
        (codec.named, ("x",)),
        (codec.signature, ("x",)),
        (codec.finder, ()),
        (codec.zone, ("UTC",)),
        (codec.words, ("d", b"")),
        (codec.numbers, ("<i8", None, b"")),
    ],
)
def test_what_stands_for_something_does_nothing_itself(
    stands: Callable[..., object], arguments: tuple[object, ...]
) -> None:
    with pytest.raises(NotImplementedError):
        stands(*arguments)


def test_a_rule_that_isn_t_there_any_more_is_refused() -> None:
    data = pickle.dumps(Evil(codec.signature, "no such rule"), 5)
    with pytest.raises(InputError, match="no such rule"):
        load(io.BytesIO(data), analyzer())


def test_every_class_of_a_stream_s_state_is_allowed() -> None:
    stream = PaceStream(StragglerSettings(), "lab/1@1.0", "train")
    stream.take(np.full(2000, 5.0), span_seconds=5.0)
    found = again(stream)
    assert isinstance(found, PaceStream)
    assert found.save() == stream.save()
