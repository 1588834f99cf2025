from __future__ import annotations

import json
from pathlib import Path

import pytest

from relume.benchmarks.corpora.reference import EXAMPLES, TABLE, Entry, load, read_table
from relume.errors import InputError

TEXT = r"""
| id | tokens | printed by | role | fault | retry | locator |
| --- | --- | --- | --- | --- | --- | --- |
| gpu_gone | `NVRM: Gone (PCI:` … `): 7,` S | kernel | root | infra | yes | PCI id |
| assert_failed | ``Assertion ` `` S; `a\|b` P | by | root | user | no | `rank` prefix |

| status | name | reading |
| --- | --- | --- |
| 4 | `IBV_WC_LOC_PROT_ERR` | memory |
"""
LINE = {"id": "gpu_gone", "line": "gone", "node": "n1", "rank": None, "gpu": 3, "family": "D"}


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    (tmp_path / "reference").mkdir()
    (tmp_path / "reference" / EXAMPLES).write_text(json.dumps(LINE) + "\n", encoding="utf-8")
    return tmp_path / "reference"


def test_rows_of_signatures_are_read_and_no_others() -> None:
    assert read_table(TEXT) == (
        Entry("gpu_gone", ("NVRM: Gone (PCI:", "): 7,")),
        Entry("assert_failed", ("Assertion `", "a|b")),
    )


def test_the_file_its_folder_and_the_data_folder_beside_it_are_as_good(folder: Path) -> None:
    (folder.parent / "data").mkdir()
    for data in (folder, folder / EXAMPLES, folder.parent, folder.parent / "data"):
        [example] = load(data).examples
        assert (example.id, example.node, example.rank, example.gpu) == ("gpu_gone", "n1", None, 3)


def test_the_table_is_read_where_it_stands_beside(folder: Path) -> None:
    alone = load(folder)
    assert alone.table == ()
    (folder / TABLE).write_text(TEXT, encoding="utf-8")
    both = load(folder)
    assert [entry.id for entry in both.table] == ["gpu_gone", "assert_failed"]
    assert both.hash != alone.hash


@pytest.mark.parametrize("text", [None, "{}", "no json"])
def test_what_is_no_reference_is_an_error(folder: Path, text: str | None) -> None:
    path = folder / EXAMPLES
    path.unlink()
    if text is not None:
        path.write_text(text, encoding="utf-8")
    with pytest.raises(InputError, match=r"cannot read the example lines .* --data"):
        load(folder)
