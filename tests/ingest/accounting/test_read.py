"""Rows of `sacct -P`: states, exit codes, times, and rows that free text broke."""

from __future__ import annotations

import time

import pytest
from hypothesis import given
from hypothesis import strategies as st

from relume.ingest.accounting.read import is_sacct, read_rows
from relume.ingest.accounting.row import AccountingRow, Step, Steps
from relume.ingest.accounting.states import STATES
from relume.ingest.skips import SkipCounts

HEADER = "JobID|JobName|State|ExitCode|NodeList|Start|End|SubmitLine"


def read(*lines: str, zone: str = "UTC") -> tuple[list[AccountingRow], dict[str, int]]:
    skipped = SkipCounts()
    return list(read_rows(lines, skipped, zone=zone)), skipped.as_dict()


def only(*lines: str, zone: str = "UTC") -> AccountingRow:
    [row], skipped = read(*lines, zone=zone)
    assert skipped == {}
    return row


def test_a_whole_row() -> None:
    row = only(
        HEADER,
        "7|train|NODE_FAIL|1:0|gpu-b[17-18]|2026-01-02T03:04:05|2026-01-02T04:04:05|srun x",
    )
    assert row == AccountingRow(
        job_id="7",
        name="train",
        state="NODE_FAIL",
        exit_code=1,
        signal=None,
        nodelist="gpu-b[17-18]",
        start=1767323045000000,
        end=1767326645000000,
        submit_line="srun x",
    )
    assert row.nodes == ("gpu-b17", "gpu-b18")


def test_every_column_that_is_of_use() -> None:
    cells = {
        "JobID": "12_3",
        "JobIDRaw": "15",
        "JobName": "pre train",
        "User": "ada",
        "Account": "lab",
        "Partition": "gpu",
        "Cluster": "north",
        "State": "CANCELLED by 1000",
        "ExitCode": "0:15",
        "DerivedExitCode": "3:9",
        "Reason": "TimeLimit",
        "Submit": "2026-01-02T03:00:00",
        "Eligible": "2026-01-02T03:00:01",
        "Start": "2026-01-02T03:00:10",
        "End": "2026-01-02T04:00:10",
        "Elapsed": "01:00:00",
        "Timelimit": "1-00:00:30",
        "NNodes": "2",
        "AllocTRES": "billing=9,cpu=8,gres/gpu:a100=16,gres/gpu=16,mem=1.5T,node=2",
        "Comment": '{"relume": {}}',
        "AdminComment": "marked",
        "SystemComment": "said",
        "WorkDir": "/home/ada/run 1",
        "SubmitLine": "sbatch a.sh",
        "StdOut": "/home/ada/%j.out",
        "StdErr": "/home/ada/%j.err",
        "Restarts": "2",
        "Flags": "SchedMain,StartReceived",
        "Planned": "00:00:09",
        "HardlyKnown": "7",
    }
    row = only("|".join(cells), "|".join(cells.values()))
    assert (row.job_id, row.raw_job_id, row.name, row.user) == ("12_3", 15, "pre train", "ada")
    assert (row.account, row.partition, row.cluster) == ("lab", "gpu", "north")
    assert (row.state, row.cancelled_by) == ("CANCELLED", "1000")
    assert (row.exit_code, row.signal) == (0, 15)
    assert (row.derived_exit_code, row.derived_signal) == (3, 9)
    assert row.start is not None
    assert (row.submit, row.eligible) == (row.start - 10_000_000, row.start - 9_000_000)
    assert row.end == row.start + 3600_000_000
    assert (row.elapsed_seconds, row.planned_seconds) == (3600, 9)
    assert row.time_limit_seconds == 86430
    assert (row.num_nodes, row.gpus, row.restarts) == (2, 16, 2)
    assert (row.comment, row.admin_comment) == ('{"relume": {}}', "marked")
    assert (row.system_comment, row.reason) == ("said", "TimeLimit")
    assert (row.work_dir, row.submit_line) == ("/home/ada/run 1", "sbatch a.sh")
    assert (row.std_out, row.std_err) == ("/home/ada/%j.out", "/home/ada/%j.err")
    assert row.flags == ("SchedMain", "StartReceived")


