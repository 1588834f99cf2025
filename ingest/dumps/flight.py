"""Decode the flight recorder of one rank, PyTorch's formats 2.1 to 2.10, from its plain data.

Source: ``torch/csrc/distributed/c10d/FlightRecorderDetail.hpp`` and what PyTorch wrote. What is
surprising in it:

- pickled, numbers are numbers and what did not happen is null; as JSON, counters are strings and
  what did not happen is 0, and a ring without entries has no key ``entries``;
- ``pg_status`` goes by the number of a group on that rank (``pg_id``), everything else by its name;
- in a coalesced batch only the entry ``coalesced`` at its end has a state, the others stay
  ``scheduled`` for ever;
- Gloo never says ``completed``: a work of it is over when it is ``retired``, and its ``pg_config``
  names no ranks;
- without ``TORCH_NCCL_ENABLE_TIMING`` nothing is ever ``started``;
- with ``TORCH_INCLUDE_ONLY_ACTIVE`` what is complete is left out.
"""

from __future__ import annotations

import re
from collections import deque
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from functools import lru_cache
from typing import Any, Final, NamedTuple

from relume.events import Collective, ProcessGroup

KEPT_COMPLETE: Final = 16
"""Complete collectives kept of each group, the last ones: enough to compare clocks and habits."""
KEPT_PENDING: Final = 4096
"""Collectives not complete that are kept, the first ones."""
MAX_ENTRIES: Final = 200_000
MAX_GROUPS: Final = 4096
MAX_WORLD: Final = 1 << 20
"""No job has more ranks."""
MAX_TEXT: Final = 200
MAX_SIZES: Final = 64
"""Tensors of a collective, and dimensions of a tensor, that are kept."""
COALESCED: Final = ":coalesced"
COMPLETED: Final = "completed"
STARTED: Final = "started"
SCHEDULED: Final = "scheduled"
_RANK_KEYS: Final = ("rank", "global_rank")
_NODE_KEYS: Final = ("hostname", "host_name", "host", "node")
_NODE: Final = re.compile(r"[A-Za-z0-9][A-Za-z0-9.:_-]{0,252}")
_NUMBER: Final = re.compile(r"-?\d{1,19}")
_PEERS: Final = re.compile(r"(?:send|recv) (?P<own>\d{1,7})(?:->|<-)\d{1,7}")


@dataclass(frozen=True, slots=True)
class Flight:
    """A decoded recorder, before it is known whose it is.

    `rank` and `node` are what the file itself states; `candidates` the ranks that it can be of by
    its groups, null when they don't tell.
    """

    version: str | None
    groups: tuple[ProcessGroup, ...]
    collectives: tuple[Collective, ...]
    is_whole: bool
    rank: int | None
    node: str | None
    candidates: frozenset[int] | None


class _Entry(NamedTuple):
    """What of an entry decides whether it is kept; `raw` is the entry itself."""

    group: str
    sequence: int
    is_p2p: bool
    operation: str
    raw: dict[str, Any]


def is_flight(document: object) -> bool:
    """Whether plain data is a flight recorder: its version, with entries or groups."""
    return isinstance(document, dict) and (
        "entries" in document or ("pg_config" in document and "version" in document)
    )


def decode(document: dict[str, Any]) -> Flight:
    """Decode one recorder; entries without group or number are passed over.

    Examples
    --------
    >>> entry = {"process_group": ["0", "default_pg"], "collective_seq_id": 7, "state": "started"}
    >>> flight = decode({"version": "2.4", "entries": [entry | {"profiling_name": "nccl:barrier"}]})
    >>> flight.collectives[0].operation, flight.collectives[0].sequence_number
    ('nccl:barrier', 7)
    """
    raw = _list(document.get("entries"))[-MAX_ENTRIES:]
    entries = list(_entries(_telling(raw)))
    groups = _groups(document, entries)
    own = {_own_rank(entry, groups) for entry in entries if entry.is_p2p} - {None}
    version = document.get("version")
    return Flight(
        version=version[:MAX_TEXT] if isinstance(version, str) else None,
        groups=tuple(groups.values()),
        collectives=tuple(_kept(entries)),
        is_whole=_is_whole(raw),
        rank=next((r for key in _RANK_KEYS if (r := _rank(document.get(key))) is not None), None),
        node=next((n for key in _NODE_KEYS if (n := _node(document.get(key)))), None),
        candidates=_candidates(groups.values(), own),
    )


