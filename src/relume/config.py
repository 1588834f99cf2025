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
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from itertools import chain
from pathlib import Path
from typing import Any

from pydantic import ValidationError

from relume.errors import ConfigError, did_you_mean, first_of, nearest, shown
from relume.files import special_kind
from relume.settings import (
    DEFAULTS,
    FOLDER_SETTINGS,
    PASSWORD,
    SECTIONS,
    Settings,
    to_toml,
    variable,
)

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
    config, errors = read_config(path, flags=flags, environ=environ)
    if errors:
        raise first_of(errors, see="`relume config check`")
    return config


def read_config(
    path: Path | None = None,
    *,
    flags: Mapping[str, object] | None = None,
    environ: Mapping[str, str] | None = None,
) -> tuple[Config, list[ConfigError]]:
    """Read the same as `load_config`; return what is right of it, and every error found."""
    environ = os.environ if environ is None else environ
    file = _find_file(path, environ)
    given: dict[str, _Given] = {}
    errors: list[ConfigError] = []
    sources = ([] if file is None else _read_file(file), _read_environment(environ), _read(flags))
    for item in chain(*sources):
        if isinstance(item, ConfigError):
            errors.append(item)
        else:
            given[item.name] = item  # a later source wins
    settings = _validate(given, errors)
    origins = {name: given[name].origin if name in given else DEFAULT for name in DEFAULTS}
    return Config(settings, origins, file), errors


def schema() -> dict[str, Any]:
    """Return the JSON Schema (draft 2020-12) of the configuration file."""
    dialect = "https://json-schema.org/draft/2020-12/schema"
    return {"$schema": dialect, **Settings.model_json_schema()}


@dataclass(frozen=True, slots=True)
class _Given:
    """A value that a setting was given; `origin` as in `Config.origins`."""

    name: str
    value: object
    origin: str


def _find_file(path: Path | None, environ: Mapping[str, str]) -> Path | None:
    if path is not None:
        return path
    if environ.get(CONFIG_VARIABLE):
        return Path(environ[CONFIG_VARIABLE])
    return next((file for file in SEARCHED_FILES if file.is_file()), None)


def _read_file(file: Path) -> Iterator[_Given | ConfigError]:
    try:
        text = _read_text(file)
        document = _parse(text, file)
    except ConfigError as error:
        yield error
        return
    lines = locate(text)
    for section, table in document.items():
        origin = f"file {file}:{lines[section,]}"
        if unknown := _unknown(section, origin=origin):
            yield unknown
        elif not isinstance(table, dict):
            yield ConfigError(
                f"{_place(origin)}: {section}",
                found=shown(table),
                expected=f"a section [{section}]",
            )
        else:
            for key, value in table.items():
                yield _from_file(file, section, key, value, lines[section, key])


def _from_file(
    file: Path, section: str, key: str, value: object, line: int
) -> _Given | ConfigError:
    name, origin = f"{section}.{key}", f"file {file}:{line}"
    if name in FOLDER_SETTINGS:
        value = _anchored(value, file.parent)
    return _unknown(section, key, origin=origin) or _Given(name, value, origin)


def _read_text(file: Path) -> str:
    try:
        if kind := special_kind(file):
            raise _unreadable(file, kind)
        return file.read_text(encoding="utf-8-sig")
    except OSError as error:
        raise _unreadable(file, error.strerror or str(error)) from error
    except UnicodeDecodeError as error:
        raise _unreadable(file, "bytes that are no UTF-8") from error


def _unreadable(file: Path, found: str) -> ConfigError:
    return ConfigError(
        f"configuration file {file}",
        found=found,
        expected="a readable TOML file in UTF-8",
        hint=f"check --config and ${CONFIG_VARIABLE}",
    )


