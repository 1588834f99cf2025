"""`relume bench`: every published number has a command here that makes it again."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

if TYPE_CHECKING:
    from relume.benchmarks.result import BenchResult

app = typer.Typer(help="Run the benches and show their stored results.", no_args_is_help=True)

DataOption = Annotated[
    Path | None, typer.Option("--data", help="Folder of the recorded corpora.", show_default=False)
]
StoreOption = Annotated[
    Path | None,
    typer.Option("--store", help="Folder for the result; [benchmarks] results_folder if left out."),
]
JsonOption = Annotated[bool, typer.Option("--json", help="One JSON document.")]


@app.command("list")
def list_benches(*, as_json: JsonOption = False) -> None:
    """List the benches: what each shows and which data it needs."""
    from relume.benchmarks.registry import BENCHES

    if as_json:
        _print_json(
            {"benches": [{"id": b.id, "shows": b.shows, "data": b.data} for b in BENCHES]}
        )
        return
    for bench in BENCHES:
        typer.echo(f"{bench.id:<15} {bench.shows}\n{'':<15} data: {bench.data}")


@app.command("run")
def run(
    bench_id: Annotated[str, typer.Argument(metavar="ID")],
    *,
    data: DataOption = None,
    store_in: StoreOption = None,
    as_json: JsonOption = False,
) -> None:
    """Run one bench, print its measures against their bars, store the result.

    Exit code 0: every bar reached; 1: not.
    """
    from relume.benchmarks.registry import find
    from relume.benchmarks.result import store
    from relume.config import load_config

    result = find(bench_id).run(data)
    folder = store_in or Path(load_config().settings.benchmarks.results_folder)
    path = store(result, folder)
    if as_json:
        _print_json(result.record())
    else:
        _print_table(result)
    typer.echo(f"relume: stored in {path}", err=True)
    raise typer.Exit(0 if result.passed else 1)


def _print_json(document: dict[str, Any]) -> None:
    import orjson

    from relume.cli.output import SCHEMA_VERSION

    text = orjson.dumps({"schema_version": SCHEMA_VERSION, **document}, option=orjson.OPT_INDENT_2)
    typer.echo(text.decode())


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


def _shown(measure: float | dict[str, float]) -> str:
    if isinstance(measure, dict):
        return f"{measure['value']:.4g} [{measure['low']:.3g}, {measure['high']:.3g}]"
    return f"{measure:.6g}"
