"""Bringing recordings into a lake: each source once, however often it is tried or killed."""

from __future__ import annotations

from relume.ingest.importing.importer import COMMIT_BYTES, ImportReport, import_units
from relume.ingest.importing.sources import facts_of, units_of
from relume.ingest.importing.unit import EventsPart, LogPart, Unit

__all__ = [
    "COMMIT_BYTES",
    "EventsPart",
    "ImportReport",
    "LogPart",
    "Unit",
    "facts_of",
    "import_units",
    "units_of",
]
