"""The bench on accounting counts what is lost, and sees a wrong join."""

from __future__ import annotations

from pathlib import Path

import pytest

from relume.benchmarks import accounting
from relume.benchmarks.corpora import slurm_fixtures
from relume.benchmarks.corpora.slurm_fixtures import Printed
from relume.errors import InputError

HEADER = "JobID|SubmitLine|State"
WHOLE = (HEADER, "7|a b|FAILED", "7.0|c|FAILED", "8.0|c|FAILED", "9|x|HUNGRY", "")


def write(folder: Path, name: str, *lines: str) -> None:
    folder.mkdir(parents=True, exist_ok=True)
    (folder / name).write_text("\n".join(lines))


def test_every_row_is_accounted_for(tmp_path: Path) -> None:
    folder = tmp_path / "slurm-fixtures" / "one"
    write(folder, "sample-sacct-a.txt", *WHOLE)
    write(folder, "sample-sacct-b.txt", HEADER, "7|a", "b|FAILED")
    write(folder, "sample-sacct-b-expected.txt", HEADER, "7|a b|FAILED")
    write(folder, "sample-sacctmgr-x.txt", "User")
    result = accounting.run(tmp_path)
    assert result.passed
    measures = {name: value for name, value in result.measures.items() if "second" not in name}
    assert measures == {
        "share_accounted": 1.0,
        "joined_as_expected": 1.0,
        "rows_in_files": 5,
        "attempts": 2,
        "steps": 1,
        "reason_sacct_row": 1,
        "reason_sacct_row_joined": 1,
        "reason_sacct_step": 1,
    }


def test_a_row_that_nobody_counts_fails_the_bench(tmp_path: Path) -> None:
    write(tmp_path, "sample-sacct-a.txt", HEADER, "7|a", "b|FAILED")  # nobody says that it is one
    result = accounting.run(tmp_path)
    assert result.measures["share_accounted"] == 0.5
    assert not result.passed


def test_a_wrong_join_is_seen() -> None:
    lines = (HEADER, "7|a", "b|FAILED")
    assert accounting.joins_as_expected(Printed("x", lines, (HEADER, "7|a b|FAILED")))
    assert not accounting.joins_as_expected(Printed("x", lines, (HEADER, "7|a b|TIMEOUT")))


def test_an_expected_file_of_other_columns_is_not_used(tmp_path: Path) -> None:
    write(tmp_path, "sample-sacct-a.txt", HEADER, "7|a|FAILED")
    write(tmp_path, "sample-sacct-a-expected.txt", "JobID|State")
    [printed] = slurm_fixtures.load(tmp_path).files
    assert (printed.joined, printed.row_count) == (None, 1)


def test_a_folder_without_accounting_is_refused(tmp_path: Path) -> None:
    with pytest.raises(InputError, match=r"no sample-sacct-\*.txt below"):
        slurm_fixtures.load(tmp_path)