def test_what_is_not_known_is_null() -> None:
    row = only(HEADER, "7|train|PENDING|0:0|None assigned|Unknown|Unknown|", "")
    assert row == AccountingRow("7", "PENDING", exit_code=0, name="train")
    assert only("JobID|State", "7|RUNNING") == AccountingRow("7", "RUNNING")
    nothing = "7|FAILED|||None|(null)|Partition_Limit||Unknown"
    row = only("JobID|State|ExitCode|User|Reason|NodeList|Timelimit|AllocTRES|Submit", nothing)
    assert row == AccountingRow("7", "FAILED")
    assert row.nodes == ()


@pytest.mark.parametrize(
    ("resources", "gpus"),
    [
        ("cpu=8,gres/gpu=4", 4),
        ("gres/gpu:a100=4,gres/gpu:h100=2", 6),
        ("gres/gpu:a100=4,gres/gpu=4", 4),
        ("cpu=8,mem=4G", 0),
        ("", None),
    ],
)
def test_gpus(resources: str, gpus: int | None) -> None:
    assert only("JobID|State|AllocTRES", f"7|FAILED|{resources}").gpus == gpus


def test_a_job_that_never_ran_asked_for_gpus() -> None:
    assert only("JobID|State|AllocTRES|ReqTRES", "7|PENDING||gres/gpu=8").gpus == 8


def test_the_limit_in_minutes() -> None:
    assert only("JobID|State|TimelimitRaw", "7|FAILED|90").time_limit_seconds == 5400


@pytest.mark.parametrize(
    ("code", "exit_code", "signal"),
    [("0:0", 0, None), ("0:125", 0, 125), ("1:0", 1, None), ("0:9", 0, 9), ("", None, None),
     ("x:y", None, None)],
)  # fmt: skip
def test_exit_codes(code: str, exit_code: int | None, signal: int | None) -> None:
    [row], _ = read("JobID|State|ExitCode", f"7|FAILED|{code}")
    assert (row.exit_code, row.signal) == (exit_code, signal)


def test_steps_stand_behind_their_job_and_attempts_keep_their_order() -> None:
    rows, skipped = read(
        "JobID|State|ExitCode",
        "7|REQUEUED|0:0",
        "7.batch|CANCELLED|0:15",
        "7.extern|COMPLETED|0:0",
        "7.0|OUT_OF_MEMORY|0:125",
        "7.1|FAILED|1:0",
        "7|CANCELLED by 1000|0:0",
        "12_3|COMPLETED|0:0",
        "12_3.0|COMPLETED|0:0",
        "14+1|TIMEOUT|0:0",
        "14+1.0|CANCELLED by 0|0:9",
        "12_[4-9%2]|PENDING|0:0",
    )
    assert [(row.job_id, row.state, row.steps) for row in rows] == [
        ("7", "REQUEUED", Steps(4, Step("0", "OUT_OF_MEMORY", 0, 125))),
        ("7", "CANCELLED", Steps()),
        ("12_3", "COMPLETED", Steps(1)),
        ("14+1", "TIMEOUT", Steps(1, Step("0", "CANCELLED", 0, 9))),
        ("12_[4-9%2]", "PENDING", Steps()),
    ]
    assert skipped == {}


def test_a_step_without_its_job_is_counted() -> None:
    rows, skipped = read("JobID|State", "6.batch|FAILED", "7|FAILED", "8.0|FAILED", "7.0|FAILED")
    assert [(row.job_id, row.steps.count) for row in rows] == [("7", 1)]
    assert skipped == {"sacct_step": 2}


def test_the_time_zone_of_the_cluster() -> None:
    [row], _ = read("JobID|State|Start", "7|FAILED|2026-01-02T03:04:05", zone="Europe/Berlin")
    assert row.start == 1767319445000000


