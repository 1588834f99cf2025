"""What was not read, or not as it was written, by reason: nothing is dropped silently."""

from __future__ import annotations

from collections import Counter
from collections.abc import ItemsView, Mapping, Sequence
from pathlib import Path
from types import MappingProxyType
from typing import Any

DAMAGED = "truncated_compression"
"""Reason of a file whose end is lost."""
REASONS: Mapping[str, str] = MappingProxyType(
    {
        "binary": "a file in a folder holds no text",
        "dump": "a dump of a hung job: no log; `relume diagnose` reads it",
        "dump_again": "another dump of a rank of which a later one is read",
        "dump_broken": "a dump ends early, is too large or makes no sense",
        "dump_no_rank": "neither a dump nor its name tells of which rank it is",
        "dump_refused": "a pickle tries more than to be data; nothing of it was run",
        "empty": "a file in a folder has no bytes",
        "event": "a line or row is no event, or one of another schema version",
        "link_out": "a symbolic link in a folder leads out of it, or nowhere",
        "long_line_split": "a line was longer than 1 MiB and was read in pieces that overlap",
        "metric_histogram": "a series of native histograms: it has no single value",
        "metric_line": "a line of a scrape is no sample",
        "metric_stale": "a series ended: Prometheus' marker for it is no value",
        "metric_twice": "a series is to Relume the same as another one; the first was taken",
        "metric_unknown": "a series has a name that the table of metrics doesn't know",
        "metric_value": "a value of a series is no number, or has no possible time",
        "metrics_file": "values of metrics: no log of an attempt",
        "name_not_utf8": "a file in a folder has a name that is no UTF-8",
        "node_file": "what Slurm says of nodes (sinfo, sacctmgr): no log of an attempt",
        "node_line": "a line about nodes is of no row: the end of a text, or of another program",
        "node_row": "a row about a node had no node, no known state or not its columns",
        "node_row_joined": "a row about a node went over several lines; they were joined",
        "not_a_log": "a file in a folder is source code, a script, a setting or a document",
        "sacct_jobs": "accounting of several jobs: it doesn't say whose these logs are",
        "sacct_line": "a line in accounting is of no row: the end of a text, or of another program",
        "sacct_no_attempt": "an accounting row is no attempt: no submit time, or tasks that wait",
        "sacct_row": "an accounting row had no job id, no known state or not its columns",
        "sacct_row_again": "an accounting row is of an attempt of which another row tells more",
        "sacct_row_joined": "an accounting row went over several lines; they were joined",
        "sacct_step": "an accounting row of a step did not stand behind that of its job",
        "same_file": "a link in a folder names a file that is read under its own name",
        "special_file": "a pipe, socket or device in a folder",
        DAMAGED: "a compressed file ends early or is damaged; its start was read",
        "unreadable": "a file or folder in a folder could not be opened",
    }
)
"""The closed set of reasons, each with its words."""
MENDED = frozenset({"long_line_split", "node_row_joined", "sacct_row_joined"})
"""The reasons that left nothing out: it was read in another way than it was written."""
MAX_NAMED = 10
"""Files whose names are kept for one reason: a folder may hold thousands."""
MAX_PRINTED = 3


class SkipCounts:
    """A counter over `REASONS`, with the names of the first files.

    Examples
    --------
    >>> counts = SkipCounts()
    >>> counts.add("binary", file="model.pt")
    >>> counts.add("sacct_row", 2)
    >>> counts.add("long_line_split")
    >>> print(counts)
    1 x binary (model.pt), 1 x long_line_split, 2 x sacct_row
    >>> counts.left_out(), counts.mended()
    (['1 x binary (model.pt)', '2 x sacct_row'], ['1 x long_line_split'])
    """

    def __init__(self) -> None:
        self._counts: Counter[str] = Counter()
        self._files: dict[str, list[str]] = {}

    def add(self, reason: str, count: int = 1, *, file: Path | str | None = None) -> None:
        """Count something that was not read; `reason` must be a key of `REASONS`."""
        if reason not in REASONS:
            raise KeyError(reason)
        if count:
            self._counts[reason] += count
        if file is not None:
            self._name(reason, [printable_name(file)])

    def merge(self, other: SkipCounts) -> None:
        """Add the counts of `other`, and its files."""
        self._counts.update(other.as_dict())
        for reason, names in other.files().items():
            self._name(reason, names)

    def items(self) -> ItemsView[str, int]:
        """Reasons with their counts, in alphabetical order, those that occurred only."""
        return self.as_dict().items()

    def as_dict(self) -> dict[str, int]:
        """The counts as a plain mapping."""
        return dict(sorted(self._counts.items()))

    def files(self) -> dict[str, list[str]]:
        """The names of the first files, by reason; a reason that isn't about files has none."""
        return {reason: list(names) for reason, names in sorted(self._files.items())}

    def left_out(self) -> list[str]:
        """What was not read, one text a reason."""
        return [self._words(reason) for reason, _ in self.items() if reason not in MENDED]

    def mended(self) -> list[str]:
        """What was read in another way than it was written, one text a reason."""
        return [self._words(reason) for reason, _ in self.items() if reason in MENDED]

    def record(self) -> dict[str, Any]:
        """JSON form: counts of what was not read and of what was mended, files by reason."""
        return {
            "skipped": {reason: n for reason, n in self.items() if reason not in MENDED},
            "mended": {reason: n for reason, n in self.items() if reason in MENDED},
            "skipped_files": self.files(),
        }

    def __bool__(self) -> bool:
        return bool(self._counts)

    def __str__(self) -> str:
        return ", ".join(self._words(reason) for reason, _ in self.items())

    def _name(self, reason: str, names: Sequence[str]) -> None:
        known = self._files.setdefault(reason, [])
        known += names[: MAX_NAMED - len(known)]

    def _words(self, reason: str) -> str:
        count, names = self._counts[reason], self._files.get(reason, [])
        if not names:
            return f"{count} x {reason}"
        more = count - len(names[:MAX_PRINTED])
        others = f" and {more} more" if more > 0 else ""
        return f"{count} x {reason} ({', '.join(names[:MAX_PRINTED])}{others})"


def printable_name(file: Path | str) -> str:
    r"""Return a name that can be printed and stored as JSON; bytes that are no UTF-8 become U+FFFD.

    >>> printable_name("rank\udcff.log")
    'rank�.log'
    """
    return str(file).encode("utf-8", "surrogateescape").decode("utf-8", "replace")
