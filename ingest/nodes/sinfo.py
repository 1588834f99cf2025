"""What `sinfo` prints of nodes, as text, and `sacctmgr show event`, accounting's record of them.

Source: sinfo(1) options ``-N``, ``-R``, ``-o`` and ``-O``; sacctmgr(1) ``show event --parsable2``.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator
from datetime import tzinfo

from relume.events import NodeEvent
from relume.ingest.accounting.times import TIME, time_of
from relume.ingest.nodes.actors import judge
from relume.ingest.nodes.hosts import names_of
from relume.ingest.nodes.states import STATE
from relume.ingest.skips import SkipCounts
from relume.ingest.tables import HEADER_LINES, Cells, Form, read_table
from relume.ingest.timestamps import zone_of
from relume.slurm.nodes import RESUME

SINFO, SACCTMGR = "sinfo", "sacctmgr"
_HOSTS = re.compile(r"[\w.\[\],-]+", re.ASCII)
_ANYTHING = re.compile(".*", re.DOTALL)
_NO_REASON = frozenset({"", "none", "(null)", "n/a"})
_LINES_TOLD_BY = 200
_MOSTLY = 0.9
"""Share of rows that make a text a table: a job's log may begin with what `sinfo` printed."""
_REASONS = {"lost": "node_row", "foreign": "node_line", "joined": "node_row_joined"}


def _sinfo(nodes: str) -> Form:
    # `sinfo -R` prints no state: only nodes that are out of service have a reason.
    return Form(
        ids={"STATE": STATE, "REASON": _ANYTHING},
        needed={nodes: _HOSTS},
        typed={"TIMESTAMP": TIME, "NODELIST": _HOSTS, "HOSTNAMES": _HOSTS},
        texts=("REASON",),
        **_REASONS,
    )


_FORMS = tuple(_sinfo(nodes) for nodes in ("NODELIST", "HOSTNAMES"))
_STARTS = ("TimeStart", "Start")
_EVENTS = Form(
    ids={"NodeName": _HOSTS},
    needed={"State": STATE},
    typed=dict.fromkeys(("TimeStart", "TimeEnd", "Start", "End"), TIME),
    texts=("Reason",),
    **_REASONS,
)


def is_sinfo(start: str) -> bool:
    r"""Whether a text is a table of `sinfo` with states or with times of reasons, and little else.

    >>> table = "PARTITION AVAIL TIMELIMIT NODES STATE NODELIST\ngpu* up infinite 2 idle n[1-2]\n"
    >>> is_sinfo(table), is_sinfo(table + "step 1\nstep 2\n")
    (True, False)
    """
    lines = [line for line in start.split("\n", _LINES_TOLD_BY)[:_LINES_TOLD_BY] if line.strip()]
    if not any(map(_is_header, _with_bars(lines[:HEADER_LINES]))):
        return False
    barred = list(_with_bars(lines))
    head = next(place for place, line in enumerate(barred) if _is_header(line))
    # The second one: a partition without nodes is listed, too.
    known = sum(1 for line in barred[head:] if _is_header(line) or line.rstrip().endswith("n/a"))
    for table, cells in read_table(barred, *_FORMS, skipped=SkipCounts()):
        if "STATE" in table.at or TIME.fullmatch(Cells(table, cells).cell("TIMESTAMP")):
            known += 1 + sum(cell.count("\n") for cell in cells)
    return known > _MOSTLY * (len(barred) - head)


def is_node_history(start: str) -> bool:
    """Whether a text begins with a header of `sacctmgr show event -P`, or a few lines before it.

    >>> is_node_history("Cluster|NodeName|TimeStart|TimeEnd|State|Reason|User")
    True
    """
    return any(name in table.at for table in _EVENTS.headers(start) for name in _STARTS)


