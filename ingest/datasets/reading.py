"""Reading a data set: its header at once, its attempts one by one."""

from __future__ import annotations

import hashlib
import tomllib
from collections.abc import Iterator
from dataclasses import dataclass, replace
from functools import partial
from pathlib import Path
from zoneinfo import ZoneInfo

import msgspec

from relume.dataset import AttemptEntry, DatasetHeader, LogFile, Origin
from relume.errors import InputError, did_you_mean
from relume.ingest.datasets.forms import (
    ATTEMPTS_FILE,
    HEADER_FILE,
    SCHEMA_VERSION,
    AttemptForm,
    HeaderForm,
    entry_of,
    file_of,
)
from relume.ingest.opening import READ_BYTES
from relume.ingest.rawlines import raw_lines

MAX_LINE_BYTES = 16 << 20
"""A longer line of ``attempts.jsonl`` is no attempt."""
HASH_DIGITS = 16


@dataclass(frozen=True, slots=True)
class Dataset:
    """A data set on disk.

    Attributes
    ----------
    folder
        Where it is; relative paths in it count from there.
    header
        What is the same for all attempts.
    """

    folder: Path
    header: DatasetHeader

    def attempts(self) -> Iterator[AttemptEntry]:
        """Yield the attempts in the order of the file, with absolute paths of their logs.

        Raises
        ------
        InputError
            At the first line that is no attempt, and at an attempt that comes twice; the message
            names the line.
        """
        seen: set[str] = set()
        for number, line in _lines(self.folder / ATTEMPTS_FILE):
            entry = _entry(line, f"{ATTEMPTS_FILE} line {number} of {self.folder}")
            if entry.attempt in seen:
                raise InputError(
                    f"{ATTEMPTS_FILE} line {number} of {self.folder}",
                    found=f"attempt {entry.attempt} again",
                    expected="each attempt once",
                    hint="put its files and incidents into one line",
                )
            seen.add(entry.attempt)
            yield replace(entry, files=tuple(map(self._placed, entry.files)))

    @property
    def node_logs(self) -> tuple[LogFile, ...]:
        """The logs of nodes, with absolute paths."""
        return tuple(map(self._placed, self.header.node_logs))

    def digest(self, *, labels: bool = True) -> str:
        """Return a hash of the attempts, their labels, and names and sizes of their logs.

        It doesn't depend on the folder, nor on when files were written; it reads no log. Without
        `labels` it is that of what is replayed only.
        """
        digest = hashlib.sha256(repr(replace(self.header, node_logs=())).encode())
        for entry in self.attempts():
            told = entry if labels else replace(entry, name=None, incidents=None, ignore=())
            digest.update(repr(replace(told, files=())).encode())
            for file in entry.files:
                digest.update(_identity(file))
        for file in self.node_logs:
            digest.update(_identity(file))
        return digest.hexdigest()[:HASH_DIGITS]

    def _placed(self, file: LogFile) -> LogFile:
        return replace(file, path=str(self.folder.absolute() / file.path))


def is_dataset(folder: Path) -> bool:
    """Whether a folder is a data set."""
    return (folder / HEADER_FILE).is_file()


def read_dataset(folder: Path | str) -> Dataset:
    """Read the header of a data set; its attempts are read when they are asked for.

    Raises
    ------
    InputError
        When the folder is no data set, or its header makes no sense.
    """
    folder = Path(folder)
    path = folder / HEADER_FILE
    try:
        document = tomllib.loads(path.read_text("utf-8"))
    except FileNotFoundError as error:
        raise InputError(
            f"data set {folder}",
            found=f"no {HEADER_FILE}",
            expected=f"a folder with {HEADER_FILE} and {ATTEMPTS_FILE}",
            hint="docs/formats/dataset.md shows one; `relume bench dataset` writes some",
        ) from error
    except (OSError, UnicodeDecodeError, tomllib.TOMLDecodeError) as error:
        raise InputError(f"data set header {path}", found=str(error), expected="TOML") from error
    return Dataset(folder, _header(document, path))


def _header(document: dict[str, object], path: Path) -> DatasetHeader:
    version = document.get("schema_version")
    if version != SCHEMA_VERSION:
        raise InputError(
            f"data set header {path}",
            found=f"schema_version {version!r}",
            expected=str(SCHEMA_VERSION),
            hint="a newer one needs a newer Relume",
        )
    try:
        form = msgspec.convert(document, HeaderForm)
        zone = ZoneInfo(form.timezone).key
        origin = Origin(form.origin)
    except (msgspec.ValidationError, ValueError, KeyError, OSError) as error:
        raise InputError(
            f"data set header {path}",
            found=str(error),
            expected=f"name, origin ({', '.join(Origin)}), timezone (IANA), node_logs",
            hint=did_you_mean(str(document.get("origin", "")), [origin.value for origin in Origin]),
        ) from error
    logs = tuple(map(file_of, form.node_logs))
    for log in logs:
        if log.node is None:
            raise InputError(
                f"data set header {path}",
                found=f"node log {log.path} without a node",
                expected="the node that wrote it",
            )
    return DatasetHeader(
        name=form.name,
        origin=origin,
        timezone=zone,
        description=form.description,
        node_logs=logs,
    )


def _entry(line: bytes, where: str) -> AttemptEntry:
    try:
        return entry_of(msgspec.json.decode(line, type=AttemptForm))
    except (msgspec.MsgspecError, UnicodeDecodeError, RecursionError) as error:
        raise InputError(
            where, found=str(error), expected="an attempt", hint="see docs/formats/dataset.md"
        ) from error
    except InputError as error:
        raise InputError(where, found=str(error), expected="an attempt") from error


def _lines(path: Path) -> Iterator[tuple[int, bytes]]:
    """Yield the lines that aren't blank, numbered from 1."""

    def too_long(number: int) -> InputError:
        return InputError(
            f"{path} line {number}",
            found=f"more than {MAX_LINE_BYTES >> 20} MiB",
            expected="one attempt a line",
        )

    try:
        with path.open("rb") as stream:
            chunks = iter(partial(stream.read, READ_BYTES), b"")
            lines = raw_lines(chunks, too_long, limit=MAX_LINE_BYTES - 1)
            for number, line in enumerate(lines, start=1):
                if line.strip():
                    yield number, line
    except OSError as error:
        raise InputError(
            f"attempts of the data set {path.parent}",
            found=(error.strerror or str(error)).lower(),
            expected=f"a file {ATTEMPTS_FILE}",
        ) from error


def _identity(file: LogFile) -> bytes:
    path = Path(file.path)
    try:
        size = path.stat().st_size
    except OSError:
        size = -1
    return repr((path.name, file.stream, file.node, size)).encode()
