"""`relume lake`: bring recordings into a lake, ask it, let old segments go."""

from __future__ import annotations

import re
import sys
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from itertools import chain
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from relume.cli.options import ConfigOption, JsonOption, RulesOption, named, named_path, one_form
from relume.cli.output import print_json, say, say_all
from relume.errors import counted
from relume.printing import printable

if TYPE_CHECKING:
    from relume.ingest.importing import ImportReport, Unit

EXIT_FINDING = 1
EXIT_USAGE = 2
_DAYS = {"d": 1, "w": 7, "y": 365}

app = typer.Typer(
    help="Recordings in a lake: import, SQL, tables, metrics, prune, compact.",
    no_args_is_help=True,
    rich_markup_mode=None,
)

SourcesArgument = Annotated[
    list[str] | None,
    typer.Argument(
        parser=named,
        metavar="SOURCE...",
        help="Data sets, logs, folders of logs, sacct -P and sinfo output, scrapes, answers of "
        "Prometheus, files of events.",
        show_default=False,
    ),
]
PrometheusOption = Annotated[
    str | None,
    typer.Option(
        "--prometheus", metavar="URL", help="Import from a Prometheus, too.", show_default=False
    ),
]
QueryOption = Annotated[
    list[str] | None,
    typer.Option(
        "--query",
        metavar="PROMQL",
        help="What to ask it: a known name, PromQL, METRIC=PROMQL.  [all known names]",
        show_default=False,
    ),
]
StepOption = Annotated[
    str, typer.Option("--step", metavar="SPAN", help="Between two of its values, such as 30s.")
]
SinceOption = Annotated[
    str | None,
    typer.Option(
        "--starttime", "-S", help="What it has from this time on; now-2h, too.", show_default=False
    ),
]
UntilOption = Annotated[
    str | None,
    typer.Option("--endtime", "-E", help="And up to this time.  [now]", show_default=False),
]
LakeOption = Annotated[
    Path,
    typer.Option(
        "--lake", parser=named_path, metavar="FOLDER", help="The lake.", show_default=False
    ),
]
AttemptOption = Annotated[
    str | None,
    typer.Option(
        "--attempt",
        metavar="ID",
        help="Whose logs they are: cluster/job_id@first_submit_epoch.restart_count.",
        show_default=False,
    ),
]
KeepOption = Annotated[
    str | None,
    typer.Option(
        "--keep",
        metavar="AGE",
        help="What is younger stays, such as 90d or 12w; [lake] keep_days if left out.",
        show_default=False,
    ),
]
JsonLinesOption = Annotated[bool, typer.Option("--jsonl", help="One JSON object a row.")]
CsvOption = Annotated[bool, typer.Option("--csv", help="CSV with a header.")]
YesOption = Annotated[bool, typer.Option("--yes", help="Do it; without, only say what would go.")]


@app.command("import")
def import_(
    sources: SourcesArgument = None,
    *,
    lake: LakeOption,
    attempt: AttemptOption = None,
    prometheus: PrometheusOption = None,
    query: QueryOption = None,
    step: StepOption = "15s",
    starttime: SinceOption = None,
    endtime: UntilOption = None,
    config: ConfigOption = None,
    as_json: JsonOption = False,
) -> None:
    """Land recordings in a lake, each row once: interrupted, it goes on when called again.

    With --prometheus, what that server has from --starttime on. Exit code 0: all of it is in the
    lake; 2: some source can't be imported, the others are; 3: Prometheus doesn't answer.
    """
    from relume.cli.metrics import asked_prometheus, load_names_of
    from relume.config import load_config
    from relume.errors import InputError
    from relume.ingest.importing import facts_of, import_units, units_of
    from relume.ingest.lake import LakeWriter
    from relume.ingest.lake.about import note_about
    from relume.ingest.skips import SkipCounts
    from relume.serve.healthy import learning

    settings = load_config(config).settings
    cluster, names = settings.cluster, load_names_of(settings)
    asking = asked_prometheus(
        settings, names, url=prometheus, queries=query, step=step, times=(starttime, endtime)
    )
    if not sources and prometheus is None:
        raise InputError("import", found="no source", expected="files, folders or --prometheus")
    sources = sources or []
    left_out = SkipCounts()

    def units(skipped: SkipCounts | None) -> Iterator[Unit]:
        return units_of(
            sources,
            attempt=attempt,
            cluster=cluster.name,
            zone=cluster.timezone,
            naming=names,
            skipped=skipped,
        )

    # First of all: what can't be used at all is refused before anything is written.
    total = sum(unit.size() for unit in units(None))
    began, worked = time.monotonic(), time.process_time()
    facts = [facts_of(source, cluster.timezone) for source in sources]
    with asking as asked, LakeWriter(lake) as writer, _progress(total) as advance:
        for fact in facts:
            note_about(writer, fact)
        remembered = asked.units(writer.positions) if asked is not None else ()
        sought = chain(units(left_out), remembered)
        with learning(lake) as learner:
            report = import_units(writer, sought, advance=advance, landed=learner.take)
    report.skipped.merge(left_out)
    _tell(report, time.monotonic() - began, time.process_time() - worked, as_json=as_json)
    if report.refused:
        say_all(report.refused)
        raise typer.Exit(EXIT_USAGE)


