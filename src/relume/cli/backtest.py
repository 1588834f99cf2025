"""`relume backtest`: recorded attempts through the code that runs live, and how well it did."""

from __future__ import annotations

import sys
import tempfile
import time
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager, nullcontext
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from relume.cli.engines import (
    Asked,
    EngineName,
    EngineOption,
    InterfaceOption,
    MemoryOption,
    SchedulerOption,
    SlurmExtraOption,
    SlurmOption,
    WorkersOption,
    engine_of,
)
from relume.cli.options import ConfigOption, JsonOption, RulesOption, named_path
from relume.cli.output import say, table_console, write_file
from relume.errors import InputError, counted
from relume.printing import printable

if TYPE_CHECKING:
    from rich.console import Group

    from relume.models.scoring.attempt import ScoredAttempt
    from relume.serve.backtest.engines.work import Engine
    from relume.serve.backtest.replay import Note
    from relume.serve.backtest.results import Results
    from relume.serve.backtest.run import Judging, Recording
    from relume.settings import Settings

MAX_SHOWN = 5
PIPED_WIDTH = 120
"""Columns of tables that don't go to a terminal."""
DataArgument = Annotated[
    Path,
    typer.Argument(
        parser=named_path, metavar="DATASET", help="A data set, or a lake.", show_default=False
    ),
]
LabelsOption = Annotated[
    Path | None,
    typer.Option(
        "--labels",
        parser=named_path,
        metavar="DATASET",
        help="What went wrong with the attempts of a lake.",
        show_default=False,
    ),
]
OutOption = Annotated[
    Path | None,
    typer.Option(
        "--out",
        parser=named_path,
        metavar="FOLDER",
        help="Keep results there, and go on from them when called again.",
        show_default=False,
    ),
]
HtmlOption = Annotated[
    Path | None,
    typer.Option(
        "--html",
        parser=named_path,
        metavar="FILE",
        help="Write all of it as one page that needs nothing else.",
        show_default=False,
    ),
]
LedgerOption = Annotated[
    Path | None,
    typer.Option(
        "--ledger",
        parser=named_path,
        metavar="FILE",
        help="Write Advice, incidents and outcomes to a new ledger there, as a service does.",
        show_default=False,
    ),
]
PresetsOption = Annotated[
    bool,
    typer.Option("--presets", help="Compare the presets of the policy, each replayed anew."),
]
TuneOption = Annotated[
    float | None,
    typer.Option(
        "--tune",
        metavar="BUDGET",
        help="Find settings that keep to so many false alarms a job-day and kind, such as 0.01.",
        show_default=False,
    ),
]


