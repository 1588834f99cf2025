"""Identity: one text for each name, chains of accounting rows, and comments of all kinds."""

from __future__ import annotations

import json
from itertools import permutations

import pytest

from relume.errors import InputError
from relume.identity import (
    AccountingRow,
    AttemptId,
    JobKey,
    JobOptIn,
    chain_attempts,
    parse_short,
    read_comment,
    run_name,
)

SECOND = 1_000_000
KEY = JobKey("lab", "123", 1_767_323_045 * SECOND)


def row(submit: int, end: int | None, state: str, job_id: str = "7") -> AccountingRow:
    """A row of `sacct -D`, in seconds."""
    return AccountingRow(job_id, submit * SECOND, None if end is None else end * SECOND, state)


def chained(*rows: AccountingRow) -> list[str]:
    return [str(attempt) for attempt in chain_attempts("lab", rows)]


@pytest.mark.parametrize("job_id", ["123", "123_4", "123_0", "123+1", "0"])
def test_texts_read_back(job_id: str) -> None:
    key = JobKey("lab-2", job_id, 5 * SECOND)
    attempt = AttemptId(key, 12)
    assert str(attempt) == f"lab-2/{job_id}@5.12"
    assert AttemptId.parse(str(attempt)) == attempt
    assert JobKey.parse(str(key)) == key
    assert parse_short(attempt.short) == (job_id, 12)


@pytest.mark.parametrize(
    ("job_id", "parent"), [("123", None), ("123_4", "123"), ("123_0", "123"), ("123+1", "123")]
)
def test_tasks_and_components_have_a_parent(job_id: str, parent: str | None) -> None:
    assert JobKey("lab", job_id, 0).parent == parent


def test_names_sort_by_submit_time_then_attempt() -> None:
    newer = JobKey("lab", "123", KEY.first_submit_time + SECOND)
    attempts = [AttemptId(newer, 0), AttemptId(KEY, 2), AttemptId(KEY, 1)]
    assert sorted(attempts) == attempts[::-1]


@pytest.mark.parametrize(
    "text",
    [
        "",
        "123",
        "123-0",
        "lab/123@5",
        "lab/123@5.",
        "lab/123@5.-1",
        "lab/123@5.01",
        "lab/0123@5.0",
        "lab/123_@5.0",
        "lab/123_[1-4]@5.0",
        "lab/123_1_2@5.0",
        "lab/123.batch@5.0",
        "lab/123@5.5.0",
        "/123@5.0",
        "l b/123@5.0",
        "lab/123@5.0\n",
        " lab/123@5.0",
        "lab/\u0661@5.0",
    ],
)
def test_other_texts_are_no_attempts(text: str) -> None:
    with pytest.raises(InputError, match=r"identity; found .*; expected cluster/job_id@"):
        AttemptId.parse(text)


@pytest.mark.parametrize("text", ["", "lab/123@5.0", "lab/123", "123@5"])
def test_other_texts_are_no_job_keys(text: str) -> None:
    with pytest.raises(InputError, match="expected cluster/job_id@first_submit_epoch"):
        JobKey.parse(text)


@pytest.mark.parametrize("text", ["", "123", "123-", "-1", "123-x", "lab/123@5.0", "1-2-3"])
def test_other_texts_are_no_short_names(text: str) -> None:
    with pytest.raises(InputError, match="expected job_id-restart_count"):
        parse_short(text)


@pytest.mark.parametrize(
    ("cluster", "job_id", "submitted"),
    [
        ("", "1", 0),
        ("a/b", "1", 0),
        ("a@b", "1", 0),
        ("a b", "1", 0),
        ("lab", "1.batch", 0),
        ("lab", "", 0),
        ("lab", "1", 1),
        ("lab", "1", -SECOND),
        ("lab", "1", 10**12 * SECOND),
    ],
)
def test_what_cannot_be_written_cannot_be_made(cluster: str, job_id: str, submitted: int) -> None:
    with pytest.raises(InputError, match="in whole seconds"):
        JobKey(cluster, job_id, submitted)


@pytest.mark.parametrize("restart_count", [-1, 10**9])
def test_a_restart_count_is_a_count(restart_count: int) -> None:
    with pytest.raises(InputError, match="restart count"):
        AttemptId(KEY, restart_count)


@pytest.mark.parametrize("state", ["REQUEUED", "NODE_FAIL", "PREEMPTED", "PREEMPTED by 0"])
def test_a_requeue_chains(state: str) -> None:
    rows = (row(1, 5, state), row(5, 9, "COMPLETED"))
    assert chained(*rows) == ["lab/7@1.0", "lab/7@1.1"]


@pytest.mark.parametrize("completing", [1, 5, 600])
def test_an_attempt_that_ended_slowly_chains(completing: int) -> None:
    rows = (row(1, 5, "REQUEUED"), row(5 + completing, None, "RUNNING"))
    assert chained(*rows) == ["lab/7@1.0", "lab/7@1.1"]


def test_a_long_chain_counts_on() -> None:
    rows = [row(n, n + 1, "REQUEUED") for n in range(1, 5)]
    assert chained(*rows) == [f"lab/7@1.{n}" for n in range(4)]


@pytest.mark.parametrize(
    ("first", "second"),
    [
        (row(1, 5, "REQUEUED"), row(5 + 601, 999, "COMPLETED")),
        (row(1, 5, "REQUEUED"), row(4, 9, "COMPLETED")),
        (row(1, 5, "COMPLETED"), row(5, 9, "COMPLETED")),
        (row(1, 5, "CANCELLED by 0"), row(5, 9, "COMPLETED")),
        (row(1, 5, ""), row(5, 9, "COMPLETED")),
        (row(1, None, "RUNNING"), row(5, 9, "COMPLETED")),
    ],
    ids=["too late", "overlap", "completed", "cancelled", "no state", "no end"],
)
def test_a_row_that_does_not_chain_is_another_job(
    first: AccountingRow, second: AccountingRow
) -> None:
    assert chained(first, second) == [
        "lab/7@1.0",
        f"lab/7@{second.submit_time // SECOND}.0",
    ]