def read_sinfo(
    lines: Iterable[str],
    skipped: SkipCounts,
    *,
    zone: str = "UTC",
    cluster: str = "local",
    observed_at: int | None = None,
) -> Iterator[NodeEvent]:
    """Yield what each node is, in the order of the rows, each (node, state) once.

    Tables with a delimiter are read (``-o '%N|%T|%E|%u|%H'``, any columns with ``NODELIST`` or
    ``HOSTNAMES``, and ``STATE`` or ``REASON``), and those of fixed width, in which one column may
    hold blanks: ``REASON``.

    Parameters
    ----------
    lines
        The lines, the header first.
    skipped
        Where is counted what was not read: `node_row`, `node_line`, `node_row_joined`.
    zone
        Zone of ``TIMESTAMP``.
    cluster
        Slurm's ClusterName.
    observed_at
        When sinfo was run, UTC microseconds. `event_time` is when the reason was set, null without
        one.

    Raises
    ------
    InputError
        For an unknown zone.

    Examples
    --------
    >>> lines = ["NODELIST|STATE|REASON|USER|TIMESTAMP"]
    >>> lines += [
    ...     "n[1-2]|drained*|bad riser|ada|2026-01-02T03:04:05",
    ...     "n3|idle|none|Unknown|Unknown",
    ... ]
    >>> for event in read_sinfo(lines, SkipCounts()):
    ...     print(event.node, event.state, event.reason, event.actor, event.event_time)
    n1 drained* bad riser admin 1767323045000000
    n2 drained* bad riser admin 1767323045000000
    n3 idle None None None
    """
    where = zone_of(zone)
    seen: set[tuple[str, str | None]] = set()
    for table, cells in read_table(_with_bars(lines), *_FORMS, skipped=skipped):
        row = Cells(table, cells)
        reason, user = _reason(row.cell("REASON")), row.cell("USER")
        cause, state = judge(reason, user), row.cell("STATE") or None
        for node in names_of(row.cell("NODELIST", "HOSTNAMES"), skipped):
            if (node, state) in seen:
                continue  # a node is listed once for each of its partitions
            seen.add((node, state))
            yield NodeEvent(
                source=SINFO,
                cluster=cluster,
                event_time=time_of(row.cell("TIMESTAMP"), where),
                observed_at=observed_at,
                node=node,
                state=state,
                reason=reason,
                actor=cause.actor,
                check=cause.check,
                outcome=cause.outcome,
            )


def read_node_history(
    lines: Iterable[str], skipped: SkipCounts, *, zone: str = "UTC", cluster: str = "local"
) -> list[NodeEvent]:
    """Return what `sacctmgr show event -P` tells of nodes, in the order of the times.

    Each row gives an event at its start, and one of state ``RESUME`` at its end if it has come.
    Rows of the cluster itself, without a node, are counted. Holds all of them.

    Parameters
    ----------
    lines, skipped, zone, cluster
        As for `read_sinfo`; a row says which cluster it is of where it has that column.

    Raises
    ------
    InputError
        For an unknown zone.
    """
    where = zone_of(zone)
    found: list[NodeEvent] = []
    for table, cells in read_table(lines, _EVENTS, skipped=skipped):
        row = Cells(table, cells)
        for node in names_of(row.cell("NodeName"), skipped):
            found += _of_history(row, node, cluster=cluster, zone=where)
    return sorted(found, key=lambda event: event.event_time or 0)


def _of_history(row: Cells, node: str, *, cluster: str, zone: tzinfo) -> Iterator[NodeEvent]:
    reason = _reason(row.cell("Reason"))
    cause = judge(reason, row.cell("User"))
    cluster = row.cell("Cluster") or cluster
    yield NodeEvent(
        source=SACCTMGR,
        cluster=cluster,
        event_time=time_of(row.cell(*_STARTS), zone),
        node=node,
        state=row.cell("State"),
        reason=reason,
        actor=cause.actor,
        check=cause.check,
        outcome=cause.outcome,
    )
    end = time_of(row.cell("TimeEnd", "End"), zone)
    if end is not None:
        yield NodeEvent(
            source=SACCTMGR, cluster=cluster, event_time=end, node=node, state=RESUME, reason=reason
        )


def _is_header(line: str) -> bool:
    return line.isupper() and any(form.header(line) for form in _FORMS)


def _with_bars(lines: Iterable[str]) -> Iterator[str]:
    """Put bars between columns of fixed width; other lines stay as they are."""
    columns: list[str] = []
    for line in lines:
        words = line.split()
        if "NODELIST" in words and ("STATE" in words or "REASON" in words):
            columns = words
        elif "|" in line and not columns:
            yield line  # a table with a delimiter
            continue
        yield "|".join(_in_columns(words, columns)) if columns and words else line


def _in_columns(words: list[str], columns: list[str]) -> list[str]:
    more = len(words) - len(columns)
    if more <= 0 or "REASON" not in columns:
        return words
    place = columns.index("REASON")
    end = place + more + 1
    return [*words[:place], " ".join(words[place:end]), *words[end:]]


def _reason(text: str) -> str | None:
    return None if text.lower() in _NO_REASON else text
