"""`relume explain`: what the detectors saw of one job, and why they did or didn't fire."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from relume.cli.options import ConfigOption, JsonOption, RulesOption, named, named_path
from relume.cli.output import print_json, say, table_console, write_file

if TYPE_CHECKING:
    from relume.serve.explain.explain import Explained

PIPED_WIDTH = 160
"""Columns of tables that don't go to a terminal."""
JobArgument = Annotated[
    str,
    typer.Argument(
        parser=named,
        metavar="JOB",
        help="A job's id, id-restart_count, an attempt, or a log (with --in: never a log).",
        show_default=False,
    ),
]
InOption = Annotated[
    Path | None,
    typer.Option(
        "--in",
        parser=named_path,
        metavar="DATASET",
        help="The data set or lake that holds it; without it, JOB is a log.",
        show_default=False,
    ),
]
PlotOption = Annotated[
    Path | None,
    typer.Option(
        "--plot",
        parser=named_path,
        metavar="FILE",
        help="Draw silences and times of steps there (SVG).",
        show_default=False,
    ),
]


def explain(
    job: JobArgument,
    *,
    data: InOption = None,
    plot: PlotOption = None,
    as_json: JsonOption = False,
    config: ConfigOption = None,
    rules: RulesOption = None,
) -> None:
    """Show what the detectors of hangs and stragglers saw of a job, and why they fired or didn't.

    Replays it as `relume backtest` does. Exit code 0, whatever they said; 2: it can't be found or
    read.
    """
    from relume.config import load_config
    from relume.serve.backtest.run import Judging, Recording
    from relume.serve.explain.explain import explain as explain_attempt
    from relume.serve.explain.explain import explain_log

    settings = load_config(config).settings
    if data is None:
        one = explain_log(_log(job), Judging.of(settings, rules or []))
    else:
        recording = Recording(data)
        judging = Judging.of(settings, rules or [], lake=recording.lake)
        one = explain_attempt(recording, job, judging)
    if plot is not None:
        _draw(one, plot)
    if as_json:
        from relume.serve.explain.document import to_document

        print_json(to_document(one))
        return
    from relume.serve.explain.text import render

    console = table_console(PIPED_WIDTH)
    for part in render(one):
        console.print(part)


def _log(job: str) -> Path:
    from relume.errors import InputError, shown

    path = Path(job)
    if not path.exists():
        raise InputError(
            "nothing to explain",
            found=f"{shown(job)}, which is no log",
            expected="a log, or a job and --in DATASET",
            hint="name the data set or lake that holds the job",
        )
    return path


def _draw(one: Explained, path: Path) -> None:
    from relume.serve.explain.plot import svg

    write_file(path, svg(one))
    say(f"the picture is in {path}")
