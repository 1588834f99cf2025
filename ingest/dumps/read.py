"""Read all dumps of one attempt."""

from __future__ import annotations

import gc
from collections.abc import Iterable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from relume.dumps import Dumps, ProcessStack, RankDump, RasReport
from relume.errors import InputError
from relume.ingest.dumps import ras, stacks
from relume.ingest.dumps.documents import DumpError, HostileDumpError, parse_document, read_bytes
from relume.ingest.dumps.flight import Flight, decode, is_flight
from relume.ingest.dumps.forms import PICKLE, RAS, STACKS
from relume.ingest.dumps.ranks import node_by_name, ranks_of
from relume.ingest.skips import SkipCounts

MAX_RECORDERS = 1 << 16
"""Recorders of one attempt that are read."""


@dataclass(slots=True)
class _Found:
    flights: list[tuple[str, Flight]] = field(default_factory=list)
    stacks: list[ProcessStack] = field(default_factory=list)
    ras: list[RasReport] = field(default_factory=list)
    refused: list[DumpError] = field(default_factory=list)


def read_dumps(
    files: Iterable[tuple[Path | str, str]], skipped: SkipCounts
) -> tuple[Dumps, list[DumpError]]:
    """Read dumps, each a path with what `relume.ingest.dumps.forms.dump_form` tells.

    Returns them with the errors of those that are not used; those files are counted in `skipped`,
    too. Of several dumps of one rank the latest counts. Memory is that of one file at a time, and
    of some hundred collectives a rank.
    """
    found = _Found()
    with _collector_paused():
        for path, form in files:
            try:
                _read(path, form, found)
            except HostileDumpError as error:
                skipped.add("dump_refused", file=path)
                found.refused.append(error)
            except DumpError as error:
                skipped.add("binary" if form == PICKLE else "dump_broken", file=path)
                found.refused.append(error)
            except InputError:
                skipped.add("unreadable", file=path)
    ranks = tuple(_ranked(found.flights, skipped))
    return Dumps(ranks, tuple(found.stacks), tuple(found.ras)), found.refused


@contextmanager
def _collector_paused() -> Iterator[None]:
    """Keep Python's collector from walking again and again over what is being decoded.

    That is half of the time. Nothing decoded is a cycle, but for what a hostile pickle makes one.
    """
    was_enabled = gc.isenabled()
    gc.disable()
    try:
        yield
    finally:
        if was_enabled:
            gc.enable()


def _read(path: Path | str, form: str, found: _Found) -> None:
    data, name = read_bytes(path), str(path)
    if form in {STACKS, RAS} and data.lstrip()[:1] not in {b"{", b"["}:
        text = data.decode("utf-8", "replace")
        if form == STACKS:
            found.stacks += stacks.read_text(text, name)
        else:
            found.ras.append(ras.read_text(text, name))
        return
    document = parse_document(data, name)
    if form == STACKS:
        found.stacks += stacks.read_json(document, name)
    elif form == RAS:
        found.ras.append(ras.read_json(document, name))
    else:
        recorders = list(_recorders(document))
        if not recorders:
            raise DumpError(f"dump {name} is not used", found="data that is no flight recorder")
        room = MAX_RECORDERS - len(found.flights)
        found.flights += [(f"{name}{part}", decode(one)) for part, one in recorders[:room]]


def _recorders(document: object) -> Iterator[tuple[str, dict[str, Any]]]:
    """The recorders of a document: itself, or those it collects, with what tells them apart."""
    if is_flight(document) and isinstance(document, dict):
        yield "", document
        return
    if isinstance(document, dict):
        items: list[tuple[object, object]] = list(document.items())
    else:
        items = list(enumerate(document)) if isinstance(document, list) else []
    for key, item in items:
        if is_flight(item) and isinstance(item, dict):
            yield f"/{key}", item


def _ranked(flights: Sequence[tuple[str, Flight]], skipped: SkipCounts) -> Iterator[RankDump]:
    names = [name for name, _ in flights]
    best: dict[int, tuple[str, Flight]] = {}
    for (name, flight), rank in zip(flights, ranks_of(names, [f for _, f in flights]), strict=True):
        if rank is None:
            skipped.add("dump_no_rank", file=name)
        elif rank not in best:
            best[rank] = name, flight
        else:
            older, newer = sorted((best[rank], (name, flight)), key=lambda one: _last_time(one[1]))
            skipped.add("dump_again", file=older[0])
            best[rank] = newer
    for rank, (name, flight) in sorted(best.items()):
        yield RankDump(
            rank=rank,
            file=name,
            node=flight.node or node_by_name(name),
            version=flight.version,
            groups=flight.groups,
            collectives=flight.collectives,
            is_whole=flight.is_whole,
        )


def _last_time(flight: Flight) -> int:
    times = [c.completed_time or c.enqueued_time or 0 for c in flight.collectives]
    return max(times, default=0)
