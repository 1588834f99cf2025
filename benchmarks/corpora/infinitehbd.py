"""infinitehbd: 584 faults of 400 nodes over 348 days, with their repairs; no text of logs.

A fault is told by what the site's repair desk called it. Hardware, and a node that failed a stress
test, are evidence against the node. What the desk called software, a change or a training task is
none; an *unknown error* is a fault of the node too (it was taken out and repaired), but it is kept
apart, since an unknown cause must not count against a node in practice.
"""

from __future__ import annotations

from collections import defaultdict
from dataclasses import dataclass
from hashlib import sha256
from pathlib import Path
from typing import Any

import orjson

from relume.benchmarks.corpora.common import find_files
from relume.errors import InputError
from relume.verdict import Domain

FOLDER, _FILE = "infinitehbd", "fault_trace.json"
NODES = 400
"""Of the trace by its publishers; nodes without a fault aren't in the file."""
DAY_MICROS = 86_400_000_000
_NETWORK = frozenset({"NIC", "Parameter Plane Cable"})
_TESTED = "Stress Test Failure"


@dataclass(frozen=True, slots=True)
class Fault:
    """One fault: microseconds from the start of the trace to when it began and was repaired.

    `desk_domain` is what the repair desk found out, `kind` what it called it.
    """

    node: str
    start: int
    end: int
    desk_domain: Domain
    kind: str = ""


@dataclass(frozen=True, slots=True)
class Trace:
    """All faults in the order of their start."""

    hash: str
    faults: tuple[Fault, ...]
    days: float
    """From its start to its last row."""
    nodes: int = NODES


def load(data: Path) -> Trace:
    """Read the trace below the data folder.

    Raises
    ------
    InputError
        When it isn't there, or a row isn't as its publishers describe it.
    """
    (path,) = find_files(data, FOLDER, _FILE)
    content = path.read_bytes()
    try:
        rows = orjson.loads(content)
        days = max(float(row["event_time"]) for row in rows)
        faults = _paired(rows, round(days * DAY_MICROS))
    except (KeyError, TypeError, ValueError) as error:
        raise InputError(
            str(path), found=f"{type(error).__name__}: {error}", expected="rows of faults"
        ) from error
    return Trace(sha256(content).hexdigest()[:16], tuple(faults), days)


def _paired(rows: list[dict[str, Any]], last: int) -> list[Fault]:
    """Join starts and ends of the same node and kind, the oldest first; the rest ends at `last`."""
    begun: dict[tuple[str, str], list[tuple[int, Domain]]] = defaultdict(list)
    faults = []
    for row in sorted(rows, key=lambda row: (row["event_time"], row["event_type"])):
        at, kind = round(row["event_time"] * DAY_MICROS), row["fault_type"]
        name = f"{kind['Level']}/{kind['Class']}/{kind['Desc']}"
        same = begun[row["node_id"], name]
        if row["event_type"] == "fault_start":
            same.append((at, _domain(kind)))
        elif same:
            start, domain = same.pop(0)
            faults.append(Fault(row["node_id"], start, at, domain, name))
    for (node, name), left in begun.items():
        faults += [Fault(node, start, last, domain, name) for start, domain in left]
    return sorted(faults, key=lambda fault: (fault.start, fault.node, fault.end))


def _domain(kind: dict[str, str]) -> Domain:
    if kind["Level"].startswith("Hardware") or kind["Class"] == _TESTED:
        return Domain.NETWORK if kind["Class"] in _NETWORK else Domain.HARDWARE
    return Domain.PLATFORM if kind["Level"].startswith("Software") else Domain.UNKNOWN
