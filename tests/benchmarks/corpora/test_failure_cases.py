from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from relume.benchmarks.corpora.failure_cases import Case, load
from relume.errors import InputError

RECORD: dict[str, Any] = {
    "id": "made-1",
    "source": "made up",
    "class": "cuda_oom",
    "kind": "crash",
    "fault_domain": "user",
    "root_cause_line": 1,
    "culprit": "rank 3",
    "retryable": "no",
    "text": ["[rank3]: step", "[rank3]: out of memory"],
    "accept": {
        "kind": ["crash", "unknown"],
        "line": [1, None],
        "domain": ["workload"],
        "culprit_optional": True,
        "culprit_also": ["3"],
    },
    "notes": "made up",
}


def write(path: Path, *records: dict[str, Any]) -> None:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text("".join(json.dumps(record) + "\n" for record in records), encoding="utf-8")


def test_labels_are_read_in_file_order(tmp_path: Path) -> None:
    write(tmp_path / "cases.jsonl", RECORD, RECORD | {"id": "made-2", "culprit": None})
    first, second = load(tmp_path).cases
    assert first == Case(
        id="made-1",
        failure_class="cuda_oom",
        kind="crash",
        fault_domain="user",
        root_line=1,
        culprit="rank 3",
        text=("[rank3]: step", "[rank3]: out of memory"),
        accept_kind=frozenset({"crash", "unknown"}),
        accept_line=(1, None),
        accept_domain=frozenset({"workload"}),
        culprit_optional=True,
        culprit_also=frozenset({"3"}),
    )
    assert (second.id, second.culprit) == ("made-2", None)


def test_the_corpus_is_found_in_its_folder_and_in_the_one_above(tmp_path: Path) -> None:
    write(tmp_path / "failure-cases" / "cases.jsonl", RECORD)
    above = load(tmp_path)
    assert above == load(tmp_path / "failure-cases")
    assert above.name == "failure-cases"


def test_the_hash_names_the_content(tmp_path: Path) -> None:
    write(tmp_path / "a" / "cases.jsonl", RECORD)
    write(tmp_path / "b" / "cases.jsonl", RECORD)
    write(tmp_path / "c" / "cases.jsonl", RECORD | {"kind": "hang"})
    same, also, other = (load(tmp_path / name).hash for name in "abc")
    assert same == also != other


def test_a_folder_without_the_corpus_is_an_error(tmp_path: Path) -> None:
    with pytest.raises(InputError, match=r"no cases\.jsonl in .*; name the folder with --data"):
        load(tmp_path)


@pytest.mark.parametrize(
    "text", ["{", '{"id": "made-1"}', json.dumps(RECORD | {"text": "one line"})]
)
def test_a_file_of_other_records_is_an_error(tmp_path: Path, text: str) -> None:
    (tmp_path / "cases.jsonl").write_text(text, encoding="utf-8")
    with pytest.raises(InputError, match=r"cannot read .*cases\.jsonl"):
        load(tmp_path)
