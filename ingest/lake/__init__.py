"""The lake: everything that was read, as immutable Parquet in whole commits."""

from __future__ import annotations

from relume.ingest.lake.batches import LandedBlock, Landing, LineBatch, Parsers
from relume.ingest.lake.errors import (
    CorruptJournalError,
    CorruptSegmentError,
    LakeBusyError,
    LakeError,
    LakeWriteError,
    MissingSegmentError,
    NewerSegmentError,
)
from relume.ingest.lake.index import LakeIndex, RowGroup
from relume.ingest.lake.reader import LakeReader
from relume.ingest.lake.samplebatches import SampleBatch, SampleSeries
from relume.ingest.lake.writer import LakeWriter, Landed

__all__ = [
    "CorruptJournalError",
    "CorruptSegmentError",
    "LakeBusyError",
    "LakeError",
    "LakeIndex",
    "LakeReader",
    "LakeWriteError",
    "LakeWriter",
    "Landed",
    "LandedBlock",
    "Landing",
    "LineBatch",
    "MissingSegmentError",
    "NewerSegmentError",
    "Parsers",
    "RowGroup",
    "SampleBatch",
    "SampleSeries",
]
