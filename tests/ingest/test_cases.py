"""`--cases` records."""

from __future__ import annotations

from pathlib import Path

import pytest

from relume.errors import InputError
from relume.ingest.cases import CaseRecord, read_cases


def test_records_in_their_order_blank_lines_and_other_keys_ignored(tmp_path: Path) -> None:
    path = tmp_path / "cases.jsonl"
    path.write_text('{"id": "a", "text": ["x\\ny"], "kind": "crash"}\n\n{"id": "b", "text": []}')
    assert list(read_cases(path)) == [CaseRecord("a", ("x\ny",)), CaseRecord("b", ())]


@pytest.mark.parametrize(
    "line", ["x", "[]", '{"id": "a"}', '{"id": 7, "text": []}', '{"id": "a", "text": [1]}', "{"]
)
def test_a_bad_record_is_named_after_those_before_it(tmp_path: Path, line: str) -> None:
    path = tmp_path / "cases.jsonl"
    path.write_text('{"id": "a", "text": []}\n' + line + "\n")
    records = read_cases(path)
    assert next(records).id == "a"
    with pytest.raises(InputError, match=rf"{path}:2 is no case"):
        next(records)


def test_a_file_that_is_not_there(tmp_path: Path) -> None:
    with pytest.raises(InputError, match="cannot read the cases"):
        next(read_cases(tmp_path / "missing"))
