"""Data sets on disk: ``dataset.toml`` and ``attempts.jsonl`` (`docs/formats/dataset.md`)."""

from __future__ import annotations

from relume.ingest.datasets.reading import Dataset, is_dataset, read_dataset
from relume.ingest.datasets.writing import write_dataset

__all__ = ["Dataset", "is_dataset", "read_dataset", "write_dataset"]
