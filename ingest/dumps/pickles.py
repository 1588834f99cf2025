"""Unpickle a dump without trusting it.

A pickle is a program for a stack machine. What a flight recorder writes needs no more than lists,
dicts, tuples, strings, numbers and null, so the machine here knows nothing else: no classes, no
calls. Whatever else a pickle tries is refused, and said; nothing of a refused pickle is run. Source
of the operation codes: the standard library's `pickletools`.
"""

# ruff: noqa: PLR2004 - operation codes stand beside their names

from __future__ import annotations

import pickle
import pickletools
import re
import struct
from typing import Any, Final

MAX_OPERATIONS: Final = 20_000_000
"""Operations of one pickle: a ring of 100,000 collectives needs some 8 million."""
MAX_CONTAINERS: Final = 2_000_000
"""Lists and dicts of one pickle; each costs some 60 bytes, and one byte of the file."""
MAX_MEMO: Final = 1 << 20
"""Objects that may be remembered for use again."""
MAX_INTEGER_BYTES: Final = 8
MAX_NAME: Final = 80
"""Characters shown of what a pickle tried to load."""

_STRINGS: Final = {0x58: 4, 0x8C: 1, 0x8D: 8}
"""BINUNICODE, SHORT_BINUNICODE, BINUNICODE8: how wide their length is written."""
_TUPLES: Final = {0x29: 0, 0x85: 1, 0x86: 2, 0x87: 3}
"""EMPTY_TUPLE, TUPLE1, TUPLE2, TUPLE3."""
_PAIR: Final = 0x86
_GETS: Final = {0x68: 1, 0x6A: 4}
"""BINGET, LONG_BINGET: how wide their index is."""
_PUTS: Final = frozenset({b"q", b"r", b"\x94"})
_FRAME: Final = 0x95
_NAMES: Final = {ord(op.code): op.name for op in pickletools.opcodes}


class UnsafePickleError(ValueError):
    """A pickle that tries more than to be data: what it tried."""


class BrokenPickleError(ValueError):
    """A pickle that ends early, makes no sense or is larger than any dump."""


def unpickle(data: bytes) -> Any:  # noqa: ANN401 - whatever the pickle holds
    r"""Return what a pickle of plain data holds; its tuples may come back as lists.

    Cost: linear in its length, which the caller bounds; memory is bounded by `MAX_CONTAINERS`.

    Raises
    ------
    UnsafePickleError
        For a pickle that tries anything else.
    BrokenPickleError
        For one that makes no sense or exceeds a bound.

    Examples
    --------
    >>> unpickle(pickle.dumps({"version": "2.10", "entries": [1, (2, 3)]}))
    {'version': '2.10', 'entries': [1, [2, 3]]}
    >>> try:
    ...     unpickle(b"\x80\x02cos\nsystem\n(X\x04\x00\x00\x00truetR.")
    ... except UnsafePickleError as error:
    ...     print(error)
    it tries to load os.system
    """
    if data.count(b"]") + data.count(b"}") > MAX_CONTAINERS:
        raise BrokenPickleError("it may hold more lists and dicts than a dump has")
    if is_plain(data):
        return _load(data)
    return interpret(data)


def _load(data: bytes) -> Any:  # noqa: ANN401
    try:
        return pickle.loads(data)  # noqa: S301 - proven to be plain data
    except (
        pickle.UnpicklingError,
        ArithmeticError,
        AttributeError,
        EOFError,
        LookupError,
    ) as error:
        raise BrokenPickleError("it is broken") from error
    except (TypeError, ValueError) as error:
        raise BrokenPickleError("it is broken") from error


# --- the proof ---------------------------------------------------------------------------------
# Most of a recorder's dump is a run of operations that push numbers and what was seen before, and
# collect them. A regular expression passes over such a run at the speed of C. None of them calls
# anything; what they remember stays small; and what is slow to compare, tuples of tuples of tuples,
# can't be built: a remembered tuple is a pair of strings written out, and a pair of things seen
# before is not remembered. So the standard library may unpickle it. The rest is the machine's.

