"""`relume scan`: which jobs failed, why, and what would have been advised. It changes nothing."""

from __future__ import annotations

import os
import pwd
import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from relume.cli.options import ConfigOption, JsonOption, RulesOption, named, named_path, one_form
from relume.cli.output import print_json, say, table_console
from relume.records import SCHEMA_VERSION

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from relume.controller.reader import SlurmReader
    from relume.serve.scan.places import LogPlaces
    from relume.serve.scan.record import Scan
    from relume.serve.scan.run import Table
    from relume.serve.scan.scanned import Scanned
    from relume.serve.scan.window import Window
    from relume.settings import Settings

EXIT_FINE = 0
EXIT_FINDING = 1
PIPED_WIDTH = 160
"""Columns of tables that don't go to a terminal."""
DEFAULT_SINCE = "1d"
"""How far back Slurm is asked when nobody says."""

AccountingOption = Annotated[
    Path | None,
    typer.Option(
        "--accounting",
        parser=named_path,
        metavar="FILE",
        help="Table of `sacct -D -P`; - for standard input. Without it, Slurm is asked.",
        show_default=False,
    ),
]
LakeOption = Annotated[
    Path | None,
    typer.Option(
        "--lake", parser=named_path, metavar="FOLDER", help="Scan a lake.", show_default=False
    ),
]
LogsOption = Annotated[
    list[str] | None,
    typer.Option(
        "--logs",
        parser=named,
        metavar="TEMPLATE",
        help="Where jobs' logs are: a path with Slurm's patterns (%j %A %a %x %u %N).",
        show_default=False,
    ),
]
RootsOption = Annotated[
    list[str] | None,
    typer.Option(
        "--log-root",
        parser=named,
        metavar="FOLDER",
        help="Folder below which the files that jobs themselves name may be read.",
        show_default=False,
    ),
]
KernelOption = Annotated[
    list[str] | None,
    typer.Option(
        "--kernel-logs",
        "--kernel-log",
        parser=named,
        metavar="TEMPLATE",
        help="Where nodes' kernel logs are: a path with {node} in it.",
        show_default=False,
    ),
]
SinceOption = Annotated[
    str | None,
    typer.Option(
        "--starttime", "-S", help="Only what ran after this time; now-2h, too.", show_default=False
    ),
]
UntilOption = Annotated[
    str | None,
    typer.Option("--endtime", "-E", help="Only what ran before this time.", show_default=False),
]
SpanOption = Annotated[
    str | None,
    typer.Option(
        "--since",
        metavar="SPAN",
        help=f"Only the last 2h, 7d …  [Slurm: {DEFAULT_SINCE}]",
        show_default=False,
    ),
]
UsersOption = Annotated[
    list[str] | None, typer.Option("--user", "-u", help="Users' jobs only.", show_default=False)
]
JobsOption = Annotated[
    list[str] | None, typer.Option("--jobs", "-j", help="These jobs only.", show_default=False)
]
PartitionsOption = Annotated[
    list[str] | None,
    typer.Option("--partition", "-p", help="Jobs of these partitions only.", show_default=False),
]
SlurmConfOption = Annotated[
    Path | None,
    typer.Option(
        "--slurm-conf",
        parser=named_path,
        metavar="FILE",
        help="The cluster's slurm.conf.",
        show_default=False,
    ),
]
AllOption = Annotated[bool, typer.Option("--all", help="Show what didn't fail, too.")]
JsonLinesOption = Annotated[bool, typer.Option("--jsonl", help="One JSON record an attempt.")]


