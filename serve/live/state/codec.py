"""Objects to bytes and back, and nothing that bytes of somebody else's could make of it.

The bytes are a pickle that knows few names: the classes of the pure packages, those of the modules
named here, and some of the standard library. What is compiled once a process (rules, engines) isn't
in them, but named in them. So reading one makes objects of ours, and runs no code of the writer's.
"""

from __future__ import annotations

import gc
import io
import pickle
from array import array
from collections import Counter, OrderedDict, deque
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from datetime import timedelta, timezone
from types import MappingProxyType
from typing import IO, Any, Final
from zoneinfo import ZoneInfo

import numpy as np

from relume.errors import InputError
from relume.models.signatures.rule import Signature
from relume.serve.offline import Analyzer
from relume.serve.scanplan import Scanner
from relume.serve.steps.finder import StepFinder

PURE: Final = ("relume.models.", "relume.features.")
"""Packages whose classes read no clock, file or network (the import contracts hold them to it)."""
MODULES: Final = frozenset(
    {
        "relume.advice",
        "relume.dumps",
        "relume.events",
        "relume.identity",
        "relume.reasons",
        "relume.verdict",
        "relume.ingest.blocks",
        "relume.ingest.filenames",
        "relume.ingest.lake.batches",
        "relume.ingest.loglines",
        "relume.ingest.timestamps",
        "relume.serve.analysis",
        "relume.serve.kept",
        "relume.serve.linerun",
        "relume.serve.progress",
        "relume.serve.scanplan",
        "relume.serve.tails",
        "relume.serve.tracebacks",
        "relume.serve.unrecognised",
        "relume.serve.live.aftermath",
        "relume.serve.live.course",
        "relume.serve.live.fleet",
        "relume.serve.live.history",
        "relume.serve.live.jobfacts",
        "relume.serve.live.judged",
        "relume.serve.live.measured",
        "relume.serve.live.mind",
        "relume.serve.live.pace",
        "relume.serve.live.recent",
        "relume.serve.live.remembered",
        "relume.serve.live.silence",
        "relume.serve.live.stays",
        "relume.serve.live.verdicts",
        "relume.serve.live.watch",
    }
)
"""Further modules whose classes may be made: none of them opens anything when it is made."""
_STANDARD: Final[Mapping[tuple[str, str], object]] = MappingProxyType(
    {
        (one.__module__, one.__qualname__): one
        for one in (
            *(set, frozenset, bytearray, complex, range, slice),
            *(Counter, OrderedDict, deque, timedelta, timezone),
        )
    }
)
_PROTOCOL = 5
_HERE: Final = __name__


def dump(value: object, stream: IO[bytes], analyzer: Analyzer) -> None:
    """Write `value`; what `analyzer` has compiled is named only.

    Raises
    ------
    pickle.PicklingError, TypeError, AttributeError
        For an object that can't be written: a defect of ours.
    """
    pickler = pickle.Pickler(stream, _PROTOCOL)
    names = _names_of(analyzer)
    table: dict[type, Callable[[Any], Any]] = {}
    for one in names.values():
        table[type(one)] = _Namer({id(one): name for name, one in names.items()})
    table |= {Signature: _signature, StepFinder: _finder, ZoneInfo: _zone, array: _array}
    table |= {np.ndarray: _numbers}
    table |= dict.fromkeys(_SCALARS, _number)
    pickler.dispatch_table = table
    with _uncollected():
        pickler.dump(value)


def load(stream: IO[bytes], analyzer: Analyzer) -> object:
    """Return what was written.

    Raises
    ------
    InputError
        For bytes that are none of ours: damaged, or with a name that isn't allowed.
    """
    try:
        with _uncollected():
            return _Reader(stream, analyzer).load()
    except InputError:
        raise
    except Exception as error:  # a pickle can fail in any way
        raise _refused(f"{type(error).__name__}: {error}") from error


@contextmanager
def _uncollected() -> Iterator[None]:
    """Look for no garbage meanwhile: millions of objects are made or read, and none is any."""
    was_on = gc.isenabled()
    gc.disable()
    try:
        yield
    finally:
        if was_on:
            gc.enable()


