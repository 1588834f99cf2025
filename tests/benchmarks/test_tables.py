from __future__ import annotations

from pathlib import Path

import pytest

from relume.benchmarks.result import Bar, BenchResult, store
from relume.benchmarks.tables import render, update
from relume.errors import InputError

TABLE = """\
| bench | on | measure | value | bar | |
|---|---|---|---|---|---|
| `one` | logs (25 logs, 3 sites) | kind right | 0.900 [0.600, 0.980] | >= 0.92 | **fail** |
| `one` | logs (25 logs, 3 sites) | false alarms | 0 | == 0 | pass |
| `one` | logs (25 logs, 3 sites) | lines per second | 123,457 |  |  |
"""


@pytest.fixture
def results(tmp_path: Path) -> Path:
    for bench in ("one", "two-b"):
        result = BenchResult(
            id=bench,
            version="1",
            machine={},
            corpus={"name": "logs", "hash": "abc", "logs": 25, "sites": 3},
            measures={
                "kind_right": {"value": 0.9, "low": 0.6, "high": 0.98},
                "false_alarms": 0,
                "lines_per_second": 123456.7,
            },
            bars={"kind_right": Bar(">=", 0.92), "false_alarms": Bar("==", 0)},
        )
        store(result, tmp_path)
    return tmp_path


def marked(bench: str, table: str) -> str:
    return f"before\n<!-- bench:{bench} -->\n{table}<!-- /bench -->\nafter\n"


def test_a_table_is_rendered_between_its_marks(results: Path) -> None:
    assert update(marked("one", ""), results) == marked("one", TABLE)


def test_an_old_table_is_replaced_and_a_new_one_stays(results: Path) -> None:
    assert update(marked("one", "| old |\n"), results) == marked("one", TABLE)
    assert update(marked("one", TABLE), results) == marked("one", TABLE)


def test_several_benches_share_a_table(results: Path) -> None:
    rows = TABLE.splitlines(keepends=True)
    both = TABLE + "".join(row.replace("`one`", "`two-b`") for row in rows[2:])
    assert update(marked("one, two-b", ""), results) == marked("one, two-b", both)


def test_every_marked_table_is_rendered(results: Path) -> None:
    text = marked("one", "") + marked("two-b", "")
    expected = marked("one", TABLE) + marked("two-b", TABLE.replace("`one`", "`two-b`"))
    assert update(text, results) == expected


def test_a_document_without_marks_is_an_error(results: Path) -> None:
    with pytest.raises(InputError, match="no table to render"):
        update("| bench |\n", results)


def test_a_mark_without_its_end_is_an_error_and_swallows_nothing(results: Path) -> None:
    with pytest.raises(InputError, match="2 marks that begin one and 1 whole pairs"):
        update("<!-- bench:one -->\nwords\n" + marked("two-b", ""), results)
    with pytest.raises(InputError, match="1 marks that begin one and 0 whole pairs"):
        update("<!-- bench:one -->\nwords\n", results)


def test_a_bench_without_a_result_is_an_error(results: Path) -> None:
    with pytest.raises(InputError, match=r"three\.json"):
        update(marked("one, three", ""), results)


def test_no_records_make_an_empty_table() -> None:
    assert render([]) == "".join(TABLE.splitlines(keepends=True)[:2])
