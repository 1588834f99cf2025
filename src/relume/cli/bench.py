"""`relume bench`: every published number has a command here that makes it again."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from relume.cli.options import JsonOption, named_path
from relume.cli.output import print_json, say
from relume.errors import counted

if TYPE_CHECKING:
    from relume.benchmarks.result import BenchResult, Measure

app = typer.Typer(help="Run the benches and show their stored results.", no_args_is_help=True)

DataOption = Annotated[
    Path | None,
    typer.Option(
        "--data",
        parser=named_path,
        metavar="FOLDER",
        help="Folder of the recorded corpora.",
        show_default=False,
    ),
]
StoreOption = Annotated[
    Path | None,
    typer.Option(
        "--store",
        parser=named_path,
        metavar="FOLDER",
        help="Folder for the result; [benchmarks] results_folder if left out.",
    ),
]
OutOption = Annotated[
    Path | None,
    typer.Option(
        "--out",
        parser=named_path,
        metavar="FOLDER",
        help="New folder for the data set.",
        show_default=False,
    ),
]
ResultsOption = Annotated[
    Path,
    typer.Option(
        "--results", parser=named_path, metavar="FOLDER", help="Folder of stored results."
    ),
]
QuickOption = Annotated[
    bool,
    typer.Option("--quick", help="Fewer runs, where a bench has that; stored apart, as ID-quick."),
]
MinutesOption = Annotated[
    float | None,
    typer.Option(
        "--minutes",
        min=0.05,
        metavar="N",
        help="How long a campaign goes on; one shorter than usual is stored apart, as ID-quick.",
        show_default=False,
    ),
]


@app.command("list")
def list_benches(*, as_json: JsonOption = False) -> None:
    """List the benches: what each shows and which data it needs."""
    from relume.benchmarks.registry import BENCHES

    if as_json:
        print_json({"benches": [{"id": b.id, "shows": b.shows, "data": b.data} for b in BENCHES]})
        return
    for bench in BENCHES:
        typer.echo(f"{bench.id:<15} {bench.shows}\n{'':<15} data: {bench.data}")


@app.command("run")
def run(
    bench_id: Annotated[str, typer.Argument(metavar="ID")],
    *,
    data: DataOption = None,
    store_in: StoreOption = None,
    quick: QuickOption = False,
    minutes: MinutesOption = None,
    as_json: JsonOption = False,
) -> None:
    """Run one bench, print its measures against their bars, store the result.

    Exit code 0: every bar reached; 1: not.
    """
    from relume.benchmarks.registry import find
    from relume.benchmarks.result import store
    from relume.config import load_config

    bench = find(bench_id)
    # Before the run, which takes long: a bad configuration must not lose its result.
    folder = store_in or Path(load_config().settings.benchmarks.results_folder)
    result = bench.run(data, quick=quick, minutes=minutes)
    path = store(result, folder)
    if as_json:
        print_json(result.record())
    else:
        _print_table(result)
    say(f"stored in {path}")
    raise typer.Exit(0 if result.passed else 1)


@app.command("dataset")
def dataset(
    name: Annotated[str | None, typer.Argument(metavar="NAME", show_default=False)] = None,
    *,
    data: DataOption = None,
    out: OutOption = None,
    list_names: Annotated[bool, typer.Option("--list", help="List the corpora.")] = False,
    as_json: JsonOption = False,
) -> None:
    """Make a data set for `relume backtest` of the corpus NAME.

    Its logs stay where they are; those that are made of a recording, or generated (then no --data
    is needed), are written into --out.
    """
    from relume.benchmarks.corpora.registry import CORPORA, find
    from relume.errors import InputError

    if list_names:
        if as_json:
            print_json({"corpora": [{"name": c.name, "what": c.what} for c in CORPORA]})
            return
        for corpus in CORPORA:
            typer.echo(f"{corpus.name:<15} {corpus.what}\n{'':<15} data: {corpus.data or 'none'}")
        return
    wanted = None if name is None else find(name)
    is_generated = wanted is not None and not wanted.data
    if wanted is None or out is None or (data is None and not is_generated):
        given = {"NAME": name, "--data": "" if is_generated else data, "--out": out}
        raise InputError(
            "relume bench dataset",
            found=f"no {' and no '.join(what for what, value in given.items() if value is None)}",
            expected="NAME --data FOLDER --out FOLDER",
            hint="see relume bench dataset --list",
        )
    made = wanted.write(data, out)
    entries = list(made.attempts())
    incidents = sum(len(entry.incidents or ()) for entry in entries)
    facts = {
        "name": made.header.name,
        "hash": made.digest(),
        "origin": made.header.origin.value,
        "folder": str(out),
        "attempts": len(entries),
        "labelled": sum(entry.incidents is not None for entry in entries),
        "incidents": incidents,
    }
    if as_json:
        print_json(facts)
        return
    typer.echo(
        f"{facts['name']} ({facts['hash']}), {facts['origin']}: "
        f"{counted(len(entries), 'attempt')}, {facts['labelled']} labelled, "
        f"{counted(incidents, 'incident')}, in {out}"
    )


@app.command("table")
def table(
    files: Annotated[
        list[Path], typer.Argument(metavar="FILE...", exists=True, dir_okay=False, readable=True)
    ],
    *,
    results: ResultsOption = Path("benchmarks/results"),
    check: Annotated[bool, typer.Option("--check", help="Only say whether they differ.")] = False,
) -> None:
    """Render the marked tables of documents from stored results.

    Exit code 0: written, or equal; 1: with --check, a document differs.
    """
    from relume.benchmarks.tables import update

    differ = False
    for file in files:
        text = file.read_text(encoding="utf-8")
        rendered = update(text, results)
        differ = differ or rendered != text
        if not check and rendered != text:
            file.write_text(rendered, encoding="utf-8")
    raise typer.Exit(int(check and differ))


def _print_table(result: BenchResult) -> None:
    corpus = ", ".join(f"{key} {value}" for key, value in result.corpus.items())
    typer.echo(f"bench {result.id}: {corpus}")
    for name, measure in result.measures.items():
        bar = result.bars.get(name)
        judged = "" if bar is None else f"{bar.op} {bar.value:g}"
        verdict = "" if bar is None else ("pass" if bar.passes(measure) else "FAIL")
        typer.echo(f"  {name:<44} {_shown(measure):<26} {judged:<12} {verdict}".rstrip())
    typer.echo(
        f"  {result.cpu_seconds:.1f} CPU-seconds, {result.wall_seconds:.1f} s, "
        f"peak {result.peak_rss_bytes / 1e6:.0f} MB"
    )
    if result.void is not None:
        typer.echo(f"  void: {result.void}")


def _shown(measure: Measure) -> str:
    if isinstance(measure, dict):
        return f"{measure['value']:.4g} [{measure['low']:.3g}, {measure['high']:.3g}]"
    return f"{measure:.6g}"
