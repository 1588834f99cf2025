"""What a person with `grep` does: the first exception is the cause, or the last error is.

Both name whoever printed that line, as far as its prefix tells. They stand beside our verdicts in
the benches, so that a number says how much of it is the logs' own doing.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass

from relume.ingest.loglines import LineParser

_EXCEPTION = re.compile(r"\b[A-Za-z_][\w.]{0,80}(?:Error|Exception)\b(?::|$)")
_ERROR = re.compile(r"(?i)\b(?:error|fatal|fail|failed|failure|exception|aborted|killed|panic)\b")


@dataclass(frozen=True, slots=True)
class Guess:
    """A line, and who printed it; all null where no line fits."""

    file: str | None = None
    line: int | None = None
    node: str | None = None
    rank: int | None = None


Files = Mapping[str, Iterable[str]]
"""Lines of each file by its name, in reading order."""


def first_exception(files: Files) -> Guess:
    """Return the first line that names an exception, else the first that speaks of an error.

    Examples
    --------
    >>> first_exception({"a.log": ["[rank3]: ValueError: x", "[rank4]: KeyError: y"]}).rank
    3
    """
    found = _first(files, _EXCEPTION) or _first(files, _ERROR)
    return _guess(*found) if found else Guess()


def last_error(files: Files) -> Guess:
    """Return the last line that speaks of an error or names an exception.

    Examples
    --------
    >>> last_error({"a.log": ["[rank3]: ValueError: x", "[rank4]: KeyError: y", "bye"]}).line
    1
    """
    found = None
    for file, lines in files.items():
        for number, line in enumerate(lines):
            if _EXCEPTION.search(line) or _ERROR.search(line):
                found = file, number, line
    return _guess(*found) if found else Guess()


BASELINES: Mapping[str, Callable[[Files], Guess]] = {
    "first_exception_wins": first_exception,
    "last_error_wins": last_error,
}
"""By the name under which benches report them."""


def _first(files: Files, pattern: re.Pattern[str]) -> tuple[str, int, str] | None:
    return next(
        (
            (file, number, line)
            for file, lines in files.items()
            for number, line in enumerate(lines)
            if pattern.search(line)
        ),
        None,
    )


def _guess(file: str, number: int, text: str) -> Guess:
    event = LineParser(file).parse(text, number, 0)
    rank = event.rank if event.rank is not None else event.task
    return Guess(file, number, event.node, rank)
