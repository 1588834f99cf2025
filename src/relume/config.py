"""Where settings come from: flag > environment > one TOML file > default, and which one it was.

The file is the first of ``--config``, ``$RELUME_CONFIG``, ``./relume.toml`` and
``/etc/relume/relume.toml``. The environment names a setting ``RELUME_SECTION__KEY``. A name that no
setting has is an error, never ignored.
"""

from __future__ import annotations

import io
import os
import re
import tomllib
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from pydantic import ValidationError

from relume.errors import ConfigError, did_you_mean, nearest
from relume.settings import DEFAULTS, FOLDER_SETTINGS, SECTIONS, Settings, to_toml, variable

CONFIG_VARIABLE = "RELUME_CONFIG"
SEARCHED_FILES = (Path("relume.toml"), Path("/etc/relume/relume.toml"))
DEFAULT = "default"
FLAG = "flag"


@dataclass(frozen=True, slots=True)
class Config:
    """The settings in force.

    `origins` says of every ``section.key`` where its value comes from: ``flag``, ``env RELUME_…``,
    ``file PATH:LINE`` or ``default``. `file` is the file that was read, null if there is none.
    """

    settings: Settings
    origins: Mapping[str, str]
    file: Path | None

    def values(self) -> dict[str, Any]:
        """Return every setting by ``section.key``, in the order of the documentation."""
        return {
            f"{section}.{key}": value
            for section, table in self.settings.model_dump().items()
            for key, value in table.items()
        }


def load_config(
    path: Path | None = None,
    *,
    flags: Mapping[str, object] | None = None,
    environ: Mapping[str, str] | None = None,
) -> Config:
    """Read the configuration.

    Parameters
    ----------
    path
        What ``--config`` says; null looks in the usual places, where no file is fine too.
    flags
        Values of the command line by ``section.key``; null values count as not given.
    environ
        The environment, the process's own if null.

    Raises
    ------
    ConfigError
        When a file that was asked for can't be read, and for an unknown name or a bad value; it
        names the file and line, variable or flag.

    Examples
    --------
    >>> config = load_config(flags={"diagnose.max_evidence": 3}, environ={})
    >>> config.settings.diagnose.max_evidence, config.origins["diagnose.max_evidence"]
    (3, 'flag')
    """
    environ = os.environ if environ is None else environ
    file = _find_file(path, environ)
    given: dict[str, _Given] = {}
    if file is not None:
        given |= _read_file(file)
    given |= _read_environment(environ)
    for name, value in (flags or {}).items():
        _require_known(*name.split("."), origin=FLAG)
        if value is not None:
            given[name] = _Given(value, FLAG)
    origins = {name: given[name].origin if name in given else DEFAULT for name in DEFAULTS}
    return Config(_validate(given), origins, file)


def schema() -> dict[str, Any]:
    """Return the JSON Schema (draft 2020-12) of the configuration file."""
    dialect = "https://json-schema.org/draft/2020-12/schema"
    return {"$schema": dialect, **Settings.model_json_schema()}


@dataclass(frozen=True, slots=True)
class _Given:
    value: object
    origin: str


def _find_file(path: Path | None, environ: Mapping[str, str]) -> Path | None:
    if path is not None:
        return path
    if environ.get(CONFIG_VARIABLE):
        return Path(environ[CONFIG_VARIABLE])
    return next((file for file in SEARCHED_FILES if file.is_file()), None)


def _read_file(file: Path) -> dict[str, _Given]:
    text = _read_text(file)
    try:
        document = tomllib.loads(text)
    except (tomllib.TOMLDecodeError, RecursionError) as error:
        line = re.search(r"at line (\d+)", str(error))
        raise ConfigError(
            f"{file}:{line[1]}" if line else str(file), found=str(error), expected="TOML"
        ) from error
    lines = locate(text)
    given = {}
    for section, table in document.items():
        origin = f"file {file}:{lines[section,]}"
        _require_known(section, origin=origin)
        if not isinstance(table, dict):
            raise ConfigError(
                f"{_place(origin)}: {section}",
                found=repr(table)[:80],
                expected=f"a section [{section}]",
            )
        for key, value in table.items():
            name, origin = f"{section}.{key}", f"file {file}:{lines[section, key]}"
            _require_known(section, key, origin=origin)
            if name in FOLDER_SETTINGS:
                value = _anchored(value, file.parent)  # noqa: PLW2901 - the same value, absolute
            given[name] = _Given(value, origin)
    return given


def _read_text(file: Path) -> str:
    try:
        return file.read_text(encoding="utf-8-sig")
    except (OSError, UnicodeDecodeError) as error:
        raise ConfigError(
            f"configuration file {file}",
            found=str(error),
            expected="a readable TOML file in UTF-8",
            hint=f"check --config and ${CONFIG_VARIABLE}",
        ) from error


