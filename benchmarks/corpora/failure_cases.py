"""The `failure-cases` corpus: labelled excerpts of real failures, one JSON object a line."""

from __future__ import annotations

from dataclasses import dataclass
from hashlib import sha256
from pathlib import Path

import msgspec

from relume.errors import InputError

_FILE = "cases.jsonl"


@dataclass(frozen=True, slots=True)
class Case:
    """One labelled excerpt; the `accept_*` fields hold what either of two readings supports."""

    id: str
    failure_class: str
    kind: str
    fault_domain: str
    root_line: int | None
    culprit: str | None
    text: tuple[str, ...]
    accept_kind: frozenset[str]
    accept_line: tuple[int | None, ...]
    accept_domain: frozenset[str]
    culprit_optional: bool
    culprit_also: frozenset[str]


class _Accept(msgspec.Struct):
    kind: list[str]
    line: list[int | None]
    domain: list[str]
    culprit_optional: bool
    culprit_also: list[str]


class _Record(msgspec.Struct, rename={"failure_class": "class"}):
    id: str
    failure_class: str
    kind: str
    fault_domain: str
    root_cause_line: int | None
    culprit: str | None
    text: list[str]
    accept: _Accept


@dataclass(frozen=True, slots=True)
class Corpus:
    """All cases with the hash that every published number names."""

    name: str
    hash: str
    cases: tuple[Case, ...]


def load(folder: Path) -> Corpus:
    """Read the cases below `folder` (the folder itself or its parent data folder)."""
    path = next(
        (p for p in (folder / _FILE, folder / "failure-cases" / _FILE) if p.is_file()), None
    )
    if path is None:
        raise InputError(
            "cannot load the failure cases",
            found=f"no {_FILE} in {folder} nor in {folder / 'failure-cases'}",
            expected=f"a folder that holds {_FILE}",
            hint="name the folder with --data",
        )
    raw = path.read_bytes()
    try:
        records = msgspec.json.Decoder(_Record).decode_lines(raw)
    except msgspec.MsgspecError as error:
        raise InputError(
            f"cannot read {path}",
            found=str(error),
            expected="a labelled case on every line",
            hint="is it the file of another corpus?",
        ) from error
    return Corpus("failure-cases", sha256(raw).hexdigest()[:16], tuple(map(_case, records)))


def _case(record: _Record) -> Case:
    return Case(
        id=record.id,
        failure_class=record.failure_class,
        kind=record.kind,
        fault_domain=record.fault_domain,
        root_line=record.root_cause_line,
        culprit=record.culprit,
        text=tuple(record.text),
        accept_kind=frozenset(record.accept.kind),
        accept_line=tuple(record.accept.line),
        accept_domain=frozenset(record.accept.domain),
        culprit_optional=record.accept.culprit_optional,
        culprit_also=frozenset(record.accept.culprit_also),
    )
