"""Tables of a scan for a terminal."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence

from rich.box import SIMPLE_HEAD
from rich.console import Group
from rich.table import Table
from rich.text import Text

from relume.advice import Advice
from relume.clock import to_datetime
from relume.errors import counted
from relume.identity import AttemptId
from relume.printing import printable
from relume.serve.scan.record import Scan
from relume.serve.scan.scanned import Scanned
from relume.serve.scan.summary import repeats, suspicious_nodes
from relume.slurm.hostlists import fold
from relume.verdict import Verdict

MAX_ROWS = 20
"""Repeats and nodes that are shown; all are in the JSON form."""
_NOTHING = "-"
_MAX_NODES_TEXT = 24


def render(scan: Scan, shown: Sequence[Scanned]) -> Iterator[Group | Text]:
    """Yield the tables of a scan that have something in them, and one line that counts."""
    if shown:
        yield _table("", _ATTEMPT_COLUMNS, map(_attempt_cells, shown))
    again = repeats(scan.attempts)
    if again:
        rows = [
            (
                str(len(one.attempts)),
                what(one.verdict),
                str(one.streak),
                _listed([_job(name) for name in one.attempts]),
                one.fingerprint,
            )
            for one in again[:MAX_ROWS]
        ]
        yield _table("Failures that came again", _REPEAT_COLUMNS, rows)
    nodes = suspicious_nodes(scan.attempts)
    if nodes:
        cells = [
            (one.node, str(one.blamed), str(one.failed), str(one.ran)) for one in nodes[:MAX_ROWS]
        ]
        yield _table("Nodes that failures are blamed on", _NODE_COLUMNS, cells)
    yield Text(summary(scan))


def summary(scan: Scan) -> str:
    """Return what was looked at, in one sentence."""
    counts = scan.counts
    rest = counts["attempts"] - counts["findings"] - counts["unknown"]
    return (
        f"{counted(counts['attempts'], 'attempt')}: {counts['findings']} failed, "
        f"{rest} without a finding, {counts['unknown']} unknown"
    )


def what(verdict: Verdict | None) -> str:
    """Return what happened, in a few words.

    >>> what(None)
    'unknown'
    """
    if verdict is None:
        return "unknown"
    cause = f": {verdict.cause.replace('_', ' ')}" if verdict.cause else ""
    if verdict.kind.is_failure and not verdict.cause:
        cause = ": cause unknown"
    return f"{verdict.kind.value}{cause} ({verdict.domain.value})"


_REPEAT_COLUMNS = ("times", "the same failure", "in a row", "attempts", "fingerprint")
_NODE_COLUMNS = ("node", "blamed", "failed attempts there", "attempts there")
_ATTEMPT_COLUMNS = (
    "job",
    "state",
    "ended (UTC)",
    "nodes",
    "what",
    "culprit",
    "advised",
    "conf.",
    "log",
)


def _attempt_cells(one: Scanned) -> tuple[str, ...]:
    verdict = one.verdict
    return (
        _job(one.entry.attempt),
        one.entry.state or _NOTHING,
        _NOTHING if one.end is None else f"{to_datetime(one.end):%m-%d %H:%M}",
        _nodes(one.entry.nodes),
        what(verdict),
        _culprit(verdict),
        _advised(one.advice),
        _NOTHING if verdict is None else f"{verdict.confidence:.2f}",
        _log(one),
    )


def _job(attempt: str) -> str:
    """The job's id, with its restart count where it had been started before."""
    identity = AttemptId.parse(attempt)
    again = f" #{identity.restart_count}" if identity.restart_count else ""
    return f"{identity.job_key.job_id}{again}"


def _nodes(nodes: Sequence[str]) -> str:
    if not nodes:
        return _NOTHING
    text = fold(nodes)
    return text if len(text) <= _MAX_NODES_TEXT else counted(len(nodes), "node")


def _culprit(verdict: Verdict | None) -> str:
    if verdict is None or not verdict.culprit:
        return _NOTHING
    where = verdict.culprit
    rank = None if where.rank is None else f"rank {where.rank}"
    gpu = None if where.gpu is None else f"gpu {where.gpu}"
    return " ".join(part for part in (where.node, rank, gpu, where.nic) if part) or _NOTHING


def _advised(advice: Advice | None) -> str:
    if advice is None:
        return _NOTHING
    without = f" {fold(advice.exclude_nodes)}" if advice.exclude_nodes else ""
    return f"{advice.operation.value}{without}"


def _log(one: Scanned) -> str:
    if not one.logs:
        return "missing"
    return f"found, {len(one.missing)} missing" if one.missing else "found"


def _listed(names: Sequence[str], most: int = 4) -> str:
    more = f" and {len(names) - most} more" if len(names) > most else ""
    return ", ".join(names[:most]) + more


def _table(title: str, columns: Iterable[str], rows: Iterable[Sequence[str]]) -> Group:
    table = Table(box=SIMPLE_HEAD)
    for name in columns:
        table.add_column(Text(name), overflow="fold")
    for cells in rows:  # names of jobs and nodes are others' words: no markup, no control codes
        table.add_row(*(Text(printable(cell)) for cell in cells))
    return Group(*([Text(title, style="bold")] if title else []), table)