_GET = rb"(?:h.|j.{3}\x00)"
_PUT = rb"(?:q.|r.{2}[\x00-\x0f]\x00|\x94)"
_LONG = b"|".join(b"\\x%02x.{%d}" % (width, width) for width in range(MAX_INTEGER_BYTES + 1))
_RUN = re.compile(
    rb"(?:%(get)s%(get)s\x86(?![qr\x94])"  # a pair of things seen before
    rb"|%(get)s(?!\x86|%(get)s\x86|[X\x8c\x8d])"  # a thing seen before, of no pair
    rb"|[\]}euas](?:%(put)s|(?![qr\x94]))"  # a list or a dict, begun or filled
    rb"|[(\x88\x89N]|K.|M..|J.{4}|G.{8}|\x8a(?:%(long)s))*+"
    % {b"get": _GET, b"put": _PUT, b"long": _LONG},
    re.DOTALL,
)
_MAYBE_PUT = re.compile(rb"%b?" % _PUT, re.DOTALL)
_START = re.compile(rb"\x80[\x02-\x05](?:\x95.{8})?", re.DOTALL)
_LAST = re.compile(rb"%b?\.\Z" % _PUT, re.DOTALL)


def is_plain(data: bytes) -> bool:
    """Whether a pickle is shown to be plain data without running it, as PyTorch's own writer's is.

    False says nothing against it.
    """
    start = _START.match(data)
    position, above = (start.end(), "") if start is not None else (len(data), "")
    while position < len(data):
        end = _end(_RUN, data, position)
        if end == len(data):  # cut off
            break
        above = above if end == position else ""  # what was pushed last: written or seen before
        code = data[end]
        if code in _STRINGS:
            width = _STRINGS[code]
            said = int.from_bytes(data[end + 1 : end + 1 + width], "little")
            position = min(end + 1 + width + said, len(data))  # it may say any length
            position, above = _end(_MAYBE_PUT, data, position), above[-1:] + "w"
        elif code in _GETS:
            position, above = end + 1 + _GETS[code], above[-1:] + "s"
        elif code == _PAIR and above == "ww":
            position, above = _end(_MAYBE_PUT, data, end + 1), ""
        elif code == _PAIR and above in {"sw", "ws"} and data[end + 1 : end + 2] not in _PUTS:
            position, above = end + 1, ""
        elif code == _FRAME:
            position = end + 9
        else:
            return _LAST.match(data, end) is not None
    return False


def _end(pattern: re.Pattern[bytes], data: bytes, position: int) -> int:
    found = pattern.match(data, position)
    return position if found is None else found.end()


# --- the machine -------------------------------------------------------------------------------


