"""Writing a data set: what loaders of recordings and the simulator end with."""

from __future__ import annotations

from collections.abc import Iterable
from pathlib import Path

import msgspec

from relume.dataset import AttemptEntry, DatasetHeader
from relume.errors import InputError
from relume.ingest.datasets.forms import (
    ATTEMPTS_FILE,
    HEADER_FILE,
    SCHEMA_VERSION,
    HeaderForm,
    form_of_entry,
    form_of_file,
)
from relume.ingest.datasets.reading import Dataset, read_dataset


def write_dataset(
    folder: Path | str, header: DatasetHeader, attempts: Iterable[AttemptEntry]
) -> Dataset:
    """Write both files of a data set into `folder`, which may hold logs already; return it.

    The header comes last, so that a folder is a data set only when all of it is there.

    Raises
    ------
    InputError
        When the folder is a data set already.
    OSError
        When it can't be written.
    """
    folder = Path(folder)
    if (folder / HEADER_FILE).exists():
        raise InputError(
            f"data set {folder}",
            found="one that is there already",
            expected="a new or empty folder",
            hint="name another folder, or remove this one",
        )
    folder.mkdir(parents=True, exist_ok=True)
    with (folder / ATTEMPTS_FILE).open("wb") as stream:
        for entry in attempts:
            stream.write(msgspec.json.encode(form_of_entry(entry)) + b"\n")
    (folder / HEADER_FILE).write_bytes(_toml(header))
    return read_dataset(folder)


def _toml(header: DatasetHeader) -> bytes:
    form = HeaderForm(
        schema_version=SCHEMA_VERSION,
        name=header.name,
        origin=header.origin.value,
        timezone=header.timezone,
        description=header.description,
        node_logs=list(map(form_of_file, header.node_logs)),
    )
    document = msgspec.to_builtins(form)
    logs = document.pop("node_logs", [])
    lines = [f"{name} = {_value(value)}" for name, value in document.items()]
    for log in logs:
        lines += ["", "[[node_logs]]", *(f"{name} = {_value(log[name])}" for name in log)]
    return ("\n".join(lines) + "\n").encode()


def _value(value: str | int) -> str:
    """A TOML value: JSON's texts are TOML's too, but for the DEL character."""
    return msgspec.json.encode(value).decode().replace("\x7f", "\\u007f")
