"""`relume doctor`: what is wrong with this machine, its service and its Slurm, and what to do."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from relume.cli.options import ConfigOption, JsonOption, named_path
from relume.cli.output import print_json, say
from relume.errors import counted
from relume.printing import printable

if TYPE_CHECKING:
    from relume.serve.doctor.finding import Finding


def doctor(
    *,
    prometheus: Annotated[
        str | None,
        typer.Option(
            "--prometheus", metavar="URL", help="Look whether it is ready.", show_default=False
        ),
    ] = None,
    token_file: Annotated[
        Path | None,
        typer.Option(
            "--token-file",
            parser=named_path,
            metavar="FILE",
            help="A token for reading, where the service wants one.",
            show_default=False,
        ),
    ] = None,
    patience: Annotated[
        float,
        typer.Option("--patience", metavar="SECONDS", min=1, max=600, help="For each check."),
    ] = 15.0,
    as_json: JsonOption = False,
    config: ConfigOption = None,
) -> None:
    """Look at configuration, folders, disk, secrets, logs, ledger, lake, service, Slurm and clocks.

    Each line is ok, warning, failing or unknown, and each failing one says what to do. Changes
    nothing. Exit code 0; 1: something fails; 2: the configuration is wrong; 3: something doesn't
    answer.
    """
    from relume.clock import SystemClock
    from relume.config import load_config
    from relume.serve.alerts.service import read_secret
    from relume.serve.doctor.checks import checks_of
    from relume.serve.doctor.finding import Status, ok
    from relume.serve.doctor.run import exit_code, run_checks

    loaded = load_config(config)
    token = None if token_file is None else read_secret(str(token_file), "--token-file")
    checks = checks_of(loaded.settings, SystemClock(), token=token, prometheus=prometheus)
    found = [ok("config", "the configuration is valid"), *run_checks(checks, patience)]
    code = exit_code(found)
    if as_json:
        import msgspec

        print_json({"exit_code": code, "findings": msgspec.to_builtins(found)})
    else:
        for one in found:
            for line in _lines(one):
                typer.echo(line)
    bad = [sum(one.status is status for one in found) for status in list(Status)[1:]]
    lines, warnings = counted(len(found), "line"), counted(bad[0], "warning")
    say(f"{lines}: {warnings}, {bad[1]} failing, {bad[2]} unknown")
    raise typer.Exit(code)


def _lines(one: Finding) -> list[str]:
    lines = [f"{one.status:>8}  {one.check}: {printable(one.words)}"]
    if one.fix is not None:
        lines.append(f"{'':>8}  -> {printable(one.fix)}")
    return lines
