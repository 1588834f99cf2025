"""What can be wrong with a lake.

::

    LakeError               exit 2   anything about the lake
    ├── LakeBusyError       exit 2   another process writes to it
    ├── LakeWriteError      exit 2   a commit failed (disk full, I/O error): open a new writer
    ├── MissingSegmentError exit 2   a file that the journal names isn't there
    ├── CorruptSegmentError exit 2   a file isn't what the journal says
    ├── NewerSegmentError   exit 2   a newer Relume wrote it
    └── CorruptJournalError exit 2   the journal itself can't be read
"""

from __future__ import annotations

from relume.errors import Permanent, RelumeError, Retryable, Stage


class LakeError(RelumeError):
    """Something about the lake."""

    error_type = "lake"
    stage = Stage.SENDING


class LakeBusyError(Retryable, LakeError):
    """Another process has the lake open for writing."""

    error_type = "lake_busy"


class LakeWriteError(Retryable, LakeError):
    """Something couldn't be made durable. The writer is of no more use; the lake is whole.

    A new writer stands at the last commit: set the sources back to its positions.
    """

    error_type = "lake_write"


class MissingSegmentError(Permanent, LakeError):
    """A segment that was committed isn't there."""

    error_type = "lake_missing_segment"
    stage = Stage.RECEIVING


class CorruptSegmentError(Permanent, LakeError):
    """A segment isn't what was committed."""

    error_type = "lake_corrupt_segment"
    stage = Stage.RECEIVING


class NewerSegmentError(Permanent, LakeError):
    """A segment has a schema version that this Relume doesn't know."""

    error_type = "lake_newer_segment"
    stage = Stage.RECEIVING


class CorruptJournalError(Permanent, LakeError):
    """An entry of the journal is damaged, and not by a writer that was killed at its end."""

    error_type = "lake_corrupt_journal"
    stage = Stage.RECEIVING