class _Reader(pickle.Unpickler):
    """An unpickler that finds the allowed names only."""

    def __init__(self, stream: IO[bytes], analyzer: Analyzer) -> None:
        super().__init__(stream)
        names, scanner = _names_of(analyzer), analyzer.scanner
        self._own: dict[str, Callable[..., object]] = {
            "named": names.__getitem__,
            "signature": analyzer.catalogue.by_id.__getitem__,
            "finder": lambda: StepFinder(scanner.steps, scanner.plan),
            "zone": ZoneInfo,
            "words": _words,
            "numbers": _read_numbers,
        }
        self._found: dict[tuple[str, str], object] = dict(_STANDARD)

    def find_class(self, module: str, name: str) -> object:
        """Return a class that may be made, or one of our own few functions."""
        if module == _HERE and name in self._own:
            return self._own[name]
        found = self._found.get((module, name))
        if found is None:
            found = self._found[module, name] = self._class(module, name)
        return found

    def _class(self, module: str, name: str) -> type:
        if not (module.startswith(PURE) or module in MODULES) or not name.isidentifier():
            raise _refused(f"the name {module}.{name}")
        found = super().find_class(module, name)
        if not isinstance(found, type) or found.__module__ != module:
            raise _refused(f"{module}.{name}, which is no class of that module")
        return found


def _refused(found: str) -> InputError:
    return InputError("kept state", found=found, expected="what this version of Relume keeps")


class _Namer:
    """Names what is made once a process; something of its class that isn't that can't be kept."""

    def __init__(self, names: Mapping[int, str]) -> None:
        self._names = names

    def __call__(self, one: object) -> tuple[Callable[..., object], tuple[str]]:
        name = self._names.get(id(one))
        if name is None:
            raise pickle.PicklingError(f"a {type(one).__name__} that the analyzer didn't make")
        return named, (name,)


def _names_of(analyzer: Analyzer) -> dict[str, object]:
    """What is compiled once a process, by its name."""
    scanner: Scanner = analyzer.scanner
    return {"analyzer": analyzer, "scanner": scanner, **scanner._asdict()}


# The following stand in the bytes by their names alone: reading calls `_Reader._own` instead.


def named(name: str) -> object:
    """Stand for something that is compiled once a process."""
    raise NotImplementedError(name)


def signature(name: str) -> object:
    """Stand for the rule of that id."""
    raise NotImplementedError(name)


def finder() -> object:
    """Stand for a finder of step lines: what it has learned only makes it faster."""
    raise NotImplementedError


def zone(name: str) -> object:
    """Stand for the zone of that name."""
    raise NotImplementedError(name)


def words(code: str, data: bytes) -> object:
    """Stand for an `array`."""
    raise NotImplementedError(code, data)


def numbers(dtype: object, shape: tuple[int, ...] | None, data: bytes) -> object:
    """Stand for a numpy array; for one number of its own where the shape is null."""
    raise NotImplementedError(dtype, shape, data)


def _signature(one: Signature) -> tuple[Callable[..., object], tuple[str]]:
    return signature, (one.id,)


def _finder(_: StepFinder) -> tuple[Callable[..., object], tuple[()]]:
    return finder, ()


def _zone(one: ZoneInfo) -> tuple[Callable[..., object], tuple[str]]:
    return zone, (one.key,)


def _array(one: array[Any]) -> tuple[Callable[..., object], tuple[str, bytes]]:
    return words, (one.typecode, one.tobytes())


def _words(code: str, data: bytes) -> array[Any]:
    made: array[Any] = array(code)
    made.frombytes(data)
    return made


_SCALARS: Final = (
    *(np.float64, np.float32, np.bool_, np.int64, np.int32, np.int16, np.int8),
    *(np.uint64, np.uint32, np.uint16, np.uint8),
)


def _dtype(one: np.dtype[Any]) -> str | list[Any]:
    if one.hasobject:
        raise pickle.PicklingError("an array of objects")
    return one.str if one.names is None else one.descr


def _numbers(one: np.ndarray[Any, Any]) -> tuple[Callable[..., object], tuple[object, ...]]:
    return numbers, (_dtype(one.dtype), one.shape, one.tobytes())


def _number(one: np.generic) -> tuple[Callable[..., object], tuple[object, ...]]:
    return numbers, (_dtype(one.dtype), None, one.tobytes())


def _read_numbers(dtype: str | list[Any], shape: tuple[int, ...] | None, data: bytes) -> object:
    kind = np.dtype(dtype)
    if kind.hasobject:
        raise _refused("an array of objects")
    flat = np.frombuffer(data, kind)
    return flat[0] if shape is None else flat.reshape(shape).copy()


def dumps(value: object, analyzer: Analyzer) -> bytes:
    """Return what `dump` writes."""
    stream = io.BytesIO()
    dump(value, stream, analyzer)
    return stream.getvalue()
