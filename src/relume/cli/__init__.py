"""The command line. Every command imports what it needs when it runs, so that `--help` is quick."""

from __future__ import annotations

import os
import sys
from io import TextIOWrapper

import typer

from relume import __version__
from relume.cli import (
    advice,
    backtest,
    bench,
    config,
    control,
    demo,
    diagnose,
    doctor,
    explain,
    lake,
    ledger,
    reader,
    report,
    rules,
    scan,
    serve,
    simulate,
    watchdog,
)
from relume.cli.output import say
from relume.errors import RelumeError

EXIT_USAGE = 2
SERVICES = ("control", "serve", "watchdog")

app = typer.Typer(
    name="relume",
    help="Find crashes, hangs and stragglers of GPU training jobs, say why and which node.",
    no_args_is_help=True,
    add_completion=False,
    pretty_exceptions_enable=False,
    rich_markup_mode=None,
)
app.command("diagnose")(diagnose.diagnose)
app.command("explain")(explain.explain)
app.command("demo")(demo.demo)
app.command("scan")(scan.scan)
app.command("backtest")(backtest.backtest)
app.command("simulate")(simulate.simulate)
app.command("serve")(serve.serve)
app.add_typer(control.app, name="control")
app.command("watchdog")(watchdog.watchdog)
app.add_typer(rules.app, name="rules")
app.add_typer(lake.app, name="lake")
app.add_typer(advice.app, name="advice")
app.add_typer(ledger.app, name="ledger")
app.add_typer(report.app, name="report")
app.add_typer(config.app, name="config")
app.command("doctor")(doctor.doctor)
app.add_typer(bench.app, name="bench")


@app.command("version")
def version() -> None:
    """Print the version."""
    typer.echo(f"relume {__version__}")


def main() -> None:
    """Run the command line; a known error becomes one message and its exit code."""
    is_service = sys.argv[1:2] in ([name] for name in SERVICES)
    if sys.stdout is None and not is_service:  # the caller closed it: `>&-`
        say("cannot write the output; found a closed standard output")
        sys.exit(EXIT_USAGE)
    if isinstance(sys.stdout, TextIOWrapper):
        # Names of files may hold what the terminal's encoding doesn't.
        sys.stdout.reconfigure(errors="backslashreplace")
    output = sys.stdout
    try:
        try:
            app()
        finally:
            if sys.stdout is not None:
                sys.stdout.flush()
    except SystemExit:
        if sys.stdout is not output and reader.has_left():  # typer takes that for the end
            reader.end()
        raise
    except RelumeError as error:
        for message in error.listed or (error,):
            say(message)
        sys.exit(error.exit_code)
    except OSError as error:
        if isinstance(error, BrokenPipeError) and reader.has_left():
            reader.end()
        what = f"cannot use {error.filename}" if error.filename else "cannot write the output"
        say(f"{what}; found {error.strerror or error}")
        os._exit(EXIT_USAGE)  # what is buffered can't be written either