@app.command("sql")
def sql(
    query: Annotated[str, typer.Argument(metavar="SQL", show_default=False)],
    *,
    lake: LakeOption,
    as_json: JsonOption = False,
    as_jsonl: JsonLinesOption = False,
    as_csv: CsvOption = False,
) -> None:
    """Ask a lake: one query (DuckDB) over a view for each table.

    It only reads, whatever the query says. A table on a terminal, lines of tab-separated fields
    elsewhere.
    """
    from relume.cli.rows import FORMS
    from relume.ingest.lake.queries import query as ask
    from relume.ingest.lake.sql import connect

    form = one_form(json=as_json, jsonl=as_jsonl, csv=as_csv)
    with connect(lake) as connection:
        answer = ask(connection, query)
        FORMS[form or "text"](answer.names, answer.rows())


@app.command("tables")
def tables(*, lake: LakeOption, as_json: JsonOption = False) -> None:
    """List what a lake holds: rows, bytes, times, schema versions, table by table."""
    from relume.cli.rows import FORMS
    from relume.ingest.lake.contents import contents

    found = contents(lake)
    names = ("table", "segments", "rows", "bytes", "first", "last", "schema_versions")
    rows = [[getattr(one, name) for name in names] for one in found]
    FORMS["json" if as_json else "text"](names, rows)


@app.command("metrics")
def metrics(
    *,
    lake: LakeOption,
    rules: RulesOption = None,
    config: ConfigOption = None,
    as_json: JsonOption = False,
    as_jsonl: JsonLinesOption = False,
    as_csv: CsvOption = False,
) -> None:
    """Say what a lake's metrics tell by themselves: Xids, faults, your rules, what went silent.

    Exit code 0: nothing; 1: something.
    """
    from relume.cli.rows import FORMS
    from relume.clock import to_iso
    from relume.config import load_config
    from relume.serve.configured import load_metric_rules, load_rules
    from relume.serve.findings import lake_samples, metric_findings

    form = one_form(json=as_json, jsonl=as_jsonl, csv=as_csv)
    settings = load_config(config).settings
    own, catalogue = load_metric_rules(settings, rules or []), load_rules(settings, rules or [])

    is_quiet = True

    def rows() -> Iterator[list[object]]:
        nonlocal is_quiet
        for told in metric_findings(lake_samples(lake), own, catalogue):
            is_quiet = False
            yield [to_iso(told.at), to_iso(told.since), *(getattr(told, name) for name in names)]

    names = ("cluster", "node", "gpu", "device", "finding", "is_over", "words")
    FORMS[form or "text"](("at", "since", *names), rows())
    raise typer.Exit(0 if is_quiet else EXIT_FINDING)