def _telling(raw: Sequence[object]) -> Iterator[dict[str, Any]]:
    """Leave out most of what is complete: a ring holds thousands of works, a hang has a few open.

    Kept are all entries that aren't complete, the last of each group that are, and the ends of
    batches, which tell the state of the entries before them; the first, too, which tells whether
    the ring has lost what is open.
    """
    kept: list[int] = [0]
    last: dict[object, deque[int]] = {}
    for index, item in enumerate(raw):
        if type(item) is not dict:
            continue
        operation = item.get("profiling_name")
        is_marker = type(operation) is str and operation.endswith(COALESCED)
        if item.get("state") != COMPLETED or is_marker:
            kept.append(index)
            continue
        named = item.get("process_group")
        group = named[0] if type(named) in {list, tuple} and named else named
        key = group if type(group) is str else None, item.get("is_p2p") is True
        if key not in last:
            last[key] = deque(maxlen=KEPT_COMPLETE)
        last[key].append(index)
    for index in sorted({*kept, *(index for indices in last.values() for index in indices)}):
        item = raw[index] if index < len(raw) else None
        if isinstance(item, dict):
            yield item


def _entries(items: Iterable[dict[str, Any]]) -> Iterator[_Entry]:
    for item in items:
        named = item.get("process_group")
        group = (
            named[0] if isinstance(named, (list, tuple)) and named else item.get("pg_name", named)
        )
        operation = item.get("profiling_name")
        if not isinstance(operation, str) or group is None:
            continue
        kind = operation.rpartition(":")[2]
        is_p2p = item.get("is_p2p")
        if not isinstance(is_p2p, bool):
            is_p2p = kind.startswith(("send ", "recv "))
        sequence = _number(item.get("p2p_seq_id" if is_p2p else "collective_seq_id"))
        if sequence is None:
            sequence = _number(item.get("seq_id"))
        if sequence is not None:
            yield _Entry(str(group)[:MAX_TEXT], sequence, is_p2p, operation[:MAX_TEXT], item)


# --- groups ------------------------------------------------------------------------------------


def _groups(document: dict[str, Any], entries: Sequence[_Entry]) -> dict[str, ProcessGroup]:
    """Groups by name, from the configuration and the entries, with the recorder's counters."""
    described: dict[str, tuple[str | None, tuple[int, ...]]] = {}
    for name, told in list(_dict(document.get("pg_config")).items())[:MAX_GROUPS]:
        ranks = told.get("ranks") if isinstance(told, dict) else told
        described[name[:MAX_TEXT]] = _text(_dict(told).get("desc")), _ranks(ranks)
    numbers: dict[str, str] = {}
    for entry in entries:
        named = entry.raw.get("process_group")
        if entry.group not in described and len(described) < MAX_GROUPS:
            pair = named if isinstance(named, (list, tuple)) else ()
            described[entry.group] = _text(pair[1] if len(pair) > 1 else None), ()
        numbers.setdefault(str(entry.raw.get("pg_id")), entry.group)
    status = _dict(document.get("pg_status"))
    names = _names_of(status, described, numbers)
    counters = {names[number]: _dict(told) for number, told in status.items() if number in names}
    return {
        name: ProcessGroup(
            name=name,
            description=description,
            ranks=ranks,
            last_enqueued=_number(counters.get(name, {}).get("last_enqueued_collective")),
            last_started=_number(counters.get(name, {}).get("last_started_collective")),
            last_completed=_number(counters.get(name, {}).get("last_completed_collective")),
        )
        for name, (description, ranks) in described.items()
        if name or ranks
    }


def _names_of(
    status: dict[str, Any], described: Iterable[str], numbers: dict[str, str]
) -> dict[str, str]:
    """Name the groups of ``pg_status``, which goes by the order in which this rank made them.

    Entries tell which is which. Groups without any are told by order: names that are numbers count
    up in the same order. Where that contradicts an entry, it is left open.
    """
    names = sorted((n for n in described if n.isdecimal()), key=int)
    ordered = sorted((n for n in status if n.isdecimal()), key=int)
    by_order = dict(zip(ordered, names, strict=False)) if len(names) == len(ordered) else {}
    if any(by_order.get(number, name) != name for number, name in numbers.items()):
        by_order = {}
    return by_order | {number: name for number, name in numbers.items() if number in status}


@lru_cache(maxsize=4096)
def _ranks_of_text(text: str) -> tuple[int, ...]:
    numbers = tuple(int(found) for found in re.findall(r"\d{1,7}", text))
    return numbers if all(number < MAX_WORLD for number in numbers) else ()


def _ranks(told: object) -> tuple[int, ...]:
    if isinstance(told, str):
        return _ranks_of_text(told)
    numbers = tuple(_rank(item) for item in _list(told)[:MAX_WORLD])
    return tuple(n for n in numbers if n is not None) if None not in numbers else ()


def _candidates(groups: Iterable[ProcessGroup], own: set[int | None]) -> frozenset[int] | None:
    """Ranks that are in all groups of a dump: a rank tells only of its own."""
    if len(own) == 1:
        return frozenset(rank for rank in own if rank is not None)
    sets = [frozenset(group.ranks) for group in groups if group.ranks]
    return frozenset.intersection(*sets) if sets else None


def _own_rank(entry: _Entry, groups: dict[str, ProcessGroup]) -> int | None:
    """Rank of whoever wrote ``send 0->3``: the first number is its own place in the group."""
    found = _PEERS.search(entry.operation)
    ranks = groups[entry.group].ranks if entry.group in groups else ()
    place = int(found["own"]) if found is not None else len(ranks)
    return ranks[place] if place < len(ranks) else None


