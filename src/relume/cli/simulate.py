"""`relume simulate`: what a cluster would lose, and what detection would give back."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from relume.cli.options import JsonOption, named_path
from relume.cli.output import print_json, say, table_console

if TYPE_CHECKING:
    from collections.abc import Sequence

    from relume.benchmarks.simulator.simulate import Outcome

NodesOption = Annotated[int, typer.Option("--nodes", help="Nodes of the cluster, of 8 GPUs each.")]
DaysOption = Annotated[float, typer.Option("--days", help="How long it lives.")]
JobsOption = Annotated[
    int | None,
    typer.Option(
        "--jobs", help="So many jobs of a research cluster, instead of one large run.",
        show_default=False,
    ),
]  # fmt: skip
SeedOption = Annotated[int, typer.Option("--seed", help="Of all draws.")]
OperatorOption = Annotated[
    list[str] | None,
    typer.Option(
        "--operator",
        metavar="NAME",
        help="Who looks after it: baseline, human, relume, oracle; again for more. "
        "Without it: all of them.",
        show_default=False,
    ),
]
ParametersOption = Annotated[
    Path | None,
    typer.Option(
        "--parameters",
        parser=named_path,
        metavar="FILE",
        help="Rates and mixes of your site instead of the published ones.",
        show_default=False,
    ),
]
OutOption = Annotated[
    Path | None,
    typer.Option(
        "--out",
        parser=named_path,
        metavar="FOLDER",
        help="Write attempts, steps, incidents and spans there as Parquet.",
        show_default=False,
    ),
]


def simulate(
    *,
    nodes: NodesOption = 64,
    days: DaysOption = 30.0,
    jobs: JobsOption = None,
    seed: SeedOption = 0,
    operator: OperatorOption = None,
    parameters: ParametersOption = None,
    out: OutOption = None,
    as_json: JsonOption = False,
) -> None:
    """Let a made-up cluster live under several operators, and print where its GPU time went.

    The same faults meet each of them: the 600 s timer of the collectives with a blind requeue, a
    human after half an hour, Relume as its stored benches measured it, and a perfect detector.
    Exit code 0; 2: parameters or results can't be used.
    """
    from relume.benchmarks.simulator.parameters import PUBLISHED, load
    from relume.benchmarks.simulator.simulate import (
        OPERATORS,
        Setting,
        operators_of,
        write,
    )
    from relume.benchmarks.simulator.simulate import simulate as run
    from relume.config import load_config
    from relume.errors import InputError

    results = Path(load_config().settings.benchmarks.results_folder)
    setting = Setting(nodes=nodes, days=days, jobs=jobs, seed=seed)
    rates = load(parameters or PUBLISHED)
    try:
        operators = operators_of(operator or OPERATORS, results)
    except InputError as error:
        if operator:
            raise
        say(f"without relume: {error}")
        operators = operators_of([name for name in OPERATORS if name != "relume"], results)
    outcomes = list(run(rates, setting, operators))
    if as_json:
        print_json({"outcomes": [outcome.record() for outcome in outcomes]})
    else:
        _print(outcomes)
    if out is not None:
        say(f"{len(write(outcomes, out))} files in {out}")


def _print(outcomes: Sequence[Outcome]) -> None:
    from rich.table import Table

    from relume.benchmarks.simulator.simulate import COLUMNS

    table = Table("simulated; % of GPU time", *(one.operator for one in outcomes), box=None)
    for column in COLUMNS:
        table.add_row(column, *(f"{100 * one.shares[column]:.2f}" for one in outcomes))
    for count in ("failures", "futile", "false_alarms", "wrong_exclusions", "stops", "preempted"):
        table.add_row(count, *(str(getattr(one.counts, count)) for one in outcomes))
    table_console(piped_width=100).print(table)