def interpret(data: bytes) -> Any:  # noqa: ANN401, C901, PLR0912, PLR0915 - one loop, kept flat for speed
    """Run a pickle on a machine that knows plain data only; tuples become lists.

    Lists can't be keys, so nothing in a pickle is slow to compare. In the order of how often dumps
    use them. Raises as `unpickle`.
    """
    stack: list[Any] = []
    marks: list[int] = []
    memo: dict[int, Any] = {}
    push, position = stack.append, 0
    try:
        for _ in range(MAX_OPERATIONS):
            code = data[position]
            position += 1
            if code == 0x68:  # BINGET
                push(memo[data[position]])
                position += 1
            elif code == 0x94:  # MEMOIZE
                memo[len(memo)] = stack[-1]
            elif code == 0x28:  # MARK
                marks.append(len(stack))
            elif code == 0x4B:  # BININT1
                push(data[position])
                position += 1
            elif code == 0x5D:  # EMPTY_LIST
                push([])
            elif code == 0x65:  # APPENDS
                items = _since(stack, marks.pop())
                _top(stack, list).extend(items)
            elif code == 0x61:  # APPEND
                item = stack.pop()
                _top(stack, list).append(item)
            elif code == 0x4D:  # BININT2
                push(int.from_bytes(data[position : position + 2], "little"))
                position += 2
            elif code == 0x4A:  # BININT
                push(int.from_bytes(data[position : position + 4], "little", signed=True))
                position += 4
            elif code == 0x8A:  # LONG1
                width = data[position]
                if width > MAX_INTEGER_BYTES:
                    raise BrokenPickleError(f"it holds an integer of {width} bytes")
                push(
                    int.from_bytes(data[position + 1 : position + 1 + width], "little", signed=True)
                )
                position += 1 + width
            elif code == 0x89:  # NEWFALSE
                push(False)  # noqa: FBT003
            elif code == 0x88:  # NEWTRUE
                push(True)  # noqa: FBT003
            elif code == 0x4E:  # NONE
                push(None)
            elif code == 0x71:  # BINPUT
                memo[data[position]] = stack[-1]
                position += 1
            elif code in _STRINGS:
                width = _STRINGS[code]
                length = int.from_bytes(data[position : position + width], "little")
                position += width
                push(data[position : position + length].decode("utf-8", "replace"))
                position += length
            elif code == 0x7D:  # EMPTY_DICT
                push({})
            elif code == 0x75:  # SETITEMS
                _set(stack, _since(stack, marks.pop()))
            elif code == 0x73:  # SETITEM
                _set(stack, _since(stack, len(stack) - 2))
            elif code in _TUPLES:
                push(_since(stack, len(stack) - _TUPLES[code]))
            elif code == 0x74:  # TUPLE
                push(_since(stack, marks.pop()))
            elif code == 0x6A:  # LONG_BINGET
                push(memo[int.from_bytes(data[position : position + 4], "little")])
                position += 4
            elif code == 0x72:  # LONG_BINPUT
                memo[int.from_bytes(data[position : position + 4], "little")] = stack[-1]
                position += 4
            elif code == 0x47:  # BINFLOAT
                push(struct.unpack_from(">d", data, position)[0])
                position += 8
            elif code == 0x95:  # FRAME
                position += 8
            elif code == 0x80:  # PROTO
                position += 1
            elif code == 0x2E:  # STOP
                return _only(stack, marks)
            else:
                raise UnsafePickleError(_what_it_tries(data, position, code, stack))
    except (IndexError, KeyError, TypeError, struct.error) as error:
        raise BrokenPickleError(f"it is broken at byte {position}") from error
    raise BrokenPickleError(f"it has more than {MAX_OPERATIONS} operations")


def _only(stack: list[Any], marks: list[int]) -> Any:  # noqa: ANN401
    if len(stack) != 1 or marks:
        raise IndexError
    return stack[0]


def _since(stack: list[Any], start: int) -> list[Any]:
    """Take what lies above `start` off the stack."""
    if not 0 <= start <= len(stack):
        raise IndexError
    items = stack[start:]
    del stack[start:]
    return items


def _top(stack: list[Any], kind: type) -> Any:  # noqa: ANN401
    if type(stack[-1]) is not kind:
        raise TypeError
    return stack[-1]


def _set(stack: list[Any], items: list[Any]) -> None:
    keys = items[::2]
    if any(type(key) is not str for key in keys) or len(items) % 2:
        raise BrokenPickleError("it has a key that is no string")
    _top(stack, dict).update(zip(keys, items[1::2], strict=True))


def _what_it_tries(data: bytes, position: int, code: int, stack: list[Any]) -> str:
    """Say what an operation that isn't allowed would do; it is not done."""
    name = _NAMES.get(code, f"operation {code:#04x}")
    if name in {"GLOBAL", "INST"}:
        words = data[position : position + 2 * MAX_NAME].split(b"\n")[:2]
        return f"it tries to load {_shown(b'.'.join(words).decode('utf-8', 'replace'))}"
    if name == "STACK_GLOBAL" and len(stack) > 1:
        return f"it tries to load {_shown('.'.join(str(word)[:MAX_NAME] for word in stack[-2:]))}"
    return f"it uses {name}, which no dump needs"


def _shown(text: str) -> str:
    return "".join(c if c.isprintable() else "?" for c in text[:MAX_NAME])
