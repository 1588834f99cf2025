"""The signature reference: its table of ids and wordings, and its example lines.

Two files: ``failure-signatures.md`` (tables whose rows begin ``| id | tokens |``) and
``failure-signature-examples.jsonl`` (a line an id, with the node, rank and GPU that it names).
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from hashlib import sha256
from pathlib import Path

import msgspec

from relume.errors import InputError

EXAMPLES = "failure-signature-examples.jsonl"
TABLE = "failure-signatures.md"

_CELL = re.compile(r"(?<!\\)\|")
_COLUMNS = 7
_ID = re.compile(r"[a-z][a-z0-9_]+")
_TOKEN = re.compile(r"``\s?(?P<ticked>.+?)\s?``|`(?P<plain>[^`]+)`")


class Example(msgspec.Struct, frozen=True):
    """One example line and what it names; null where it implicates none."""

    id: str
    line: str
    node: str | None
    rank: int | None
    gpu: int | None


@dataclass(frozen=True, slots=True)
class Entry:
    """One row of the table: an id and the wordings that it stands for."""

    id: str
    tokens: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class Reference:
    """The examples, and the table where it stands beside them (else empty)."""

    name: str
    hash: str
    examples: tuple[Example, ...]
    table: tuple[Entry, ...]


def load(data: Path) -> Reference:
    """Read the reference: `data` is the file of examples, or a folder that holds it.

    A folder ``reference`` in the data folder or beside it is found too.

    Raises
    ------
    InputError
        When there are no examples, or one can't be read.
    """
    homes = (data, data / "reference", data.parent / "reference")
    found = (home / EXAMPLES for home in homes if (home / EXAMPLES).is_file())
    path = next(found, data / EXAMPLES) if data.is_dir() else data
    try:
        raw = path.read_bytes()
        examples = msgspec.json.Decoder(Example).decode_lines(raw)
    except (OSError, msgspec.MsgspecError) as error:
        raise InputError(
            f"cannot read the example lines {path}",
            found=(error.strerror if isinstance(error, OSError) else None) or str(error),
            expected=f"{EXAMPLES}, or the folder that holds it",
            hint="name it with --data",
        ) from None
    table = path.with_name(TABLE)
    text = table.read_bytes() if table.is_file() else b""
    digest = sha256(raw + text).hexdigest()[:16]
    entries = read_table(text.decode("utf-8", "replace"))
    return Reference("signature reference", digest, tuple(examples), entries)


def read_table(text: str) -> tuple[Entry, ...]:
    """Return the rows of the tables of signatures in `text`, in order.

    Examples
    --------
    >>> read_table("| nan_loss | `loss: nan` P; ``tick ` `` S | by | root | user | no | rank |")
    (Entry(id='nan_loss', tokens=('loss: nan', 'tick `')),)
    """
    rows = (
        [cell.strip().replace(r"\|", "|") for cell in _CELL.split(line)[1:-1]]
        for line in text.splitlines()
    )
    return tuple(
        Entry(row[0], tuple(found["ticked"] or found["plain"] for found in _TOKEN.finditer(row[1])))
        for row in rows
        if len(row) == _COLUMNS and _ID.fullmatch(row[0]) and "`" in row[1]
    )
