"""What was not read, counted by reason: nothing is dropped silently."""

from __future__ import annotations

from collections import Counter
from collections.abc import ItemsView, Mapping
from types import MappingProxyType

DAMAGED = "truncated_compression"
"""Reason of a file whose end is lost."""
REASONS: Mapping[str, str] = MappingProxyType(
    {
        "binary": "a file in a folder holds no text",
        "dump_not_read_yet": "a collective dump: reading it is a later change",
        "empty": "a file in a folder has no bytes",
        "link_out": "a symbolic link in a folder leads out of it, or nowhere",
        "long_line_split": "a line was longer than 1 MiB and was read in pieces that overlap",
        "name_not_utf8": "a file in a folder has a name that is no UTF-8",
        "not_a_log": "a file in a folder is source code, a script, a setting or a document",
        "sacct_row": "an accounting row had no job id, no known state or not its columns",
        "sacct_row_joined": "an accounting row went over several lines; they were joined",
        "same_file": "a link in a folder names a file that is read under its own name",
        "special_file": "a pipe, socket or device in a folder",
        DAMAGED: "a compressed file ends early or is damaged; its start was read",
        "unreadable": "a file or folder in a folder could not be opened",
    }
)
"""The closed set of reasons, each with its words."""


class SkipCounts:
    """A counter over `REASONS`.

    Examples
    --------
    >>> counts = SkipCounts()
    >>> counts.add("binary")
    >>> counts.add("empty", 2)
    >>> print(counts)
    1 x binary, 2 x empty
    >>> dict(counts.items())
    {'binary': 1, 'empty': 2}
    """

    def __init__(self) -> None:
        self._counts: Counter[str] = Counter()

    def add(self, reason: str, count: int = 1) -> None:
        """Count something that was not read; `reason` must be a key of `REASONS`."""
        if reason not in REASONS:
            raise KeyError(reason)
        if count:
            self._counts[reason] += count

    def merge(self, other: SkipCounts) -> None:
        """Add the counts of `other`."""
        self._counts.update(other.as_dict())

    def items(self) -> ItemsView[str, int]:
        """Reasons with their counts, in alphabetical order, those that occurred only."""
        return self.as_dict().items()

    def as_dict(self) -> dict[str, int]:
        """The counts as a plain mapping."""
        return dict(sorted(self._counts.items()))

    def __bool__(self) -> bool:
        return bool(self._counts)

    def __str__(self) -> str:
        return ", ".join(f"{count} x {reason}" for reason, count in self.items())