def locate(text: str) -> dict[tuple[str, ...], int]:
    r"""Return the 1-based line of each table and key of a valid TOML document.

    `tomllib` keeps no positions. A statement ends at the first line up to which it parses, so each
    is parsed by itself below the header of its table.

    Examples
    --------
    >>> locate('[rules]\nfolders = [\n"a"]\n')
    {('rules',): 1, ('rules', 'folders'): 2}
    """
    lines: dict[tuple[str, ...], int] = {}
    header = statement = ""
    start = 1
    for number, line in enumerate(io.StringIO(text), 1):
        start = start if statement else number
        statement += line
        try:
            parsed = tomllib.loads(header + statement)
        except tomllib.TOMLDecodeError:
            continue
        for path in _paths(parsed):
            lines.setdefault(path, start)
        if statement.lstrip().startswith("["):
            header = statement
        statement = ""
    return lines


def _paths(table: Mapping[str, Any], above: tuple[str, ...] = ()) -> Iterator[tuple[str, ...]]:
    for key, value in table.items():
        yield (*above, key)
        if isinstance(value, dict):
            yield from _paths(value, (*above, key))


def _anchored(value: object, folder: Path) -> object:
    if isinstance(value, list):
        return [_anchored(item, folder) for item in value]
    return str(folder / value) if isinstance(value, str) and value else value


def _read_environment(environ: Mapping[str, str]) -> dict[str, _Given]:
    names = {variable(name): name for name in DEFAULTS}
    given = {}
    for key in sorted(filter(_is_ours, environ)):
        if key not in names:
            # Without what all of them begin with: it would make any two names alike.
            close = nearest(key.removeprefix("RELUME_"), (n.removeprefix("RELUME_") for n in names))
            raise ConfigError(
                f"env {key}",
                found="no setting of that name",
                expected="RELUME_SECTION__KEY",
                hint=f"did you mean 'RELUME_{close}'?" if close else "see `relume config show`",
            )
        name = names[key]
        given[name] = _Given(_from_text(name, environ[key]), f"env {key}")
    return given


def _is_ours(key: str) -> bool:
    """Tell our variables from others that begin alike (Kubernetes sets RELUME_PORT for a service).

    With two underscores, or ours with one of them lost, one of our settings is meant.
    """
    lost = key in {variable(name).replace("__", "_") for name in DEFAULTS}
    return lost or (key.startswith("RELUME_") and "__" in key)


def _from_text(name: str, text: str) -> object:
    """Read a variable's text: as it is where a text is wanted, else as a TOML value."""
    if isinstance(DEFAULTS[name], str):
        return text
    try:
        document = tomllib.loads(f"value = {text}")
    except (tomllib.TOMLDecodeError, RecursionError):
        document = {}
    if document.keys() != {"value"}:  # unread, or more than a value
        raise ConfigError(
            f"env {variable(name)}",
            found=repr(text[:80]),
            expected=f"a TOML value such as {to_toml(_EXAMPLES.get(name, DEFAULTS[name]))}",
        )
    return document["value"]


_EXAMPLES = {"progress.patterns": [r"round (?P<step>\d+) done"], "rules.folders": ["/etc/rules"]}


def _require_known(section: str, key: str | None = None, *, origin: str) -> None:
    """Refuse a section or setting that doesn't exist."""
    if section not in SECTIONS:
        raise _unknown("section", section, SECTIONS, origin)
    keys = SECTIONS[section].model_fields
    if key is not None and key not in keys:
        raise _unknown(f"setting of [{section}]", key, keys, origin)


def _unknown(what: str, name: str, names: Iterable[str], origin: str) -> ConfigError:
    return ConfigError(
        f"{_place(origin)}: unknown {what}",
        found=repr(name),
        expected=f"one of {', '.join(names)}",
        hint=did_you_mean(name, names),
    )


def _validate(given: Mapping[str, _Given]) -> Settings:
    document: dict[str, dict[str, object]] = {}
    for name, value in given.items():
        section, key = name.split(".")
        document.setdefault(section, {})[key] = value.value
    try:
        return Settings.model_validate(document)
    except ValidationError as error:
        first = error.errors(include_url=False)[0]
        name = f"{first['loc'][0]}.{first['loc'][1]}"
        raise ConfigError(
            f"{_place(given[name].origin)}: {name}",
            found=repr(first["input"])[:80],
            expected=_expected(first["msg"]),
        ) from error


def _expected(message: str) -> str:
    """Turn a message of pydantic into what was expected."""
    message = message.removeprefix("Value error, ").removeprefix("Input should be ")
    message = message.replace("String should match pattern", "a text that matches")
    return message.replace("String should have", "a text of").replace("valid tuple", "list")


def _place(origin: str) -> str:
    return origin.removeprefix("file ")