def _parse(text: str, file: Path) -> dict[str, Any]:
    try:
        return tomllib.loads(text)
    except (tomllib.TOMLDecodeError, RecursionError) as error:
        line = re.search(r"at line (\d+)", str(error))
        raise ConfigError(
            f"{file}:{line[1]}" if line else str(file), found=str(error), expected="TOML"
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


def _read_environment(environ: Mapping[str, str]) -> Iterator[_Given | ConfigError]:
    names = {variable(name): name for name in DEFAULTS}
    for key in sorted(filter(_is_ours, environ)):
        if key in names:
            yield _from_text(names[key], environ[key])
            continue
        # Without what all of them begin with: it would make any two names alike.
        close = nearest(key.removeprefix("RELUME_"), (n.removeprefix("RELUME_") for n in names))
        yield ConfigError(
            f"env {key}",
            found="no setting of that name",
            expected="RELUME_SECTION__KEY",
            hint=f"did you mean 'RELUME_{close}'?" if close else "see `relume config show`",
        )


def _is_ours(key: str) -> bool:
    """Tell our variables from others that begin alike (Kubernetes sets RELUME_PORT for a service).

    With two underscores, or ours with one of them lost, one of our settings is meant.
    """
    lost = key in {variable(name).replace("__", "_") for name in DEFAULTS}
    return lost or (key.startswith("RELUME_") and "__" in key)


def _from_text(name: str, text: str) -> _Given | ConfigError:
    """Read a variable's text: as it is where a text is wanted, else as a TOML value."""
    origin = f"env {variable(name)}"
    if isinstance(DEFAULTS[name], str):
        return _Given(name, text, origin)
    try:
        document = tomllib.loads(f"value = {text}")
    except (tomllib.TOMLDecodeError, RecursionError):
        document = {}
    if document.keys() == {"value"}:
        return _Given(name, document["value"], origin)
    return ConfigError(  # unread, or more than a value
        origin,
        found=shown(text),
        expected=f"a TOML value such as {to_toml(_EXAMPLES.get(name, DEFAULTS[name]))}",
    )


_EXAMPLES = {"progress.patterns": [r"round (?P<step>\d+) done"], "rules.folders": ["/etc/rules"]}


def _read(flags: Mapping[str, object] | None) -> Iterator[_Given | ConfigError]:
    for name, value in (flags or {}).items():
        if unknown := _unknown(*name.split("."), origin=FLAG):
            yield unknown
        elif value is not None:
            yield _Given(name, value, FLAG)


def _unknown(section: str, key: str | None = None, *, origin: str) -> ConfigError | None:
    """Return an error for a section or setting that doesn't exist."""
    what, name, names = "section", section, list(SECTIONS)
    if section in SECTIONS:
        if key is None:
            return None
        what, name, names = f"setting of [{section}]", key, list(SECTIONS[section].model_fields)
    if name in names:
        return None
    return ConfigError(
        f"{_place(origin)}: unknown {what}",
        found=shown(name),
        expected=f"one of {', '.join(names)}",
        hint=did_you_mean(name, names),
    )


def _validate(given: Mapping[str, _Given], errors: list[ConfigError]) -> Settings:
    """Return the settings with the values that are right; the others go to `errors`."""
    document: dict[str, dict[str, object]] = {}
    for name, item in given.items():
        section, key = name.split(".")
        document.setdefault(section, {})[key] = item.value
    try:
        return Settings.model_validate(document)
    except ValidationError as error:
        problems = error.errors(include_url=False)
    wrong = [f"{problem['loc'][0]}.{problem['loc'][1]}" for problem in problems]
    places = list(given)  # the order of the file, not that of the settings
    for name, problem in sorted(
        zip(wrong, problems, strict=True), key=lambda item: places.index(item[0])
    ):
        found, expected = shown(_hidden(problem["input"])), _expected(problem["msg"])
        place = _place(given[name].origin)
        errors.append(ConfigError(f"{place}: {name}", found=found, expected=expected))
    return _validate({name: given[name] for name in given if name not in wrong}, errors)


def _hidden(value: object) -> object:
    """Return a value without the password that it holds, if it is a URL with one."""
    return PASSWORD.sub(r"\1:***@", value) if isinstance(value, str) else value


def _expected(message: str) -> str:
    """Turn a message of pydantic into what was expected."""
    message = message.removeprefix("Value error, ").removeprefix("Input should be ")
    message = message.replace("String should match pattern", "a text that matches")
    return message.replace("String should have", "a text of").replace("valid tuple", "list")


def _place(origin: str) -> str:
    return origin.removeprefix("file ")
