"""A whole scan: of a table of accounting with the logs that are found for it, or of a lake."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass, field
from pathlib import Path

from relume.identity import AttemptId
from relume.ingest.accounting.events import identify
from relume.ingest.accounting.read import read_rows
from relume.ingest.skips import SkipCounts
from relume.serve.backtest.run import Judging
from relume.serve.scan.accounting import Told, accounting_units
from relume.serve.scan.places import LogPlaces
from relume.serve.scan.record import Scan
from relume.serve.scan.scanned import Scanned, scan_lake, scan_units
from relume.serve.scan.window import Window


@dataclass(frozen=True, slots=True, kw_only=True)
class Table:
    """A table that sacct printed, line by line.

    Attributes
    ----------
    zone
        IANA name of the zone of its times.
    cluster
        Slurm's ClusterName, for rows that don't say it.
    told, asked_at
        As for `accounting_units`.
    skipped
        Where is counted what of it is not read.
    """

    lines: Iterable[str]
    zone: str = "UTC"
    cluster: str = "local"
    told: Told | None = None
    asked_at: int | None = None
    skipped: SkipCounts = field(default_factory=SkipCounts)


def scan_table(
    table: Table,
    places: LogPlaces,
    window: Window,
    judging: Judging,
    *,
    advance: Callable[[int], None] = lambda _: None,
) -> Scan:
    """Judge the attempts of a table that are asked for.

    Parameters
    ----------
    table, places, window, judging
        What is read, where logs are, which attempts are judged, and how.
    advance
        Told how many attempts are done.
    """
    skipped = table.skipped
    rows = read_rows(table.lines, skipped, zone=table.zone)
    wanted = window.rows(identify(rows, table.cluster, skipped))
    units = accounting_units(wanted, places, told=table.told, asked_at=table.asked_at)
    scanned = scan_units(units, judging.analyzer, judging.settings, judging.zone)
    return Scan(list(_counted(scanned, advance)), skipped)


def scan_recorded(
    lake: Path,
    window: Window,
    judging: Judging,
    *,
    advance: Callable[[int], None] = lambda _: None,
) -> Scan:
    """Judge the attempts of a lake that are asked for; the others of their runs are judged too.

    Raises
    ------
    LakeError
        When the lake can't be read.
    """
    scanned = _counted(scan_lake(lake, judging.analyzer, judging.settings, judging.zone), advance)
    return Scan([one for one in scanned if _is_wanted(one, window)], SkipCounts())


def _is_wanted(one: Scanned, window: Window) -> bool:
    job_id = AttemptId.parse(one.entry.attempt).job_key.job_id
    is_users = not window.users or one.entry.user in window.users
    return is_users and window.has_job(job_id) and window.covers(one.start, one.end)


def _counted(scanned: Iterable[Scanned], advance: Callable[[int], None]) -> Iterator[Scanned]:
    for number, one in enumerate(scanned, 1):
        advance(number)
        yield one
