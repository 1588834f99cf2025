"""Which attempts are scanned: times, users, jobs and partitions, in Slurm's words."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass

from relume.clock import MICROSECONDS_PER_SECOND, from_iso
from relume.errors import InputError
from relume.identity import AttemptId
from relume.ingest.accounting.row import AccountingRow
from relume.ingest.timestamps import zone_of

_SPAN = re.compile(r"(\d{1,6})\s*(s|m|min|h|d|w|seconds?|minutes?|hours?|days?|weeks?)")
_SECONDS = {"s": 1, "m": 60, "h": 3600, "d": 86_400, "w": 604_800}
_NOW = "now"


@dataclass(frozen=True, slots=True, kw_only=True)
class Window:
    """What is asked for; nulls and empty sets ask for everything. Times are UTC microseconds.

    A job id asks for all tasks of an array and all components of a heterogeneous job.
    """

    since: int | None = None
    until: int | None = None
    users: frozenset[str] = frozenset()
    jobs: frozenset[str] = frozenset()
    partitions: frozenset[str] = frozenset()

    def rows(
        self, attempts: Iterable[tuple[AttemptId, AccountingRow]]
    ) -> Iterator[tuple[AttemptId, AccountingRow]]:
        """Yield those of the attempts that are asked for: that ran, or waited, in that time."""
        for attempt, row in attempts:
            began = row.submit if row.start is None else row.start
            if (
                self.covers(began, row.end)
                and _asked(row.user, self.users)
                and _asked(row.partition, self.partitions)
                and self.has_job(row.job_id)
            ):
                yield attempt, row

    def covers(self, start: int | None, end: int | None) -> bool:
        """Whether something that lasted from `start` to `end` reaches into the time asked for."""
        too_old = self.since is not None and end is not None and end < self.since
        too_new = self.until is not None and start is not None and start > self.until
        return not (too_old or too_new)

    def has_job(self, job_id: str) -> bool:
        """Whether a job is asked for, by its id or by that of its array or heterogeneous job."""
        return not self.jobs or bool(self.jobs & {job_id, re.split(r"[_+]", job_id)[0]})


def parse_span(text: str) -> int:
    """Return the microseconds of a time span.

    Raises
    ------
    InputError
        For another form.

    Examples
    --------
    >>> parse_span("2h"), parse_span("90 min")
    (7200000000, 5400000000)
    """
    found = _SPAN.fullmatch(text.strip().lower())
    if found is None:
        raise InputError(
            f"time span {text!r}",
            found="another form",
            expected="a number and s, m, h, d or w",
            hint="for example 2h or 7d",
        )
    return int(found[1]) * _SECONDS[found[2][0]] * MICROSECONDS_PER_SECOND


def parse_time(text: str, now: Callable[[], int], zone: str) -> int:
    """Return the UTC microseconds of a time as Slurm's ``-S`` takes it.

    Parameters
    ----------
    text
        ISO 8601, ``now``, or ``now-2h``; in `zone` where it names none.
    now
        The present time.
    zone
        IANA name.

    Raises
    ------
    InputError
        For another form.

    Examples
    --------
    >>> parse_time("now-1minute", lambda: 90_000_000, "UTC")
    30000000
    """
    word = text.strip()
    if word.lower().startswith(_NOW):
        ago = word[len(_NOW) :].strip()
        if not ago:
            return now()
        if ago.startswith("-"):
            return now() - parse_span(ago[1:])
    return from_iso(word, zone_of(zone))


def _asked(value: str | None, wanted: frozenset[str]) -> bool:
    return not wanted or value in wanted
