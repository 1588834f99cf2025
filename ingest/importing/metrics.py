"""Metrics in files, as events of an import: scrapes, and answers of Prometheus."""

from __future__ import annotations

from collections.abc import Iterator
from functools import partial
from pathlib import Path

from relume.errors import InputError
from relume.events import Sample
from relume.ingest.forms import METRICS_JSON
from relume.ingest.importing.unit import EventsPart
from relume.ingest.metrics.answers import read_document
from relume.ingest.metrics.exposition import MAX_SAMPLE_BYTES, facts_of_scrape, read_exposition
from relume.ingest.metrics.raw import Naming, Reading
from relume.ingest.opening import read_chunks
from relume.ingest.rawlines import raw_lines
from relume.ingest.skips import SkipCounts

MAX_DOCUMENT_BYTES = 256 << 20
"""A kept answer is decoded in one piece."""
_MAX_LINE_BYTES = 1 << 20
_PROMETHEUS, _EXPOSITION = "prometheus", "exposition"


def metrics_part(path: Path, form: str, naming: Naming, cluster: str) -> EventsPart:
    """Return the samples of a file of one of `relume.ingest.forms.METRIC_FORMS`."""
    read = _answer if form == METRICS_JSON else _scrape
    return EventsPart(read=partial(read, path, naming, cluster), path=path)


def _answer(path: Path, naming: Naming, cluster: str, skipped: SkipCounts) -> Iterator[Sample]:
    data = bytearray()
    for chunk in read_chunks(path, skipped=skipped):
        data += chunk
        if len(data) > MAX_DOCUMENT_BYTES:
            raise InputError(
                f"answer of Prometheus in {path}",
                found=f"more than {MAX_DOCUMENT_BYTES >> 20} MiB",
                expected="one answer, which is decoded in one piece",
                hint="ask for a shorter time at once, or import from Prometheus itself",
            )
    found = read_document(bytes(data), skipped, what=f"answer of Prometheus in {path}")
    yield from Reading(naming, _PROMETHEUS, cluster).samples(found, skipped)


def _scrape(path: Path, naming: Naming, cluster: str, skipped: SkipCounts) -> Iterator[Sample]:
    time, node = facts_of_scrape(_lines(path, None))
    found = read_exposition(
        _lines(path, skipped),
        skipped,
        is_wanted=naming.knows,
        time=time,
    )
    yield from Reading(naming, _EXPOSITION, cluster, node=node).samples(found, skipped)


def _lines(path: Path, skipped: SkipCounts | None) -> Iterator[str]:
    def too_long(number: int) -> InputError:
        return InputError(
            f"line {number} of {path}",
            found="more than 1 MiB without a line end",
            expected=f"samples, at most {MAX_SAMPLE_BYTES >> 10} KiB each",
        )

    chunks = read_chunks(path, skipped=skipped)
    for line in raw_lines(chunks, too_long, limit=_MAX_LINE_BYTES):
        yield line.decode("utf-8", "replace").rstrip("\r\n")
