"""`relume demo`: the main job on a corpus that the project writes itself."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from relume.cli.options import named_path

FolderOption = Annotated[
    Path,
    typer.Option(
        "--folder",
        parser=named_path,
        metavar="FOLDER",
        help="Where the logs and the report go.",
    ),
]
SeedOption = Annotated[int | None, typer.Option("--seed", help="Another corpus of the same kind.")]


def demo(*, folder: FolderOption = Path("relume-demo"), seed: SeedOption = None) -> None:
    """Write a few dozen simulated attempts, diagnose them all, print the report.

    A folder of an earlier demo is written anew; what the demo didn't write is left as it is. Exit
    code 0: the report was written; 2: the folder can't be used.
    """
    from relume.benchmarks.demo.bench import diagnose_corpus
    from relume.benchmarks.demo.corpus import SEED
    from relume.benchmarks.demo.report import claim, render, write
    from relume.errors import InputError

    try:
        claim(folder)
        labels, results = diagnose_corpus(folder / "logs", SEED if seed is None else seed)
        verdicts = [result.verdict for result in results]
        path = write(folder, labels, verdicts)
    except OSError as error:
        raise InputError(
            f"cannot write the demo to {folder}",
            found=error.strerror or str(error),
            expected="a folder that can be written",
            hint="choose another with --folder",
        ) from error
    typer.echo(render(labels, verdicts))
    typer.echo(f"\nreport: {path}\nlogs:   {folder / 'logs'}")
