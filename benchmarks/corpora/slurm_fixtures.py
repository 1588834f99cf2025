"""Printed answers of `sacct`, recorded on real clusters and made unrecognisable."""

from __future__ import annotations

from dataclasses import dataclass
from hashlib import sha256
from pathlib import Path

from relume.errors import InputError

FOLDER = "slurm-fixtures"
_EXPECTED = "-expected.txt"


@dataclass(frozen=True, slots=True)
class Printed:
    """One file of accounting; `joined` is the same with each broken row on one line, else null."""

    name: str
    lines: tuple[str, ...]
    joined: tuple[str, ...] | None = None

    @property
    def row_count(self) -> int:
        """Rows that somebody else counts: the lines behind the header, when none is broken."""
        return sum(1 for line in self.joined or self.lines if line.strip()) - 1


@dataclass(frozen=True, slots=True)
class Accounting:
    """The files, with the hash that every published number names."""

    name: str
    hash: str
    files: tuple[Printed, ...]


def load(data: Path) -> Accounting:
    """Find the files below `data` (the data folder, or the corpus' own).

    Raises
    ------
    InputError
        When there is none.
    """
    root = data / FOLDER if (data / FOLDER).is_dir() else data
    paths = sorted(root.rglob("sample-sacct-*.txt"))
    digest, files = sha256(), []
    for path in paths:
        digest.update(path.relative_to(root).as_posix().encode() + path.read_bytes())
        if not path.name.endswith(_EXPECTED):
            files.append(_printed(path))
    if not files:
        raise InputError(
            "cannot load printed accounting",
            found=f"no sample-sacct-*.txt below {root}",
            expected=f"the folder {FOLDER}",
            hint="name the data folder with --data",
        )
    return Accounting(FOLDER, digest.hexdigest()[:16], tuple(files))


def _printed(path: Path) -> Printed:
    lines = _lines(path)
    expected = path.with_name(path.stem + _EXPECTED)
    joined = _lines(expected) if expected.is_file() else None
    if joined is not None and joined[0] != lines[0]:
        joined = None  # it leaves out columns or rows: made for another purpose
    return Printed(path.name, lines, joined)


def _lines(path: Path) -> tuple[str, ...]:
    return tuple(path.read_bytes().decode("utf-8", "replace").split("\n"))
