"""Rows of `sacct -P`: states, exit codes, times, and rows that free text broke."""

from __future__ import annotations

import time

import pytest

from relume.ingest.sacct import STATES, AccountingRow, is_sacct, read_rows
from relume.ingest.skips import SkipCounts

HEADER = "JobID|JobName|State|ExitCode|NodeList|Start|End|SubmitLine"


def read(*lines: str, zone: str = "UTC") -> tuple[list[AccountingRow], dict[str, int]]:
    skipped = SkipCounts()
    return read_rows(lines, skipped, zone=zone), skipped.as_dict()


def test_a_whole_row() -> None:
    rows, skipped = read(
        HEADER,
        "7|train|NODE_FAIL|1:0|gpu-b[17-18]|2026-01-02T03:04:05|2026-01-02T04:04:05|srun x",
    )
    assert rows == [
        AccountingRow(
            job_id="7",
            state="NODE_FAIL",
            exit_code=1,
            signal=None,
            nodelist="gpu-b[17-18]",
            start=1767323045000000,
            end=1767326645000000,
        )
    ]
    assert skipped == {}


def test_what_is_not_known_is_null() -> None:
    rows, _ = read(HEADER, "7|train|PENDING|0:0|None assigned|Unknown|Unknown|", "")
    assert rows == [AccountingRow("7", "PENDING", exit_code=0)]
    rows, _ = read("JobID|State", "7|RUNNING")
    assert rows == [AccountingRow("7", "RUNNING")]


@pytest.mark.parametrize(
    ("code", "exit_code", "signal"),
    [("0:0", 0, None), ("0:125", 0, 125), ("1:0", 1, None), ("0:9", 0, 9), ("", None, None),
     ("x:y", None, None)],
)  # fmt: skip
def test_exit_codes(code: str, exit_code: int | None, signal: int | None) -> None:
    [row], _ = read("JobID|State|ExitCode", f"7|FAILED|{code}")
    assert (row.exit_code, row.signal) == (exit_code, signal)


def test_steps_are_left_out_and_attempts_keep_their_order() -> None:
    rows, skipped = read(
        "JobID|State",
        "7|REQUEUED",
        "7.batch|CANCELLED",
        "7.0|FAILED",
        "7|CANCELLED by 1000",
        "12_3|COMPLETED",
        "14+1|TIMEOUT",
        "12_[4-9%2]|PENDING",
    )
    assert [(row.job_id, row.state) for row in rows] == [
        ("7", "REQUEUED"),
        ("7", "CANCELLED"),
        ("12_3", "COMPLETED"),
        ("14+1", "TIMEOUT"),
        ("12_[4-9%2]", "PENDING"),
    ]
    assert skipped == {}


def test_the_time_zone_of_the_cluster() -> None:
    [row], _ = read("JobID|State|Start", "7|FAILED|2026-01-02T03:04:05", zone="Europe/Berlin")
    assert row.start == 1767319445000000


def test_the_raw_id_and_a_bar_at_the_end() -> None:
    rows, skipped = read("JobIDRaw|State|", "7|FAILED|")
    assert (rows, skipped) == ([AccountingRow("7", "FAILED")], {})


def test_a_row_broken_by_its_submit_line_is_joined() -> None:
    rows, skipped = read("JobID|SubmitLine|State|End", "7|srun a", "b", "c|FAILED|x")
    assert (rows, skipped) == ([AccountingRow("7", "FAILED")], {"sacct_row_joined": 1})


def test_what_follows_a_broken_last_cell_is_counted() -> None:
    rows, skipped = read("JobID|State|Comment", "7|FAILED|one", "two", "8|TIMEOUT|", "three")
    assert [row.job_id for row in rows] == ["7", "8"]
    assert skipped == {"sacct_row": 2}


def test_bars_in_free_text_before_or_after_the_state() -> None:
    columns = "JobID|State|Comment|ExitCode"
    assert read(columns, "7|FAILED|a|b|1:0")[0][0].state == "FAILED"
    rows, skipped = read("Comment|JobID|State|ExitCode", "a|b|7|FAILED|1:0")
    assert rows == [AccountingRow("7", "FAILED", exit_code=1)]
    assert skipped == {}


@pytest.mark.parametrize(
    "row", ["x|FAILED|1:0", "|FAILED|1:0", "7|HUNGRY|1:0", "7|FAILED", "rubbish", "7|a|b|c|d"]
)
def test_a_row_that_makes_no_sense_is_counted_and_the_next_is_read(row: str) -> None:
    rows, skipped = read("JobID|State|ExitCode", row, "8|TIMEOUT|0:0")
    assert [r.job_id for r in rows] == ["8"]
    assert skipped == {"sacct_row": 1}


def test_a_truncated_last_row_is_counted() -> None:
    assert read("JobID|State|ExitCode", "7|FAIL") == ([], {"sacct_row": 1})


def test_a_row_without_end_is_given_up_in_linear_time() -> None:
    lines = ["7|x"] + ["y"] * 600_000 + ["8|COMPLETED|0:0"]
    start = time.process_time()
    rows, skipped = read("JobID|State|ExitCode", *lines)
    assert time.process_time() - start < 5  # quadratic work would take minutes
    assert [row.job_id for row in rows] == ["8"]
    assert skipped == {"sacct_row": 2}


def test_a_second_header_starts_a_new_table() -> None:
    rows, skipped = read("JobID|State", "7|FAILED", "State|JobID", "TIMEOUT|8")
    assert [(row.job_id, row.state) for row in rows] == [("7", "FAILED"), ("8", "TIMEOUT")]
    assert skipped == {}


def test_headers() -> None:
    assert is_sacct(HEADER + "\n")
    assert is_sacct("JobIDRaw|State")
    assert not is_sacct("JobID State ExitCode\n")
    assert not is_sacct("")
    assert {"NODE_FAIL", "OUT_OF_MEMORY", "TIMEOUT", "FAILED", "COMPLETED"} <= STATES
