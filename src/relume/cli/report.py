"""`relume report`: what a lake says of many attempts, and of nodes, together."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from relume.cli.options import ConfigOption, JsonOption, RulesOption, named_path
from relume.cli.output import print_json, say
from relume.cli.rightness import false_positives, scoreboard
from relume.cli.scan import judging_progress
from relume.errors import counted
from relume.printing import printable

if TYPE_CHECKING:
    from relume.serve.unknownfailures import UnknownFailures

app = typer.Typer(
    help="Reports over a lake or a ledger: goodput, unknown failures, faulty nodes, scoreboard.",
    no_args_is_help=True,
    rich_markup_mode=None,
)

app.command("scoreboard")(scoreboard)
app.command("false-positives")(false_positives)

LakeOption = Annotated[
    Path,
    typer.Option(
        "--lake", parser=named_path, metavar="FOLDER", help="The lake.", show_default=False
    ),
]
SinceOption = Annotated[
    str | None,
    typer.Option("--since", metavar="SPAN", help="Only the last 2h, 7d …", show_default=False),
]
ClusterOption = Annotated[
    int | None,
    typer.Option(
        "--gpus",
        metavar="N",
        min=1,
        help="In service all the time: then shares of the cluster are said, idle ones included.",
        show_default=False,
    ),
]
GpusOption = Annotated[
    int,
    typer.Option(
        "--gpus-per-node",
        metavar="N",
        min=1,
        help="Of attempts whose GPUs accounting doesn't count.",
    ),
]
SaveOption = Annotated[
    Path | None,
    typer.Option(
        "--save",
        parser=named_path,
        metavar="FOLDER",
        help="Write each rule to a new file there.",
        show_default=False,
    ),
]


@app.command("unknown")
def unknown(
    *,
    lake: LakeOption,
    since: SinceOption = None,
    save: SaveOption = None,
    as_json: JsonOption = False,
    config: ConfigOption = None,
    rules: RulesOption = None,
) -> None:
    """Group the failures that no rule explains by how they end, with a rule to begin with for each.

    Each family with its attempts, users, nodes and times, the lines that they share, and a rule
    skeleton that `relume rules test` accepts. Changes nothing in the lake. Exit code 0; 2: the lake
    can't be used.
    """
    from relume.config import load_config
    from relume.serve.backtest.run import Judging
    from relume.serve.reports.unknown import render, unknown_record
    from relume.serve.scan.run import scan_recorded
    from relume.serve.scan.window import Window
    from relume.serve.unknownfailures import unknown_failures

    window = Window(since=None if since is None else _ago(since))
    judging = Judging.of(load_config(config).settings, rules or [], lake=lake)
    with judging_progress() as advance:
        scanned = scan_recorded(lake, window, judging, advance=advance).attempts
    found = unknown_failures(scanned, judging.analyzer.catalogue)
    if as_json:
        print_json(unknown_record(found))
    else:
        for line in render(found):
            typer.echo(line)
    if save is not None:
        _save(found, save)


@app.command("nodes")
def nodes(
    *,
    lake: LakeOption,
    since: SinceOption = None,
    as_json: JsonOption = False,
    config: ConfigOption = None,
    rules: RulesOption = None,
) -> None:
    """List the nodes with faults of their own, and which of them to keep from jobs.

    A fault is a failure of hardware or network that a line of a kernel or of slurmctld shows, or a
    node that Slurm or a health check took out; what a job writes accuses no node. Each node with
    its faults, how much more often it fails than the others, what is advised and why. Changes
    nothing. Exit code 0; 2: the lake can't be used.
    """
    from relume.cli.rows import write_text
    from relume.config import load_config
    from relume.serve.backtest.run import Judging
    from relume.serve.faultynodes import node_events, node_report
    from relume.serve.reports.nodes import COLUMNS, node_record, rows_of, summary
    from relume.serve.scan.run import scan_recorded
    from relume.serve.scan.window import Window

    window = Window(since=None if since is None else _ago(since))
    judging = Judging.of(load_config(config).settings, rules or [], lake=lake)
    with judging_progress() as advance:
        scanned = scan_recorded(lake, window, judging, advance=advance).attempts
    settings = judging.settings.quarantine
    found = node_report(scanned, node_events(lake, window.since), settings)
    if as_json:
        print_json(node_record(found, settings))
        return
    write_text(COLUMNS, rows_of(found))
    say(summary(found))


def _ago(span: str) -> int:
    from relume.clock import SystemClock
    from relume.serve.scan.window import parse_span

    return SystemClock().now() - parse_span(span)


def _save(found: UnknownFailures, folder: Path) -> None:
    """Write the rules, and never over a file that is there: somebody may have worked on it."""
    folder.mkdir(parents=True, exist_ok=True)
    kept = 0
    for family in found.families:
        if family.rule is None:
            continue
        try:
            with (folder / f"{family.rule.id}.toml").open("x", encoding="utf-8") as file:
                file.write(family.rule.toml())
        except FileExistsError as error:
            kept += 1
            say(f"{error.filename} is there already, and stays as it is")
    written = sum(family.rule is not None for family in found.families) - kept
    say(f"{counted(written, 'new rule')} in {folder}; `relume rules test {folder}` checks them")


@app.command("goodput")
def goodput(
    *,
    lake: LakeOption,
    since: SinceOption = None,
    gpus: ClusterOption = None,
    gpus_per_node: GpusOption = 8,
    as_json: JsonOption = False,
    config: ConfigOption = None,
    rules: RulesOption = None,
) -> None:
    """Say where the time of GPUs went, how often jobs fail, and what Advice would have saved.

    Each GPU-second of a run is in exactly one bucket. Attempts are replayed as by
    `relume backtest`; changes nothing in the lake. Exit code 0; 2: the lake can't be used.
    """
    from tempfile import TemporaryDirectory

    from relume.cli.backtest import print_tables, replay_progress
    from relume.config import load_config
    from relume.serve.backtest.results import Results
    from relume.serve.backtest.run import Judging, Recording
    from relume.serve.backtest.worth import Assumed, worth_of
    from relume.serve.reports.goodput import render, sentences, to_document
    from relume.serve.scan.window import Window

    window = Window(since=None if since is None else _ago(since))
    recording = Recording(lake)
    judging = Judging.of(load_config(config).settings, rules or [], lake=lake)
    with (
        TemporaryDirectory(prefix="relume-goodput-") as folder,
        Results(Path(folder), recording.about(judging)) as results,
    ):
        with replay_progress(recording.name) as advance:
            recording.replay(judging, results, advance, learns=False)
        assumed = Assumed(gpus_per_node=gpus_per_node, gpus=gpus)
        worth = worth_of(recording, results.read(), assumed, window)
    document = to_document(worth)
    if as_json:
        print_json(document)
        return
    print_tables(render(document))
    for sentence in sentences(document):
        typer.echo(printable(sentence))
