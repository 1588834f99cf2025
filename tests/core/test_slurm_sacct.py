from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from relume.clock import from_iso
from relume.errors import InputError, RelumeError
from relume.identity import chain_attempts
from relume.slurm.sacct import FIELDS, command, parse_sacct

MARK = "<5e9a>"
ROW = {
    "JobID": "12_3",
    "JobIDRaw": "15",
    "State": "REQUEUED",
    "Submit": "2026-01-02T03:04:05",
    "Start": "2026-01-02T03:04:06",
    "End": "2026-01-02T03:05:00",
    "ExitCode": "3:0",
    "NodeList": "n[1-2]",
    "Comment": "",
    "AdminComment": "",
}


def _print(*rows: dict[str, str]) -> str:
    return "".join("".join(row[f] + MARK for f in FIELDS) + "\n" for row in rows)


def test_the_command_asks_for_everything_of_one_job() -> None:
    argv = command("12_3", MARK)
    assert argv[0] == "sacct"
    assert {"--duplicates", "--parsable", f"--delimiter={MARK}", "--jobs=12_3"} <= set(argv)


def test_rows_chain_into_attempts() -> None:
    again = ROW | {
        "State": "CANCELLED by 1000",
        "Submit": ROW["End"],
        "Start": "None",
        "End": "2026-01-02T03:06:00",
        "ExitCode": "0:15",
        "NodeList": "None assigned",
    }
    first, second = parse_sacct(_print(ROW, again), MARK)
    assert (first.raw_job_id, first.exit_code, first.signal) == (15, 3, None)
    assert first.nodes == ("n1", "n2")
    assert first.start_time == from_iso("2026-01-02T03:04:06Z")
    assert (second.start_time, second.exit_code, second.signal) == (None, 0, 15)
    assert second.nodes == ()
    assert second.state == "CANCELLED by 1000"
    submitted = first.submit_time // 10**6
    assert [str(attempt) for attempt in chain_attempts("lab", [first, second])] == [
        f"lab/12_3@{submitted}.0",
        f"lab/12_3@{submitted}.1",
    ]


def test_an_attempt_that_runs_has_no_end_and_no_exit_code() -> None:
    [row] = parse_sacct(_print(ROW | {"State": "RUNNING", "End": "Unknown"}), MARK)
    assert (row.end_time, row.exit_code, row.signal) == (None, None, None)


@given(st.text(), st.text())
def test_comments_come_back_as_they_are(comment: str, admin_comment: str) -> None:
    rows = parse_sacct(_print(ROW | {"Comment": comment, "AdminComment": admin_comment}, ROW), MARK)
    assert [row.job_id for row in rows] == ["12_3", "12_3"]
    assert rows[0].comment == (comment or None)
    assert rows[0].admin_comment == (admin_comment or None)


@pytest.mark.parametrize(
    "text",
    [
        "no row",
        _print(ROW).removesuffix(f"{MARK}\n"),
        _print(ROW | {"Submit": "Unknown"}),
        _print(ROW | {"JobIDRaw": "15.batch"}),
        _print(ROW | {"End": "yesterday"}),
    ],
)
def test_something_else_is_an_error(text: str) -> None:
    with pytest.raises(InputError):
        parse_sacct(text, MARK)


def test_no_rows_are_no_attempts() -> None:
    assert parse_sacct("", MARK) == []


@given(st.lists(st.sampled_from([*ROW.values(), MARK, "\n", "x"])))
def test_any_text_is_read_or_refused(pieces: list[str]) -> None:
    try:
        rows = parse_sacct("".join(pieces), MARK)
    except RelumeError:
        return
    assert len(rows) == pieces.count(MARK) // len(FIELDS)