@app.command("prune")
def prune(
    *,
    lake: LakeOption,
    keep: KeepOption = None,
    yes: YesOption = False,
    config: ConfigOption = None,
) -> None:
    """Let go of what a lake committed long ago, or with no --yes: say what would go."""
    from relume.clock import SystemClock, from_seconds
    from relume.config import load_config
    from relume.errors import InputError
    from relume.ingest.lake import LakeWriter
    from relume.ingest.lake.retention import plan_pruning

    days = _days(keep) if keep is not None else load_config(config).settings.lake.keep_days
    if not days:
        raise InputError(
            "pruning of a lake",
            found="no age: the setting lake.keep_days keeps everything",
            expected="--keep with an age, such as 90d",
        )
    plan = plan_pruning(lake, SystemClock().now() - from_seconds(days * 86_400))
    for table, amount in plan.tables.items():
        typer.echo(
            f"{table}: {counted(amount.segments, 'segment', ',')}, "
            f"{counted(amount.rows, 'row', ',')}, {counted(amount.bytes, 'byte', ',')}"
        )
    if plan.is_held_back:
        say("more of it is old enough, but the service that uses the lake still needs it")
    if not plan.tables:
        typer.echo(f"nothing is older than {counted(days, 'day')}")
    elif yes:
        with LakeWriter(lake) as writer:
            writer.prune(plan.through)
        typer.echo("it is gone")
    else:
        typer.echo("that would go; --yes does it")


@app.command("compact")
def compact(*, lake: LakeOption, as_json: JsonOption = False) -> None:
    """Merge the small segments of a lake that no service has open; nothing else changes.

    They are removed a quarter of an hour later, the next time, for those who read them now.
    """
    from dataclasses import asdict

    from relume.clock import SystemClock
    from relume.errors import counted
    from relume.ingest.lake import LakeReader, LakeWriter
    from relume.ingest.lake.compaction import compact as merge

    next(LakeReader(lake).commits(), None)  # an error where there is no lake: none is to be made
    with LakeWriter(lake) as writer:
        writer.seal()
        done = merge(lake, SystemClock())
    if as_json:
        print_json(asdict(done))
        return
    before, after = done.segments_before, done.segments_after
    typer.echo(f"{counted(before, 'segment')} became {after}; removed: {done.removed}")


def _days(age: str) -> int:
    from relume.errors import InputError

    found = re.fullmatch(r"([1-9]\d{0,5})([dwy])", age)
    if found is None:
        is_zero = re.fullmatch(r"0+[a-z]?", age) is not None
        raise InputError(
            f"--keep {age}",
            found="an age of 0, which would let all of the lake go" if is_zero else "no such age",
            expected="a number of days, weeks or years from 1 on, such as 90d, 12w or 2y",
        )
    return int(found[1]) * _DAYS[found[2]]


def _tell(report: ImportReport, seconds: float, cpu_seconds: float, *, as_json: bool) -> None:
    if as_json:
        record = {
            "imported": report.imported,
            "resumed": report.resumed,
            "already": report.already,
            "refused": len(report.refused),
            "lines": report.lines,
            "events": report.events,
            "text_bytes": report.text_bytes,
            "seconds": round(seconds, 3),
            "cpu_seconds": round(cpu_seconds, 3),
            **report.skipped.record(),
        }
        print_json(record)
        return
    typer.echo(
        f"{report.imported} imported, {report.resumed} gone on with, {report.already} there already"
    )
    if report.lines or report.events:
        typer.echo(
            f"{counted(report.lines, 'line', ',')} ({report.text_bytes / 1e6:,.1f} MB), "
            f"{counted(report.events, 'event', ',')} in {seconds:.1f} s, "
            f"{report.text_bytes / 1e6 / max(cpu_seconds, 1e-9):,.0f} MB a CPU-second"
        )
    elif not report.refused:
        typer.echo("nothing new")
    for words in report.skipped.left_out():
        typer.echo(printable(f"not read: {words}"))
    for words in report.skipped.mended():
        typer.echo(printable(f"mended: {words}"))


@contextmanager
def _progress(total: int) -> Iterator[Callable[[int], None]]:
    """Show how much of `total` bytes was read, on a terminal only."""
    if not sys.stderr.isatty():
        yield lambda _: None
        return
    from rich.console import Console
    from rich.progress import (
        BarColumn,
        DownloadColumn,
        Progress,
        TimeRemainingColumn,
        TransferSpeedColumn,
    )

    columns = (BarColumn(), DownloadColumn(), TransferSpeedColumn(), TimeRemainingColumn())
    with Progress(*columns, console=Console(stderr=True), transient=True) as bar:
        task = bar.add_task("import", total=total)
        yield lambda read: bar.advance(task, read)
