"""`relume config`: check the configuration, show what is in force, print its schema."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

app = typer.Typer(help="Check and show the configuration.", no_args_is_help=True)

FileArgument = Annotated[
    Path | None,
    typer.Argument(metavar="FILE", help="The file to check; the one in force if left out."),
]
ConfigOption = Annotated[
    Path | None, typer.Option("--config", help="Configuration file (TOML).", show_default=False)
]
OriginOption = Annotated[bool, typer.Option("--origin", help="Say where each value comes from.")]
JsonOption = Annotated[bool, typer.Option("--json", help="One JSON document.")]


@app.command("check")
def check(file: FileArgument = None) -> None:
    """Read the configuration, environment included, and say whether it is right.

    Exit code 0: it is; 2: it isn't, with the place and what was expected on standard error.
    """
    from relume.config import DEFAULT, load_config

    config = load_config(file)
    count = sum(origin != DEFAULT for origin in config.origins.values())
    typer.echo(f"{config.file or 'no file'}: right, {count} of {len(config.origins)} settings set")


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
    _print_json(document | ({"origins": loaded.origins} if origin else {}))


@app.command("schema")
def schema() -> None:
    """Print the JSON Schema of the configuration file."""
    import json

    from relume.config import schema as json_schema

    # A document of another standard: it carries `$schema`, not our `schema_version`.
    typer.echo(json.dumps(json_schema(), indent=2))


def _print_json(document: dict[str, object]) -> None:
    import orjson

    from relume.records import SCHEMA_VERSION

    text = orjson.dumps({"schema_version": SCHEMA_VERSION, **document}, option=orjson.OPT_INDENT_2)
    typer.echo(text.decode())