def scan(
    *,
    accounting: AccountingOption = None,
    lake: LakeOption = None,
    logs: LogsOption = None,
    log_root: RootsOption = None,
    kernel_logs: KernelOption = None,
    starttime: SinceOption = None,
    endtime: UntilOption = None,
    since: SpanOption = None,
    user: UsersOption = None,
    jobs: JobsOption = None,
    partition: PartitionsOption = None,
    show_all: AllOption = False,
    as_json: JsonOption = False,
    as_jsonl: JsonLinesOption = False,
    config: ConfigOption = None,
    rules: RulesOption = None,
    slurm_conf: SlurmConfOption = None,
) -> None:
    """Say which jobs failed, why, and what would have been advised; nothing is changed or written.

    Of a live cluster (three commands of Slurm at most), of a table of sacct, or of a lake. Exit
    code 0: no failure; 1: a failure was found; 2: the input can't be used; 3: Slurm can't be asked.
    """
    from relume.config import load_config
    from relume.serve.backtest.run import Judging
    from relume.serve.scan.run import scan_recorded, scan_table

    one_form(json=as_json, jsonl=as_jsonl)
    if lake is not None:
        _refuse_beside_lake(
            {
                "--accounting": accounting,
                "--logs": logs,
                "--log-root": log_root,
                "--kernel-logs": kernel_logs,
                "--partition": partition,
                "--slurm-conf": slurm_conf,
            }
        )
    settings = load_config(config).settings
    judging = Judging.of(settings, rules or [], lake=lake)
    window = _window(settings, starttime, endtime, since, is_live=accounting is lake is None)
    window = _narrowed(window, user, jobs, partition)
    with judging_progress() as advance:
        if lake is not None:
            result = scan_recorded(lake, window, judging, advance=advance)
        else:
            places = _places(settings, logs or [], log_root or [], kernel_logs or [])
            table = (
                _slurm(slurm_conf, settings, window, places)
                if accounting is None
                else _file(accounting, settings)
            )
            result = scan_table(table, places, window, judging, advance=advance)
    _print(result, show_all=show_all, as_json=as_json, as_jsonl=as_jsonl)
    raise typer.Exit(EXIT_FINDING if result.findings else EXIT_FINE)


def _refuse_beside_lake(options: Mapping[str, object]) -> None:
    from relume.errors import InputError

    given = [name for name, value in options.items() if value]
    if given:
        raise InputError(
            f"--lake can't be used with {', '.join(given)}",
            found="a lake, which has its own accounting and logs, and no partitions",
            expected="--lake alone, with times, users or jobs",
        )


def _window(
    settings: Settings,
    starttime: str | None,
    endtime: str | None,
    span: str | None,
    *,
    is_live: bool,
) -> Window:
    from relume.clock import SystemClock
    from relume.errors import InputError
    from relume.serve.scan.window import Window, parse_span, parse_time

    if starttime is not None and span is not None:
        raise InputError(
            "--starttime and --since can't be used together", hint="choose one of them"
        )
    now, zone = SystemClock().now, settings.cluster.timezone
    since = None if starttime is None else parse_time(starttime, now, zone)
    if span is not None or (since is None and is_live):
        since = now() - parse_span(span or DEFAULT_SINCE)
    until = None if endtime is None else parse_time(endtime, now, zone)
    if since is not None and until is not None and until < since:
        raise InputError(
            "--endtime", found=f"{endtime}, before the start", expected="a time after it"
        )
    return Window(since=since, until=until)


def _narrowed(
    window: Window, users: list[str] | None, jobs: list[str] | None, partitions: list[str] | None
) -> Window:
    from dataclasses import replace

    def words(values: list[str] | None) -> frozenset[str]:
        """As in Slurm, each value may be a list."""
        parts = (part.strip() for value in values or [] for part in value.split(","))
        return frozenset(filter(None, parts))

    return replace(window, users=words(users), jobs=words(jobs), partitions=words(partitions))


def _places(settings: Settings, logs: list[str], roots: list[str], kernel: list[str]) -> LogPlaces:
    from relume.serve.scan.places import LogPlaces

    return LogPlaces(
        templates=tuple(logs),
        roots=tuple(roots) or tuple(map(str, settings.serve.log_roots)),
        kernel=tuple(kernel) or tuple(map(str, settings.serve.kernel_logs)),
        own_user=_own_user(),
    )