@pytest.mark.parametrize("code", ["2025-10-26T02:30:00", "1761438600", "2025-10-26 02:30:00+0200"])
def test_forms_of_a_time(code: str) -> None:
    row = only("JobID|State|Start", f"7|FAILED|{code}", zone="Europe/Berlin")
    assert row.start == 1761438600000000


def test_the_hour_that_is_repeated_is_told_by_how_long_it_lasted() -> None:
    columns = "JobID|State|Submit|Start|End|ElapsedRaw"
    first = 1761438600000000  # 02:30 in Berlin, for the first time
    for elapsed, start in ((600, first), (4200, first), (3000, first + 3600_000_000)):
        end = "02:40:00" if elapsed != 3000 else "03:20:00"
        text = f"7|FAILED|2025-10-26T02:29:00|2025-10-26T02:30:00|2025-10-26T{end}|{elapsed}"
        row = only(columns, text, zone="Europe/Berlin")
        assert (row.start, row.end) == (start, start + elapsed * 1_000_000)
        assert row.submit == start - 60_000_000


@pytest.mark.parametrize("delimiter", ["|", "|#", "\t", ";", "<|>", ","])
@pytest.mark.parametrize("end", [False, True])
def test_delimiters_are_told_by_the_header(delimiter: str, end: bool) -> None:  # noqa: FBT001
    lines = ["JobIDRaw|State|Comment", "7|FAILED|a b", "7.0|FAILED|", "8|TIMEOUT|"]
    text = [line.replace("|", delimiter) + delimiter * end for line in lines]
    rows, skipped = read(*text)
    assert [(row.job_id, row.state, row.comment) for row in rows] == [
        ("7", "FAILED", "a b"),
        ("8", "TIMEOUT", None),
    ]
    assert [row.raw_job_id for row in rows] == [7, 8]
    assert skipped == {}


def test_columns_of_fixed_width_are_no_table() -> None:
    assert read("JobID        State", "------------ ------", "7 FAILED") == ([], {"sacct_line": 3})


def test_a_row_broken_by_its_submit_line_is_joined() -> None:
    rows, skipped = read(
        "JobID|SubmitLine|State|End", "7|srun a", "b", "c|FAILED|Unknown", "8|x|FAILED|Unknown"
    )
    assert [(row.job_id, row.submit_line) for row in rows] == [("7", "srun a\nb\nc"), ("8", "x")]
    assert skipped == {"sacct_row_joined": 1}


def test_line_breaks_and_delimiters_in_one_text() -> None:
    """The row has as many cells as columns before its end has come."""
    rows, skipped = read(
        "Account|Comment|JobID|State|SubmitLine|End",
        "lab||7|FAILED|srun a | b | c",
        "7|8 |",
        "",
        "x | y|2026-01-02T03:04:05",
        "lab||8|FAILED|x|Unknown",
    )
    assert [(row.job_id, row.submit_line) for row in rows] == [
        ("7", "srun a | b | c\n7|8 |\n\nx | y"),
        ("8", "x"),
    ]
    assert skipped == {"sacct_row_joined": 1}


def test_a_text_in_the_last_cell_goes_on_and_its_rest_is_counted() -> None:
    rows, skipped = read(
        "JobID|State|Comment", "7|FAILED|one", "two", "8|TIMEOUT|", "three", "four"
    )
    assert [row.job_id for row in rows] == ["7", "8"]
    assert skipped == {"sacct_line": 3}


def test_a_bar_behind_the_last_cell_shows_where_its_text_ends() -> None:
    rows, skipped = read("JobID|State|Comment|", "7|FAILED|one", "two | three|", "8|TIMEOUT||")
    assert [row.comment for row in rows] == ["one\ntwo | three", None]
    assert skipped == {"sacct_row_joined": 1}


def test_bars_in_free_text_before_or_after_the_state() -> None:
    row = only("JobID|State|Comment|ExitCode", "7|FAILED|a|b|1:0")
    assert (row.state, row.comment, row.exit_code) == ("FAILED", "a|b", 1)
    row = only("Comment|JobID|State|ExitCode", "a|b|7|FAILED|1:0")
    assert row == AccountingRow("7", "FAILED", exit_code=1, comment="a|b")


