"""The kernel logs of the nodes that attempts run on, as a log server or an agent keeps them."""

from __future__ import annotations

import os
from collections.abc import Iterable, Iterator
from contextlib import suppress
from dataclasses import dataclass, field

from relume.errors import InputError
from relume.events import SourceStatus
from relume.ingest.lake.batches import Landing, LineBatch
from relume.ingest.loglines import LineParser
from relume.ingest.tail import Tailer
from relume.ingest.tailing.group import TailGroup
from relume.ingest.tailing.opening import open_trusted
from relume.ingest.tailing.position import TailPosition
from relume.verdict import Health

HISTORY_BYTES = 64 << 10
"""How much of a node's log from before it was first read is looked at: the node may have failed in
the seconds before its job was seen. Older lines are of other jobs."""
NODE = "{node}"


@dataclass(slots=True)
class KernelLogs:
    """The kernel logs of the nodes in use.

    Parameters
    ----------
    cluster
        Whose nodes they are.
    templates
        Paths with ``{node}`` in them.
    resumed
        Positions of sources from before a restart.
    """

    cluster: str
    templates: tuple[str, ...]
    resumed: dict[str, str] = field(default_factory=dict)
    positions: dict[str, str | None] = field(default_factory=dict)
    _group: TailGroup = field(default_factory=TailGroup)
    _nodes: set[str] = field(default_factory=set)
    _told: dict[str, tuple[Health, str | None]] = field(default_factory=dict)

    def __len__(self) -> int:
        return len(self._group)

    def use(self, nodes: Iterable[str]) -> None:
        """Read the logs of these nodes from now on, and no others."""
        wanted = {node for node in nodes if kernel_paths(self.templates, node)}
        for node in self._nodes - wanted:
            for source in self._sources(node):
                self._group.discard(source)
                self._told.pop(source, None)
                self.positions[source] = None
        for node in wanted - self._nodes:
            for source, path in self._sources(node).items():
                self._group.add(source, Tailer(path, self._begin(source, path)))
        self._nodes = wanted

    def poll(self, now: int) -> Iterator[Landing]:
        """Yield what is new: lines, and changes of how the logs are."""
        for source, result in self._group.poll():
            node = source.split(" ")[1]
            for block in result.blocks:
                yield LineBatch(
                    block=block,
                    stream="kernel",
                    node=node,
                    observed_at=now,
                    cluster=self.cluster,
                    source=source,
                )
            if result.blocks or result.events:
                self.positions[source] = result.position.to_text()
            status = result.status(source, cluster=self.cluster, observed_at=now)
            yield from self._changed(status)

    def close(self) -> None:
        """Close every file."""
        self._group.close()

    def _changed(self, status: SourceStatus) -> Iterator[SourceStatus]:
        told = (status.status, status.reason)
        if self._told.get(status.source) != told:
            self._told[status.source] = told
            yield status

    def _sources(self, node: str) -> dict[str, str]:
        return {f"kernel {node} {path}": path for path in kernel_paths(self.templates, node)}

    def _begin(self, source: str, path: str) -> TailPosition | None:
        known = self.resumed.pop(source, None)
        return recent(path) if known is None else TailPosition.from_text(known)


def kernel_paths(templates: Iterable[str], node: str) -> list[str]:
    """Return where the kernel log of a node is; nowhere for a name that leads elsewhere.

    >>> kernel_paths(["/logs/{node}/kern.log"], "gpu-a01"), kernel_paths(["/logs/{node}"], "..")
    (['/logs/gpu-a01/kern.log'], [])
    """
    if "/" in node or node in {"", ".", ".."}:
        return []
    return [template.replace(NODE, node) for template in templates]


def recent(path: str, history_bytes: int = HISTORY_BYTES) -> TailPosition | None:
    """Return the start of a line at most `history_bytes` before the end of a file; null: its start.

    It is the end where the last line has no clock: such lines may be of any job before. Line
    numbers count from there, since nobody wants to read the gigabytes before.
    """
    with suppress(OSError, InputError):
        descriptor = open_trusted(path)
        try:
            status = os.fstat(descriptor)
            start = max(0, status.st_size - history_bytes)
            data = os.pread(descriptor, history_bytes, start)
            if not _is_dated(data):
                start += data.rfind(b"\n") + 1  # of lines without a clock nobody knows the job
            elif start == 0:
                return None
            else:
                start += data.find(b"\n") + 1
            offset = start
            return TailPosition(
                device=status.st_dev, inode=status.st_ino, offset=offset, line_start=offset
            )
        finally:
            os.close(descriptor)
    return None


def _is_dated(data: bytes) -> bool:
    """Whether the last whole line has a clock of the day; nothing at all counts as dated."""
    lines = data.decode("utf-8", "replace").rstrip().rsplit("\n", 1)
    parser = LineParser("kernel", stream="kernel")
    return not lines[-1] or parser.parse(lines[-1], 0, 0).event_time is not None