def _own_user() -> str | None:
    """Who scans; root is nobody's own user: it may read what a job must not make it read."""
    if os.geteuid() == 0:
        return None
    try:
        return pwd.getpwuid(os.geteuid()).pw_name
    except KeyError:
        return None


def _file(path: Path, settings: Settings) -> Table:
    from relume.ingest.accounting.read import with_header
    from relume.ingest.importing.events import text_lines
    from relume.ingest.skips import SkipCounts
    from relume.serve.scan.run import Table

    skipped, cluster = SkipCounts(), settings.cluster
    lines = with_header(text_lines(path, skipped))
    return Table(lines=lines, zone=cluster.timezone, cluster=cluster.name, skipped=skipped)


def _slurm(conf: Path | None, settings: Settings, window: Window, places: LogPlaces) -> Table:
    """Ask Slurm: sacct once or twice, and squeue where accounting doesn't know where logs are."""
    from relume.clock import SystemClock
    from relume.controller.reader import SlurmReader
    from relume.serve.scan.run import Table
    from relume.slurm.history import Asked

    path = conf or settings.controller.slurm_conf
    reader = SlurmReader(slurm_conf=Path(path) if path else None)
    now = SystemClock().now()
    asked = Asked(
        since=window.since or 0,
        until=window.until,
        users=sorted(window.users),
        jobs=sorted(window.jobs),
        partitions=sorted(window.partitions),
    )
    text, has_paths = reader.history(asked)
    lines = _table_of(text)
    told = {} if has_paths or places.templates else _told(reader)
    return Table(lines=lines, cluster=settings.cluster.name, told=told, asked_at=now)


def _table_of(text: str) -> list[str]:
    """Return the lines that sacct printed; an answer without a header is as none."""
    from relume.errors import InputError, UnreachableError
    from relume.ingest.accounting.read import with_header

    try:
        return list(with_header(text.split("\n")))
    except InputError as error:
        raise UnreachableError(
            "what sacct printed",
            found=error.found,
            expected=error.expected,
            hint="run it by hand on this host",
        ) from error


def _told(reader: SlurmReader) -> dict[tuple[str, int], list[tuple[str, str]]]:
    """Where slurmctld says that the logs of recent jobs are; older ones go by their submit line."""
    from relume.errors import UnreachableError

    try:
        jobs = reader.jobs()
    except UnreachableError as error:
        say(error)
        say("going on without squeue: logs are looked for where the submit lines say")
        return {}
    told = {}
    for job in jobs:
        paths = {job.std_out: "stdout"}
        paths.setdefault(job.std_err, "stderr")
        named = [(path, stream) for path, stream in paths.items() if path and path != "/dev/null"]
        if named and job.submit_time is not None:
            told[job.job_id, job.submit_time] = named
    return told


def _print(scan: Scan, *, show_all: bool, as_json: bool, as_jsonl: bool) -> None:
    import orjson

    from relume.serve.scan.record import attempt_record, scan_record

    shown = list(scan.attempts) if show_all else scan.findings
    for words in scan.skipped.left_out():
        say(f"not read of accounting: {words}")
    if as_json:
        print_json(scan_record(scan, shown))
    elif as_jsonl:
        for one in shown:
            record = {"schema_version": SCHEMA_VERSION, **attempt_record(one)}
            sys.stdout.buffer.write(orjson.dumps(record) + b"\n")
        sys.stdout.buffer.flush()
    else:
        _print_tables(scan, shown)


def _print_tables(scan: Scan, shown: Sequence[Scanned]) -> None:
    from relume.serve.reports.scan import render

    console = table_console(PIPED_WIDTH)
    for part in render(scan, shown):
        console.print(part)
    for one in shown:
        for words in one.missing:
            say(f"{one.entry.attempt}: {words}")


@contextmanager
def judging_progress() -> Iterator[Callable[[int], None]]:
    """Count the attempts that are judged, on a terminal only."""
    if not sys.stderr.isatty():
        yield lambda _: None
        return
    from rich.console import Console

    with Console(stderr=True).status("judging attempts") as status:
        yield lambda done: status.update(f"judging attempts: {done} done")
