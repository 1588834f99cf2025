"""Nodes as JSON: `sinfo --json`, `scontrol show node --json` and slurmrestd's ``/nodes``.

Releases differ: states are a word with `state_flags` beside it (to 22.05) or a list of words, times
are numbers or ``{"set", "infinite", "number"}``, and `sinfo --json` lists groups of nodes under
``sinfo`` (since 23.02), single nodes under ``nodes`` before.

Source: Slurm's openapi/v0.0.37 to v0.0.38 and data_parser v0.0.39 and later.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import Any

import msgspec

from relume.clock import MICROSECONDS_PER_SECOND
from relume.errors import InputError
from relume.events import NodeEvent
from relume.ingest.nodes.actors import judge
from relume.ingest.skips import SkipCounts

SOURCE = "sinfo"
_LIST = re.compile(r'\s*\{.*?"(?:nodes|sinfo)"\s*:\s*\[\s*\{', re.DOTALL)
_WORDS = ("active_features", "reason_changed_at", "slurmd_start_time", "real_memory", "boot_time")
_GROUP_WORDS = ("port", "weight", "sockets", "features", "partition", "allocated")
_WORDS_NEEDED = 3
_NO_STATES = frozenset({"", "INVALID"})


def is_nodes(start: str) -> bool:
    """Whether a text begins as what `read_nodes` reads: a list of nodes with Slurm's keys.

    >>> is_nodes('{"nodes": [{"name": "n1", "loss": 2.1}]}')
    False
    """
    if start[:1] not in {"{", " ", "\n"} or _LIST.match(start) is None or '"state"' not in start:
        return False
    found = sum(f'"{word}"' in start for word in (*_WORDS, *_GROUP_WORDS))
    return found >= _WORDS_NEEDED


def read_nodes(
    document: bytes | str,
    skipped: SkipCounts,
    *,
    cluster: str = "local",
    observed_at: int | None = None,
) -> list[NodeEvent]:
    """Return what each node is, in the order of the document.

    `state` is Slurm's words joined by ``+``; `event_time` is when the reason was set, null without.

    Raises
    ------
    InputError
        When the document is something else.

    Examples
    --------
    >>> text = (
    ...     '{"nodes": [{"name": "n1", "state": ["IDLE", "DRAIN"], "reason": "NHC: check_hw_mem"}]}'
    ... )
    >>> [event] = read_nodes(text, SkipCounts())
    >>> event.state, event.check
    ('IDLE+DRAIN', 'check_hw_mem')
    """
    if isinstance(document, bytes):  # Slurm passes on what users wrote as it is
        document = document.decode("utf-8", "replace")
    try:
        found = msgspec.json.decode(document)
    except (msgspec.DecodeError, UnicodeError, RecursionError) as error:
        raise _unreadable(str(error)) from error
    rows = found.get("nodes") or found.get("sinfo") if isinstance(found, dict) else None
    if not isinstance(rows, list):
        raise _unreadable("no list of nodes")
    events: dict[tuple[str, str | None], NodeEvent] = {}
    for row in rows:
        told = _names_and_state(row) if isinstance(row, dict) else None
        if told is None:
            skipped.add("node_row")
            continue
        for event in _events(row, *told, cluster=cluster, observed_at=observed_at):
            events.setdefault((event.node, event.state), event)  # once for each partition
    return list(events.values())


def _events(
    row: dict[str, Any],
    names: list[str],
    state: str,
    *,
    cluster: str,
    observed_at: int | None,
) -> Iterator[NodeEvent]:
    reason, user, changed = _reason(row)
    cause = judge(reason, user)
    for name in names:
        yield NodeEvent(
            source=SOURCE,
            cluster=cluster,
            event_time=changed if reason else None,
            observed_at=observed_at,
            node=name,
            state=state,
            reason=reason,
            actor=cause.actor,
            check=cause.check,
            outcome=cause.outcome,
        )


def _names_and_state(row: dict[str, Any]) -> tuple[list[str], str] | None:
    group, node = row.get("nodes"), row.get("node")
    names = group.get("nodes") if isinstance(group, dict) else [row.get("name")]
    states = node.get("state") if isinstance(node, dict) else row.get("state")
    words = [*_words(states), *_words(row.get("state_flags"))]
    if not isinstance(names, list) or not words:
        return None
    known = [name for name in names if isinstance(name, str) and name]
    return (known, "+".join(words)) if known else None


def _words(given: object) -> list[str]:
    words = [given] if isinstance(given, str) else given if isinstance(given, list) else []
    return [word for word in words if isinstance(word, str) and word.upper() not in _NO_STATES]


def _reason(row: dict[str, Any]) -> tuple[str | None, str | None, int | None]:
    """Return the reason, who set it and when."""
    given = row.get("reason")
    if isinstance(given, dict):
        text, user, changed = given.get("description"), given.get("user"), given.get("time")
    else:
        text, user = given, row.get("reason_set_by_user")
        changed = row.get("reason_changed_at")
    if isinstance(changed, dict):
        changed = changed.get("number") if changed.get("set", True) else None
    seconds = changed if isinstance(changed, int) and changed > 0 else None
    return (
        text if isinstance(text, str) and text else None,
        user if isinstance(user, str) else None,
        None if seconds is None else seconds * MICROSECONDS_PER_SECOND,
    )


def _unreadable(found: str) -> InputError:
    return InputError(
        "nodes as JSON",
        found=found,
        expected="the nodes, as `sinfo --json` or `scontrol show node --json` prints them",
    )
