"""`relume simulate`: what a cluster would lose, and what detection would give back."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from relume.cli.options import JsonOption, named_path
from relume.cli.output import print_json, say, table_console
from relume.errors import counted

if TYPE_CHECKING:
    from collections.abc import Sequence

    from relume.benchmarks.inject.faults import Injection
    from relume.benchmarks.simulator.parameters import Parameters
    from relume.benchmarks.simulator.simulate import Outcome, Setting

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
FaultsOption = Annotated[
    float,
    typer.Option(
        "--fault-factor", help="So many times as many faults as published, to see some sooner."
    ),
]
OutOption = Annotated[
    Path | None,
    typer.Option(
        "--out",
        parser=named_path,
        metavar="FOLDER",
        help="Write attempts, steps, incidents and spans there as Parquet; with --inject the new "
        "data set.",
        show_default=False,
    ),
]
TelemetryOption = Annotated[
    Path | None,
    typer.Option(
        "--telemetry",
        parser=named_path,
        metavar="FOLDER",
        help="Write what it would have left behind there, as a data set: job logs, kernel logs, "
        "metrics, accounting, and labels. Of one operator; the baseline, if none is named.",
        show_default=False,
    ),
]
InjectOption = Annotated[
    str | None,
    typer.Option(
        "--inject",
        metavar="FAULT",
        help="Put a fault into the telemetry named by --from, and write the result to --out: "
        "crash-workload, crash-platform, crash-hardware, crash-network, crash-facility, "
        "crash-scheduler, hang, slow, slow-node, node-lost, broken-pipe.",
        show_default=False,
    ),
]
FromOption = Annotated[
    Path | None,
    typer.Option(
        "--from",
        parser=named_path,
        metavar="SOURCE",
        help="A data set, or the log or folder of one attempt. It stays as it is.",
        show_default=False,
    ),
]
AttemptOption = Annotated[
    str | None,
    typer.Option(
        "--attempt",
        help="Into this one only, by its identity or name. Without it: into all that are labelled "
        "as healthy.",
        show_default=False,
    ),
]
NodeOption = Annotated[
    str | None,
    typer.Option(
        "--node",
        help="Whom to blame; without it one of its nodes is drawn.",
        show_default=False,
    ),
]
AtOption = Annotated[
    float,
    typer.Option(
        "--at",
        help="When: a share of the time from the first clock in the log to the last.",
    ),
]
FactorOption = Annotated[
    float,
    typer.Option("--factor", help="How many times longer slow steps take."),
]
AT, FACTOR = 0.7, 2.0


def simulate(
    *,
    nodes: NodesOption = 64,
    days: DaysOption = 30.0,
    jobs: JobsOption = None,
    seed: SeedOption = 0,
    operator: OperatorOption = None,
    parameters: ParametersOption = None,
    fault_factor: FaultsOption = 1.0,
    out: OutOption = None,
    telemetry: TelemetryOption = None,
    inject: InjectOption = None,
    source: FromOption = None,
    attempt: AttemptOption = None,
    node: NodeOption = None,
    at: AtOption = AT,
    factor: FactorOption = FACTOR,
    as_json: JsonOption = False,
) -> None:
    """Let a made-up cluster live under several operators, and print where its GPU time went.

    The same faults meet each of them: the 600 s timer of the collectives with a blind requeue, a
    human after half an hour, Relume as its stored benches measured it, and a perfect detector.
    With `--telemetry` it writes what such a cluster leaves behind; with `--inject` it puts faults
    into telemetry of your own.
    Exit code 0; 2: parameters or results can't be used.
    """
    from relume.errors import InputError

    if inject is not None:
        from relume.benchmarks.inject.faults import Injection, find

        injection = Injection(
            fault=find(inject), attempt=attempt, node=node, at=at, factor=factor, seed=seed
        )
        _inject(injection, source, out)
        return
    of_faults = {
        "--from": source is not None,
        "--attempt": attempt is not None,
        "--node": node is not None,
        "--at": at != AT,
        "--factor": factor != FACTOR,
    }
    if given := [name for name, is_given in of_faults.items() if is_given]:
        raise InputError(", ".join(given), found="no --inject", expected="a fault to put there")
    from relume.benchmarks.simulator.parameters import PUBLISHED, load
    from relume.benchmarks.simulator.simulate import (
        OPERATORS,
        Setting,
        operators_of,
        write,
    )
    from relume.benchmarks.simulator.simulate import simulate as run
    from relume.config import load_config

    results = Path(load_config().settings.benchmarks.results_folder)
    setting = Setting(nodes=nodes, days=days, jobs=jobs, seed=seed)
    rates = load(parameters or PUBLISHED).with_faults(fault_factor)
    if telemetry is not None:
        _write_telemetry(rates, setting, operator or ["baseline"], results, telemetry)
        return
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
        say(f"{counted(len(write(outcomes, out)), 'file')} in {out}")


def _inject(injection: Injection, source: Path | None, out: Path | None) -> None:
    from relume.benchmarks.inject.attempt import LABEL_SOURCE
    from relume.benchmarks.inject.inject import inject
    from relume.errors import InputError

    if source is None or out is None:
        raise InputError(
            "--inject",
            found="no --from" if source is None else "no --out",
            expected="--from SOURCE, which is read, and --out FOLDER, which is new",
        )
    dataset = inject(source, out, injection)
    labels = [one for entry in dataset.attempts() for one in entry.incidents or ()]
    count = sum(one.label_source == LABEL_SOURCE for one in labels)
    say(f"{injection.fault.name} in {out}, {counted(count, 'label')} of it; relume backtest {out}")


def _write_telemetry(
    rates: Parameters, setting: Setting, names: Sequence[str], results: Path, folder: Path
) -> None:
    from relume.benchmarks.simulator.simulate import live, operators_of
    from relume.benchmarks.simulator.telemetry.write import require_small, write_telemetry
    from relume.errors import InputError

    if len(names) != 1:
        raise InputError("--telemetry", found=f"{len(names)} operators", expected="one --operator")
    require_small(setting)
    [operator] = operators_of(names, results)
    dataset = write_telemetry(live(rates, setting, operator), folder)
    labels = [entry.incidents or () for entry in dataset.attempts()]
    incidents = sum(map(len, labels))
    say(
        f"{counted(len(labels), 'attempt')} with {counted(incidents, 'incident')} in {folder}; "
        f"relume backtest {folder}"
    )


def _print(outcomes: Sequence[Outcome]) -> None:
    from rich.table import Table

    from relume.benchmarks.simulator.simulate import COLUMNS

    table = Table("simulated; % of GPU time", *(one.operator for one in outcomes), box=None)
    for column in COLUMNS:
        table.add_row(column, *(f"{100 * one.shares[column]:.2f}" for one in outcomes))
    for count in ("failures", "futile", "false_alarms", "wrong_exclusions", "stops", "preempted"):
        table.add_row(count, *(str(getattr(one.counts, count)) for one in outcomes))
    table_console(piped_width=100).print(table)