def test_a_reused_id_begins_its_own_chain() -> None:
    rows = (
        row(1, 5, "NODE_FAIL"),
        row(5, 9, "FAILED"),
        row(20, 30, "REQUEUED"),
        row(30, None, "RUNNING"),
    )
    assert chained(*rows) == ["lab/7@1.0", "lab/7@1.1", "lab/7@20.0", "lab/7@20.1"]


def test_job_ids_do_not_chain_with_each_other() -> None:
    rows = (row(1, 5, "REQUEUED", "7_1"), row(5, 9, "COMPLETED", "7_2"), row(5, 9, "FAILED", "7_1"))
    assert chained(*rows) == ["lab/7_1@1.0", "lab/7_2@5.0", "lab/7_1@1.1"]


def test_the_order_of_the_rows_does_not_matter() -> None:
    rows = (row(1, 5, "REQUEUED"), row(5, 9, "REQUEUED"), row(9, None, "PENDING"))
    expected = dict(zip(rows, chained(*rows), strict=True))
    for order in permutations(rows):
        assert chained(*order) == [expected[one] for one in order]


def test_a_row_asked_for_twice_is_one_attempt() -> None:
    running, ended = row(1, None, "RUNNING"), row(1, 5, "REQUEUED")
    after = row(5, None, "RUNNING")
    for order in permutations((running, ended, after)):
        names = dict(zip(order, chained(*order), strict=True))
        assert names == {running: "lab/7@1.0", ended: "lab/7@1.0", after: "lab/7@1.1"}


def test_a_job_requeued_in_the_second_of_its_submission_has_two_attempts() -> None:
    cut, after = row(1, 1, "NODE_FAIL"), row(1, 9, "COMPLETED")
    for order in permutations((cut, after)):
        names = dict(zip(order, chained(*order), strict=True))
        assert names == {cut: "lab/7@1.0", after: "lab/7@1.1"}


def test_no_rows_no_attempts() -> None:
    assert chain_attempts("lab", []) == []


def test_a_row_with_a_bad_id_is_refused() -> None:
    with pytest.raises(InputError, match=r"7\.batch"):
        chained(row(1, 2, "COMPLETED", "7.batch"))


@pytest.mark.parametrize(
    ("comment", "run"),
    [
        ('{"relume": {}}', None),
        ('{"relume": {"run": null}}', None),
        ('{"relume": {"run": "llama-70b", "max_restarts": 3}, "owner": [1]}', "llama-70b"),
        ('{"relume": {"run": "größe \u4e2d"}}', "größe 中"),
        ('{"APS": {"auto_resume_mode": "requeue", "max_requeue_times": 3}}', None),
        ('{"APS": {"auto_resume_mode": "singleton_dependency"}}', None),
        ('{"APS": {"auto_resume_mode": "requeue"}, "relume": {"run": "a"}}', "a"),
        (' {"relume": {"run": "a"}}\n', "a"),
    ],
)
def test_comments_that_opt_in(comment: str, run: str | None) -> None:
    assert read_comment(comment) == JobOptIn(opted_in=True, run=run)


@pytest.mark.parametrize(
    ("comment", "reason"),
    [
        (None, "no comment"),
        ("", "no comment"),
        ("  ", "no comment"),
        ("debug run", "not JSON"),
        ('{"relume": {}', "not JSON"),
        ("[" * 100_000, "not JSON"),
        ("9" * 5000, "not JSON"),
        ("[]", "not an object"),
        ("3", "not an object"),
        ("{}", "neither"),
        ('{"Relume": {}}', "neither"),
        ('{"relume": true}', "relume in the comment is not an object"),
        ('{"relume": null, "APS": {"auto_resume_mode": "requeue"}}', "is not an object"),
        ('{"relume": {"run": 7}}', "printable text"),
        ('{"relume": {"run": ""}}', "printable text"),
        ('{"relume": {"run": "a\\nb"}}', "printable text"),
        ('{"relume": {"run": "\\ud800"}}', "printable text"),
        (json.dumps({"relume": {"run": "x" * 201}}), "printable text"),
        ('{"APS": {}}', "auto_resume_mode"),
        ('{"APS": []}', "auto_resume_mode"),
        ('{"APS": {"auto_resume_mode": "off"}}', "auto_resume_mode"),
        ('{"APS": {"auto_resume_mode": ["requeue"]}}', "auto_resume_mode"),
    ],
)
def test_everything_else_is_no_opt_in_with_a_reason(comment: str | None, reason: str) -> None:
    read = read_comment(comment)
    assert (read.opted_in, read.run) == (False, None)
    assert read.reason is not None
    assert reason in read.reason


def test_a_run_is_the_name_or_the_job_itself() -> None:
    assert run_name(read_comment('{"relume": {"run": "a"}}'), KEY) == "a"
    assert run_name(read_comment('{"relume": {}}'), KEY) == "lab/123@1767323045"
    assert run_name(read_comment(None), KEY) == "lab/123@1767323045"


def test_a_cluster_whose_name_no_database_could_hold_is_refused() -> None:
    assert AttemptId.parse(f"{'c' * 100}/1@1.0").job_key.cluster == "c" * 100
    with pytest.raises(InputError, match="identity"):
        AttemptId.parse(f"{'c' * 101}/1@1.0")