def backtest(
    data: DataArgument,
    *,
    labels: LabelsOption = None,
    out: OutOption = None,
    tune: TuneOption = None,
    html: HtmlOption = None,
    presets: PresetsOption = False,
    engine: EngineOption = EngineName.LOCAL,
    workers: WorkersOption = None,
    worker_memory: MemoryOption = None,
    scheduler: SchedulerOption = None,
    slurm: SlurmOption = False,
    interface: InterfaceOption = None,
    slurm_option: SlurmExtraOption = None,
    ledger: LedgerOption = None,
    as_json: JsonOption = False,
    config: ConfigOption = None,
    rules: RulesOption = None,
) -> None:
    """Replay recorded attempts as if they ran now, and score what would have been advised.

    Prints precision, recall, false alarms per job-day, latency, attribution and a scoreboard by
    rule. Exit code 0, whatever they are; 2: the data can't be used. With `--tune` it
    finds settings of the detectors of hangs and stragglers instead, on earlier jobs, and judges
    them on later ones.

    Goodput, and what Advice would have saved, come after the score.

    It takes all cores of this machine, or the workers of a Dask cluster, with the same results.
    """
    from relume.config import load_config
    from relume.serve.backtest.outcome import Outcome
    from relume.serve.backtest.results import Results
    from relume.serve.backtest.run import Judging, Recording
    from relume.serve.backtest.worth import worth_of
    from relume.serve.reports import across
    from relume.serve.reports.goodput import to_document

    _require(tune, html, ledger, presets=presets)
    asked = Asked(
        engine=engine,
        workers=workers,
        memory_gib=worker_memory,
        scheduler=scheduler,
        slurm=slurm,
        interface=interface,
        slurm_options=tuple(slurm_option or ()),
        out=out,
    )
    if ledger is not None:
        asked = asked.here("--ledger")
    recording = Recording(data, labels)
    settings = load_config(config).settings
    judging = Judging.of(settings, rules or [], lake=recording.lake)
    with (
        nullcontext(out) if out is not None else _temporary() as folder,
        engine_of(asked) as replays,
    ):
        if tune is not None:
            _tune(recording, judging, settings, tune, Path(folder), engine=replays, as_json=as_json)
            return
        began = time.monotonic()
        with Results(Path(folder), recording.about(judging)) as results:
            with _new_ledger(ledger, results) as note, replay_progress(recording.name) as advance:
                recording.replay(judging, results, advance, engine=replays, note=note)
            outcome = Outcome(recording, results)
            document = _score(recording, outcome.attempts(), began, replays.cores)
            held = outcome.across_jobs(settings.straggler.false_share)
            document["across_jobs"] = across.to_document(held)
            document["not_replayed"] = missing = outcome.not_replayed
            document["unread"] = lost = outcome.unread
            document["given_up"] = given_up = dict(results.given_up)
            document["goodput"] = to_document(worth_of(recording, results.read()))
            if presets:
                document["goodput"]["presets"] = _presets(recording, judging, Path(folder), replays)
            if html is not None:
                _write_page(html, document, results)
        if out is not None:
            _write_report(out, document)
    _print(document, as_json=as_json)
    if lost:
        shown = next((f"; {name}: {why[0]}" for name, why in lost.items() if why), "")
        say(f"{counted(len(lost), 'attempt')} left no log, or not all of it could be used{shown}")
    if given_up:
        name, why = next(iter(given_up.items()))
        what = counted(len(given_up), "run")
        say(f"{what} could not be replayed, and not scored; {name}: {why}")
    if missing:
        shown = ", ".join(missing[:MAX_SHOWN])
        what = counted(len(missing), "labelled attempt")
        say(f"not in the data, and not scored: {what}: {shown}")


def _require(tune: float | None, html: Path | None, ledger: Path | None, *, presets: bool) -> None:
    """Refuse what doesn't go together or can't be done, before a long replay."""
    if tune is not None and ledger is not None:
        raise typer.BadParameter("--ledger and --tune can't be used together; choose one of them")
    if tune is not None and (html is not None or presets):
        raise InputError(
            "--tune with --html or --presets",
            found="a search for settings, and a report of one backtest",
            expected="one of them",
            hint="tune first, then backtest with the settings that were found",
        )
    if html is not None:
        from relume.serve.reports.page import require_packages

        require_packages()


@contextmanager
def _new_ledger(file: Path | None, results: Results) -> Iterator[Note | None]:
    """Yield what writes into a new ledger; null where none is asked for."""
    from relume.serve.ledger import Ledger, sqlite_url

    if file is None:
        yield None
        return
    if file.exists() or results.done:
        found = "a file that is there already" if file.exists() else "results of a replay in --out"
        raise InputError(
            f"--ledger {file}",
            found=found,
            expected="a new file, and nothing that was replayed before",
            hint="a ledger is written while attempts are replayed: name another file or folder",
        )
    with Ledger.open(sqlite_url(file)) as opened:
        yield opened.write


def _presets(
    recording: Recording, judging: Judging, folder: Path, engine: Engine
) -> list[dict[str, Any]]:
    from relume.serve.backtest.worth import sweep
    from relume.serve.reports.presets import preset_records

    with replay_progress(f"{recording.name}, presets") as advance:
        return preset_records(sweep(recording, judging, folder / "presets", advance, engine=engine))


