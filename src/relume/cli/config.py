"""`relume config`: check the configuration, show what is in force, print its schema."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from relume.cli.options import ConfigOption, JsonOption, named_path
from relume.cli.output import print_json, say_all

EXIT_USAGE = 2

app = typer.Typer(help="Check and show the configuration.", no_args_is_help=True)

FileArgument = Annotated[
    Path | None,
    typer.Argument(
        parser=named_path,
        metavar="FILE",
        help="The file to check, as --config names it; the one in force if left out.",
    ),
]
OriginOption = Annotated[bool, typer.Option("--origin", help="Say where each value comes from.")]


@app.command("check")
def check(file: FileArgument = None, *, config: ConfigOption = None) -> None:
    """Read the configuration, environment included, and say whether it is right.

    Exit code 0: it is; 2: it isn't, with each place and what was expected on standard error.
    """
    from relume.config import DEFAULT, read_config
    from relume.errors import InputError, counted

    if file is not None and config is not None:
        raise InputError(
            "the configuration file is named twice",
            found=f"{file} and --config {config}",
            hint="leave one of them out",
        )
    loaded, errors = read_config(file or config)
    if errors:
        say_all(errors)
        raise typer.Exit(EXIT_USAGE)
    count = sum(origin != DEFAULT for origin in loaded.origins.values())
    settings = counted(len(loaded.origins), "setting")
    typer.echo(f"{loaded.file or 'no file'}: right, {count} of {settings} set")


@app.command("show")
def show(
    *, config: ConfigOption = None, origin: OriginOption = False, as_json: JsonOption = False
) -> None:
    """Print every setting in force, as a TOML file."""
    from relume.config import load_config
    from relume.settings import to_document

    loaded = load_config(config)
    if not as_json:
        text = to_document(loaded.values(), loaded.origins if origin else None)
        typer.echo(text, nl=False)
        return
    document = {
        "file": None if loaded.file is None else str(loaded.file),
        "settings": loaded.settings.model_dump(),
    }
    print_json(document | ({"origins": loaded.origins} if origin else {}))


@app.command("schema")
def schema() -> None:
    """Print the JSON Schema of the configuration file."""
    import json

    from relume.config import schema as json_schema

    # A document of another standard: it carries `$schema`, not our `schema_version`.
    typer.echo(json.dumps(json_schema(), indent=2))


@app.command("token")
def token(*, as_json: JsonOption = False) -> None:
    """Make a token for the service, and the line that stands for it in the service's token file.

    The line tells nobody the token: put it into `serve.read_token_file` or another of these, and
    give the token to whoever is to use it. Exit code 0.
    """
    import secrets

    from relume.serve.api.tokens import hashed

    made = secrets.token_hex(32)
    if as_json:
        print_json({"token": made, "hashed": hashed(made)})
    else:
        typer.echo(f"token   {made}\nhashed  {hashed(made)}")
