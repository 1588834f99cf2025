"""Attempts and scheduler events from accounting: chained, in the order of their times."""

from __future__ import annotations

import random
from dataclasses import replace

import pytest
from hypothesis import given
from hypothesis import strategies as st

from relume.identity import AccountingRow as Identified
from relume.identity import chain_attempts
from relume.ingest.accounting.events import identify, to_scheduler_events
from relume.ingest.accounting.order import by_submit_time
from relume.ingest.accounting.read import read_rows
from relume.ingest.accounting.row import AccountingRow, Step, Steps
from relume.ingest.accounting.states import ENDS, STATES
from relume.ingest.skips import SkipCounts

SECOND = 1_000_000

times = st.integers(0, 40)
rows = st.lists(
    st.builds(
        lambda job, submit, wait, run, state: AccountingRow(
            job,
            state,
            submit=submit * 60 * SECOND,
            start=(submit + wait) * 60 * SECOND,
            end=None if run is None else (submit + wait + run) * 60 * SECOND,
        ),
        st.sampled_from(["7", "8", "9_1", "9+1"]),
        times,
        times,
        st.none() | times,
        st.sampled_from(["REQUEUED", "NODE_FAIL", "PREEMPTED", "FAILED", "COMPLETED"]),
    ),
    max_size=12,
    unique_by=lambda row: (row.job_id, row.submit, row.end),
)


def test_one_event_at_the_start_and_one_at_the_end() -> None:
    text = [
        "JobIDRaw|User|State|ExitCode|Reason|Comment|NodeList|NNodes|Timelimit|Submit|Eligible|Start|End|AllocTRES",
        "7|ada|OUT_OF_MEMORY|0:125|None|kept|n[1-2]|2|01:00:00|2026-01-02T03:00:00|2026-01-02T03:00:01|2026-01-02T03:00:05|2026-01-02T03:00:09|cpu=8,gres/gpu=16",
    ]
    started, ended = to_scheduler_events(read_rows(text, SkipCounts()), "lab", SkipCounts())
    assert started.attempt == ended.attempt == "lab/7@1767322800.0"
    assert (started.state, started.exit_code, started.signal) == ("RUNNING", None, None)
    assert (ended.state, ended.exit_code, ended.signal) == ("OUT_OF_MEMORY", 0, 125)
    assert (started.event_time, ended.event_time) == (1767322805 * SECOND, 1767322809 * SECOND)
    for event in (started, ended):
        assert (event.nodes, event.num_nodes, event.user) == (("n1", "n2"), 2, "ada")
        assert (event.comment, event.time_limit_seconds) == ("kept", 3600)
        assert (event.source, event.cluster, event.reason) == ("sacct", "lab", None)
        assert (event.gpus, event.eligible_time) == (16, 1767322801 * SECOND)


@pytest.mark.parametrize(
    ("row", "states"),
    [
        (AccountingRow("7", "PENDING", submit=0), []),
        (AccountingRow("7", "RUNNING", submit=0, start=1), ["RUNNING"]),
        (AccountingRow("7", "CANCELLED", submit=0, end=5), ["CANCELLED"]),
        (AccountingRow("7", "COMPLETED", submit=0, start=1, end=5), ["RUNNING", "COMPLETED"]),
        (AccountingRow("7", "FAILED", submit=0), ["FAILED"]),
    ],
)
def test_what_has_not_happened_is_no_event(row: AccountingRow, states: list[str]) -> None:
    found = to_scheduler_events([row], "lab", SkipCounts())
    assert [event.state for event in found] == states


@pytest.mark.parametrize("state", sorted(STATES))
@pytest.mark.parametrize("end", [None, 9])
def test_only_a_state_that_is_an_end_has_an_event_of_the_end(state: str, end: int | None) -> None:
    row = AccountingRow("7", state, exit_code=0, submit=0, start=5, end=end)
    found = [event.state for event in to_scheduler_events([row], "lab", SkipCounts())]
    assert found == ["RUNNING", *([state] if state in ENDS else [])]


@pytest.mark.parametrize(
    "state", ["STOPPED", "STAGE_OUT", "REQUEUE_HOLD", "SPECIAL_EXIT", "RESV_DEL_HOLD", "EXPEDITING"]
)
def test_what_waits_stands_still_or_is_held_is_not_over(state: str) -> None:
    row = AccountingRow("7", state, submit=0, start=5)
    assert [event.state for event in to_scheduler_events([row], "lab", SkipCounts())] == ["RUNNING"]


def test_an_end_of_unknown_time_comes_after_the_start() -> None:
    rows = [
        AccountingRow("7", "FAILED", submit=0, start=50 * SECOND),
        AccountingRow("8", "FAILED", submit=SECOND, start=20 * SECOND, end=60 * SECOND),
    ]
    found = to_scheduler_events(rows, "lab", SkipCounts())
    told = [(one.attempt, one.state, one.event_time) for one in found]
    assert told == [
        ("lab/8@1.0", "RUNNING", 20 * SECOND),
        ("lab/7@0.0", "RUNNING", 50 * SECOND),
        ("lab/7@0.0", "FAILED", None),
        ("lab/8@1.0", "FAILED", 60 * SECOND),
    ]