def _write_page(path: Path, document: dict[str, Any], results: Results) -> None:
    from relume.serve.reports.page import page

    write_file(path, page(document, results.read()))
    say(f"the page is {path}")


def _tune(
    recording: Recording,
    judging: Judging,
    settings: Settings,
    budget: float,
    folder: Path,
    *,
    engine: Engine,
    as_json: bool,
) -> None:
    from relume import __version__
    from relume.cli.output import print_json
    from relume.serve.backtest.tune import tune
    from relume.serve.reports.tuning import as_toml, sentences, tables, to_document

    with replay_progress(f"{recording.name}, tuning") as advance:
        tuning = tune(
            recording,
            judging,
            settings,
            budget=budget,
            folder=folder,
            advance=advance,
            engine=engine,
        )
    for sentence in sentences(tuning):
        say(sentence)
    if as_json:
        corpus = {
            "name": recording.name,
            "hash": recording.digest(),
            "origin": recording.origin.value,
            "version": __version__,
        }
        print_json(to_document(tuning, corpus))
        return
    console = table_console(PIPED_WIDTH)
    for table in tables(tuning):
        console.print(table)
    console.print(as_toml(tuning.proposed) or "# nothing to change")


def _score(
    recording: Recording, attempts: Iterator[ScoredAttempt], began: float, cores: int
) -> dict[str, Any]:
    from relume import __version__
    from relume.models.scoring.document import Provenance, to_document
    from relume.models.scoring.score import score

    report = score(attempts)
    provenance = Provenance(
        corpus=recording.name,
        corpus_hash=recording.digest(),
        version=__version__,
        wall_seconds=time.monotonic() - began,
        cores=cores,
        sampling="log lines by their clocks, looked at once a second",
    )
    return to_document(report, provenance)


def _print(document: dict[str, Any], *, as_json: bool) -> None:
    if as_json:
        import msgspec

        sys.stdout.write(msgspec.json.format(msgspec.json.encode(document)).decode() + "\n")
        return
    from relume.serve.reports import goodput, score

    print_tables(score.render(document))
    print_tables(goodput.render(document["goodput"]))
    for sentence in goodput.sentences(document["goodput"]):
        typer.echo(printable(sentence))


def print_tables(tables: Iterable[Group]) -> None:
    """Print tables with a line between them."""
    console = table_console(PIPED_WIDTH)
    for table in tables:
        console.print(table)
        console.print()


def _write_report(folder: Path, document: dict[str, Any]) -> None:
    import msgspec

    path = folder / "report.json"
    staged = path.with_suffix(".new")
    staged.write_bytes(msgspec.json.format(msgspec.json.encode(document)) + b"\n")
    staged.replace(path)
    say(f"results and report.json are in {folder}")


@contextmanager
def _temporary() -> Iterator[Path]:
    with tempfile.TemporaryDirectory(prefix="relume-backtest-") as folder:
        yield Path(folder)


@contextmanager
def replay_progress(name: str) -> Iterator[Callable[[int, int], None]]:
    """Show how many runs are replayed, on a terminal only."""
    if not sys.stderr.isatty():
        yield lambda _done, _total: None
        return
    from rich.console import Console
    from rich.progress import (
        BarColumn,
        MofNCompleteColumn,
        Progress,
        TextColumn,
        TimeRemainingColumn,
    )

    columns = (
        TextColumn("{task.description}"),
        BarColumn(),
        MofNCompleteColumn(),
        TextColumn("runs"),
        TimeRemainingColumn(),
    )
    with Progress(*columns, console=Console(stderr=True), transient=True) as bar:
        task = bar.add_task(name, total=None)
        yield lambda done, total: bar.update(task, completed=done, total=total)
