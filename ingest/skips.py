"""What was not read, counted by reason: nothing is dropped silently."""

from __future__ import annotations

from collections import Counter
from collections.abc import ItemsView, Mapping
from types import MappingProxyType

REASONS: Mapping[str, str] = MappingProxyType(
    {
        "binary": "a file in a folder holds no text",
        "dump_not_read_yet": "a collective dump: reading it is a later change",
        "empty": "a file in a folder has no bytes",
        "invalid_utf8": "a line had bytes that are no UTF-8; they are shown as replacement marks",
        "link_out": "a symbolic link in a folder leads out of it",
        "long_line_split": "a line was longer than 1 MiB and was read in pieces",
        "sacct_row": "an accounting row had no job id or too few columns",
        "special_file": "a pipe, socket or device in a folder",
        "truncated_compression": "a compressed file ends early; what it held so far was read",
        "unreadable": "a file in a folder could not be opened",
    }
)
"""The closed set of reasons, each with its words."""


class SkipCounts:
    """A counter over `REASONS`.

    Examples
    --------
    >>> counts = SkipCounts()
    >>> counts.add("binary")
    >>> dict(counts.items())
    {'binary': 1}
    """

    def __init__(self) -> None:
        self._counts: Counter[str] = Counter()

    def add(self, reason: str, count: int = 1) -> None:
        """Count something that was not read; `reason` must be a key of `REASONS`."""
        if reason not in REASONS:
            raise KeyError(reason)
        self._counts[reason] += count

    def merge(self, other: SkipCounts) -> None:
        """Add the counts of `other`."""
        self._counts.update(other._counts)

    def items(self) -> ItemsView[str, int]:
        """Reasons with their counts, those that occurred only."""
        return dict(sorted(self._counts.items())).items()

    def as_dict(self) -> dict[str, int]:
        """The counts as a plain mapping."""
        return dict(self.items())

    def __bool__(self) -> bool:
        return bool(self._counts)
