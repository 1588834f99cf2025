"""Options that several commands share, and what every path on the command line must be."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer


def named(text: str) -> str:
    """Return a path that isn't empty: that would mean the working folder, by a script's mistake.

    Raises
    ------
    typer.BadParameter
        With the name of the option or argument, which typer adds.
    """
    if not text:
        raise typer.BadParameter(
            "found an empty path; expected a file or folder (. is the working folder); "
            "check the variable it comes from"
        )
    return text


def named_path(text: str) -> Path:
    """Return a path that isn't empty (`named`)."""
    return Path(named(text))


def one_form(**asked: bool) -> str | None:
    """Return the form of output that is asked for, by the name of its option; null for none.

    Raises
    ------
    InputError
        For more than one.
    """
    from relume.errors import InputError

    forms = [form for form, is_asked in asked.items() if is_asked]
    if len(forms) > 1:
        raise InputError(
            f"--{forms[0]} and --{forms[1]} can't be used together", hint="choose one of them"
        )
    return forms[0] if forms else None


ConfigOption = Annotated[
    Path | None,
    typer.Option(
        "--config",
        parser=named_path,
        metavar="FILE",
        help="Configuration file (TOML).",
        show_default=False,
    ),
]
RulesOption = Annotated[
    list[Path] | None,
    typer.Option(
        "--rules",
        parser=named_path,
        metavar="PATH",
        help="More signature rules: a file or a folder.",
        show_default=False,
    ),
]
JsonOption = Annotated[bool, typer.Option("--json", help="One JSON document.")]