@pytest.mark.parametrize(
    ("state", "worst", "told"),
    [
        ("FAILED", "OUT_OF_MEMORY", "OUT_OF_MEMORY"),
        ("FAILED", "NODE_FAIL", "FAILED"),
        ("COMPLETED", "OUT_OF_MEMORY", "COMPLETED"),
        ("CANCELLED", "OUT_OF_MEMORY", "CANCELLED"),
        ("NODE_FAIL", "OUT_OF_MEMORY", "NODE_FAIL"),
    ],
)
def test_a_step_that_ran_out_of_memory_says_why_its_job_failed(
    state: str, worst: str, told: str
) -> None:
    steps = Steps(2, Step("batch", worst, 0, 125))
    row = AccountingRow("7", state, exit_code=1, submit=0, start=1, end=5, steps=steps)
    started, ended = to_scheduler_events([row], "lab", SkipCounts())
    assert (started.state, ended.state, ended.exit_code) == ("RUNNING", told, 1)


def test_a_requeued_job_goes_on_and_a_reused_id_does_not() -> None:
    first = AccountingRow("7", "NODE_FAIL", submit=SECOND, start=2 * SECOND, end=5 * SECOND)
    second = AccountingRow("7", "FAILED", submit=8 * SECOND, start=9 * SECOND, end=10 * SECOND)
    reused = AccountingRow("7", "RUNNING", submit=20 * SECOND, start=21 * SECOND)
    elsewhere = replace(second, cluster="south")
    skipped = SkipCounts()
    found = list(identify([reused, second, elsewhere, first], "lab", skipped))
    assert [str(attempt) for attempt, _ in found] == [
        "lab/7@1.0",
        "lab/7@1.1",
        "south/7@8.0",
        "lab/7@20.0",
    ]
    assert not skipped


def test_rows_that_are_no_attempt_are_counted() -> None:
    skipped = SkipCounts()
    waiting = AccountingRow("12_[4-9%2]", "PENDING", submit=SECOND)
    undated = AccountingRow("7", "FAILED", end=SECOND)
    assert list(to_scheduler_events([waiting, undated], "lab", skipped)) == []
    assert skipped.as_dict() == {"sacct_no_attempt": 2}


def test_a_job_requeued_in_the_second_of_its_submission_has_both_attempts() -> None:
    cut = AccountingRow("7", "REQUEUED", submit=SECOND, start=SECOND, end=SECOND)
    again = AccountingRow("7", "COMPLETED", submit=SECOND, start=9 * SECOND, end=30 * SECOND)
    for rows in ([cut, again], [again, cut]):
        skipped = SkipCounts()
        found = [(str(one), row.state) for one, row in identify(rows, "lab", skipped)]
        assert found == [("lab/7@1.0", "REQUEUED"), ("lab/7@1.1", "COMPLETED")]
        assert not skipped


def test_of_rows_of_one_attempt_the_one_that_tells_most_counts_and_the_others_are_counted() -> None:
    waits = AccountingRow("7", "PENDING", submit=SECOND)
    runs = AccountingRow("7", "RUNNING", submit=SECOND, start=2 * SECOND, end=99 * SECOND)  # a plan
    over = AccountingRow("7", "FAILED", submit=SECOND, start=2 * SECOND, end=5 * SECOND)
    whole = replace(over, steps=Steps(1, Step("0", "OUT_OF_MEMORY")))
    for rows, best in (
        ([waits, runs], runs),
        ([waits, runs, over], over),
        ([over, whole], whole),
        ([over, over], over),
    ):
        for ordered in (rows, rows[::-1]):
            skipped = SkipCounts()
            assert [row for _, row in identify(ordered, "lab", skipped)] == [best]
            assert skipped.as_dict() == {"sacct_row_again": len(rows) - 1}


@given(rows=rows, copies=st.lists(st.integers(0, 11)), seed=st.integers(0, 9))
def test_every_row_is_an_attempt_or_counted(
    rows: list[AccountingRow], copies: list[int], seed: int
) -> None:
    mixed = rows + [rows[place] for place in copies if place < len(rows)]
    random.Random(seed).shuffle(mixed)
    skipped = SkipCounts()
    attempts = [str(attempt) for attempt, _ in identify(mixed, "lab", skipped)]
    assert len(attempts) == len(set(attempts))
    assert len(attempts) + sum(skipped.as_dict().values()) == len(mixed)


@given(rows=rows, seed=st.integers(0, 9))
def test_the_order_of_the_rows_changes_nothing(rows: list[AccountingRow], seed: int) -> None:
    events = list(to_scheduler_events(rows, "lab", SkipCounts()))
    times = [event.event_time for event in events if event.event_time is not None]
    assert times == sorted(times)
    mixed = list(rows)
    random.Random(seed).shuffle(mixed)
    again = list(to_scheduler_events(mixed, "lab", SkipCounts()))
    assert sorted(map(repr, again)) == sorted(map(repr, events))


@given(rows=rows)
def test_one_by_one_the_chains_are_those_of_the_whole(rows: list[AccountingRow]) -> None:
    whole = [Identified(r.job_id, r.submit or 0, r.end, r.state) for r in rows]
    expected = {str(attempt) for attempt in chain_attempts("lab", whole)}
    found = [str(attempt) for attempt, _ in identify(rows, "lab", SkipCounts())]
    assert sorted(found) == sorted(expected)


@given(rows=rows, held=st.integers(0, 12))
def test_rows_that_went_through_a_file_are_the_same(rows: list[AccountingRow], held: int) -> None:
    assert list(by_submit_time(rows, held=held)) == list(by_submit_time(rows))
    assert sorted(rows, key=lambda row: row.submit or 0) == list(by_submit_time(rows, held=held))