@pytest.mark.parametrize(
    "row", ["x|FAILED|1:0", "|FAILED|1:0", "7|HUNGRY|1:0", "7|FAILED", "7|a|b|c|d", "7|FAIL"]
)
def test_a_row_that_makes_no_sense_is_counted_and_the_next_is_read(row: str) -> None:
    rows, skipped = read("JobID|State|ExitCode", row, "8|TIMEOUT|0:0")
    assert [r.job_id for r in rows] == ["8"]
    assert skipped == {"sacct_row": 1}
    assert read("JobID|State|ExitCode", row) == ([], {"sacct_row": 1})


def test_lines_of_other_programs_are_counted_and_hide_no_row() -> None:
    rows, skipped = read(
        "$ sacct -P -o jobid,state,submitline",
        "sacct: warning: the database is slow",
        "JobID|SubmitLine|State",
        "7|a|FAILED",
        "sacct: error: lost the connection",
        "8|a",
        "b|FAILED",
        "JobID|SubmitLine|State",
        "9|a|FAILED",
        "$ ",
    )
    assert [(row.job_id, row.submit_line) for row in rows] == [
        ("7", "a"),
        ("8", "a\nb"),
        ("9", "a"),
    ]
    assert skipped == {"sacct_line": 4, "sacct_row_joined": 1}


def test_bytes_that_were_no_text() -> None:
    name = b"na\xefve".decode("utf-8", "replace")
    assert only("JobID|JobName|State", f"7|{name}|FAILED").name == "na\ufffdve"


def test_a_row_without_end_is_given_up_in_linear_time() -> None:
    lines = ["7|x"] + ["y"] * 150_000 + ["y|"] * 50_000 + ["8|COMPLETED|0:0"]
    start = time.process_time()
    rows, skipped = read("JobID|State|ExitCode", *lines)
    assert time.process_time() - start < 10  # quadratic work would take far longer
    assert [row.job_id for row in rows] == ["8"]
    assert skipped["sacct_row"] > 1


def test_a_second_header_starts_a_new_table() -> None:
    rows, skipped = read("JobID|State", "7|FAILED", "State|JobID", "TIMEOUT|8")
    assert [(row.job_id, row.state) for row in rows] == [("7", "FAILED"), ("8", "TIMEOUT")]
    assert skipped == {}


@given(
    texts=st.lists(st.text("ab|\n =;:", max_size=8), min_size=1, max_size=6),
    states=st.lists(st.sampled_from(sorted(STATES)), min_size=6, max_size=6),
)
def test_any_text_between_known_cells_comes_back(texts: list[str], states: list[str]) -> None:
    """A blank start of a line, or an end, is all that a text may lose."""
    rows = [
        f"{n}|{text}|{state}|0:1"
        for n, (text, state) in enumerate(zip(texts, states, strict=False))
    ]
    lines = "\n".join(["JobID|SubmitLine|State|ExitCode", *rows]).split("\n")
    found, skipped = read(*lines)
    assert [row.job_id for row in found] == [str(n) for n in range(len(texts))]
    assert [row.state for row in found] == states[: len(texts)]
    assert [row.submit_line or "" for row in found] == [text.strip() for text in texts]
    assert set(skipped) <= {"sacct_row_joined"}


@given(rows=st.lists(st.text(st.sampled_from("7.batch|FAILED\n[_]+#x"), max_size=30), max_size=12))
def test_whatever_the_lines_are_it_never_raises(rows: list[str]) -> None:
    read("JobID|State|Comment", *rows)


def test_headers() -> None:
    assert is_sacct(HEADER + "\n")
    assert is_sacct("JobIDRaw|State")
    assert is_sacct("$ sacct -P\nJobID|State|\n")
    assert not is_sacct("JobID State ExitCode\n")
    assert not is_sacct("")
    assert {"NODE_FAIL", "OUT_OF_MEMORY", "TIMEOUT", "FAILED", "COMPLETED"} <= STATES