# --- collectives -------------------------------------------------------------------------------


def _kept(entries: Sequence[_Entry]) -> Iterator[Collective]:
    """Collectives that are not complete, the last complete ones of each group, and the first."""
    batches = _batches(entries)
    states = [_state(entry, batches) for entry in entries]
    complete: dict[tuple[str, bool], deque[int]] = {}
    for index, (entry, state) in enumerate(zip(entries, states, strict=True)):
        if state == COMPLETED:
            of_group = complete.setdefault((entry.group, entry.is_p2p), deque(maxlen=KEPT_COMPLETE))
            of_group.append(index)
    pending = [i for i, state in enumerate(states) if state != COMPLETED][:KEPT_PENDING]
    kept = {*pending, *(i for of_group in complete.values() for i in of_group)}
    for index in sorted(kept | {0} if entries else kept):
        entry = entries[index]
        marker = batches.get((entry.group, entry.is_p2p, entry.sequence))
        if marker is None or marker is not entry or _is_alone(entries, index):
            yield _collective(entry, states[index], marker or entry)


def _batches(entries: Iterable[_Entry]) -> dict[tuple[str, bool, int], _Entry]:
    """The entry at the end of each coalesced batch, which alone has a state."""
    return {
        (entry.group, entry.is_p2p, entry.sequence): entry
        for entry in entries
        if entry.operation.endswith(COALESCED)
    }


def _is_alone(entries: Sequence[_Entry], index: int) -> bool:
    """Whether a batch is its last entry only: the works in it were not recorded."""
    before = entries[index - 1] if index else None
    return before is None or before[:3] != entries[index][:3]


def _state(entry: _Entry, batches: dict[tuple[str, bool, int], _Entry]) -> str:
    marker = batches.get((entry.group, entry.is_p2p, entry.sequence), entry)
    state = marker.raw.get("state")
    if state == COMPLETED or _time(marker.raw.get("time_discovered_completed_ns")) is not None:
        return COMPLETED
    if marker.operation.startswith("gloo:") and marker.raw.get("retired") is True:
        return COMPLETED
    return STARTED if state == STARTED else SCHEDULED


def _collective(entry: _Entry, state: str, timed: _Entry) -> Collective:
    raw, timeout = entry.raw, _number(entry.raw.get("timeout_ms"))
    return Collective(
        group=entry.group,
        sequence_number=entry.sequence,
        operation=entry.operation,
        state=state,
        is_p2p=entry.is_p2p,
        enqueued_time=_time(raw.get("time_created_ns")),
        started_time=_time(timed.raw.get("time_discovered_started_ns")),
        completed_time=_time(timed.raw.get("time_discovered_completed_ns")),
        timeout_seconds=None if timeout is None else timeout / 1000,
        input_sizes=_sizes(raw.get("input_sizes")),
        output_sizes=_sizes(raw.get("output_sizes")),
        input_dtypes=_texts(raw.get("input_dtypes")),
        output_dtypes=_texts(raw.get("output_dtypes")),
    )


def _is_whole(raw: Sequence[object]) -> bool:
    """Whether the ring holds every work since the start: numbered from 0 without a gap."""
    ends = [raw[0], raw[-1]] if raw else []
    numbers = [_number(item.get("record_id")) for item in ends if isinstance(item, dict)]
    return numbers == [0, len(raw) - 1]


# --- plain values ------------------------------------------------------------------------------


def _number(value: object) -> int | None:
    if isinstance(value, bool):
        return None
    if isinstance(value, int):
        return value if abs(value) < 1 << 63 else None
    if isinstance(value, str) and _NUMBER.fullmatch(value):
        return int(value)
    return None


def _rank(value: object) -> int | None:
    number = _number(value)
    return number if number is not None and 0 <= number < MAX_WORLD else None


def _time(value: object) -> int | None:
    """Microseconds of a time in nanoseconds; 0 and null are no time."""
    number = _number(value)
    return number // 1000 if number is not None and number > 0 else None


def _sizes(value: object) -> tuple[tuple[int, ...], ...]:
    return tuple(
        tuple(n for item in _list(shape)[:MAX_SIZES] if (n := _number(item)) is not None)
        for shape in _list(value)[:MAX_SIZES]
    )


def _texts(value: object) -> tuple[str, ...]:
    return tuple(t for item in _list(value)[:MAX_SIZES] if (t := _text(item)) is not None)


def _text(value: object) -> str | None:
    return value[:MAX_TEXT] if isinstance(value, str) and value else None


def _node(value: object) -> str | None:
    return value if isinstance(value, str) and _NODE.fullmatch(value) else None


def _dict(value: object) -> dict[str, Any]:
    return {str(k): v for k, v in value.items()} if isinstance(value, dict) else {}


def _list(value: object) -> Sequence[Any]:
    return value if isinstance(value, (list, tuple)) else ()
