"""What Slurm says of nodes, as events: tables and JSON of its commands, the logs of its daemons."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from dataclasses import replace
from functools import partial
from pathlib import Path

from relume.errors import InputError
from relume.events import NodeEvent
from relume.ingest.attempts import content_reason
from relume.ingest.forms import NODE_HISTORY, SINFO, SINFO_JSON, SLURMCTLD
from relume.ingest.importing.events import text_lines
from relume.ingest.importing.unit import EventsPart, LogPart
from relume.ingest.loglines import LineParser
from relume.ingest.nodes.daemons import DaemonReader, telling_lines
from relume.ingest.nodes.documents import read_nodes
from relume.ingest.nodes.sinfo import read_node_history, read_sinfo
from relume.ingest.opening import probe, read_blocks, read_chunks
from relume.ingest.rawlines import MAX_RECORD_BYTES
from relume.ingest.skips import SkipCounts


def nodes_part(path: Path, form: str, cluster: str, zone: str) -> EventsPart:
    """Return what a file of one of `relume.ingest.forms.NODE_FORMS` says.

    `cluster` is that of rows which don't say it, `zone` that of their times (an IANA name).
    """
    readers: dict[str, Callable[[SkipCounts], Iterable[NodeEvent]]] = {
        SINFO: lambda skipped: read_sinfo(
            text_lines(path, skipped), skipped, zone=zone, cluster=cluster
        ),
        NODE_HISTORY: lambda skipped: read_node_history(
            text_lines(path, skipped), skipped, zone=zone, cluster=cluster
        ),
        SINFO_JSON: lambda skipped: _document(path, cluster, skipped),
    }
    return EventsPart(read=readers[form], path=path)


def daemon_part(log: LogPart, zone: str) -> EventsPart:
    """Return what the lines of slurmctld's or a slurmd's log say of nodes.

    `zone` is that of their clocks (an IANA name).
    """
    return EventsPart(read=partial(_daemon, log, zone), path=log.path)


def _daemon(log: LogPart, zone: str, skipped: SkipCounts) -> Iterator[NodeEvent]:
    if not _is_text(log.path):
        return
    parser = LineParser(str(log.path), stream=SLURMCTLD, zone=zone)
    reader = DaemonReader(skipped)
    for block in read_blocks(log.path):  # what is left out was counted when its lines landed
        for start, raw in telling_lines(block.data):
            text = raw.decode("utf-8", "replace")
            line = parser.parse(text, block.line_at(start), block.byte_offset_at(start))
            node = log.node or line.node
            yield from reader.read(replace(line, node=node, cluster=log.cluster, source=SLURMCTLD))


def _is_text(path: Path) -> bool:
    try:
        return content_reason(probe(path)) is None
    except InputError:
        return False


def _document(path: Path, cluster: str, skipped: SkipCounts) -> list[NodeEvent]:
    held = bytearray()
    for chunk in read_chunks(path, skipped=skipped):
        held += chunk
        if len(held) > MAX_RECORD_BYTES:
            raise InputError(
                f"nodes as JSON in {path}",
                found=f"more than {MAX_RECORD_BYTES >> 20} MiB",
                expected="one document of `sinfo --json`",
            )
    try:
        return read_nodes(bytes(held), skipped, cluster=cluster)
    except InputError as error:
        raise InputError(
            f"{error.what} in {path}", found=error.found, expected=error.expected
        ) from error
