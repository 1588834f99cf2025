"""The command line. Every command imports what it needs when it runs, so that `--help` is quick."""

from __future__ import annotations

import os
import signal
import sys

import typer

from relume import __version__
from relume.cli import bench, config, control, demo, diagnose, rules, serve, watchdog
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
app.command("demo")(demo.demo)
app.command("serve")(serve.serve)
app.add_typer(control.app, name="control")
app.command("watchdog")(watchdog.watchdog)
app.add_typer(rules.app, name="rules")
app.add_typer(config.app, name="config")
app.add_typer(bench.app, name="bench")


@app.command("version")
def version() -> None:
    """Print the version."""
    typer.echo(f"relume {__version__}")


def main() -> None:
    """Run the command line; a known error becomes one message and its exit code."""
    if sys.argv[1:2] not in ([name] for name in SERVICES):
        # A reader that has enough (`| head`) ends us as it ends any other program. A service that
        # lost a connection must go on, so it keeps Python's way.
        signal.signal(signal.SIGPIPE, signal.SIG_DFL)
    try:
        try:
            app()
        finally:
            sys.stdout.flush()
    except RelumeError as error:
        typer.echo(f"relume: {error}", err=True)
        sys.exit(error.exit_code)
    except OSError as error:
        typer.echo(f"relume: cannot write the output; found {error.strerror or error}", err=True)
        os._exit(EXIT_USAGE)  # what is buffered can't be written either
