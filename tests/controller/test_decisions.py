"""What the helper may hold is decided beforehand, with the checks of every other step."""

from __future__ import annotations

from typing import Any

import pytest

from controlling import KEY, NOW, advise, make_facts, make_job, make_settings, remember, seen
from relume.advice import Mode, Operation
from relume.controller.decisions import decisions


def lines(*, settings: dict[str, Any] | None = None, advice: Any = (), **job: Any) -> list[str]:
    restarts = {str(KEY): (NOW,)}
    facts = make_facts(
        make_job(**job), memory=remember(seen(), restarts=restarts), advice=tuple(advice)
    )
    return decisions(facts, make_settings(**(settings or {})), NOW)


@pytest.mark.parametrize("state", ["RUNNING", "COMPLETING"])
def test_a_job_under_way_may_be_held(state: str) -> None:
    assert lines(state=state) == ["hold 7 0"]


def test_the_time_limit_counts_where_the_comment_asks_for_it() -> None:
    comment = '{"relume": {"run": "opus", "restart_on_time_limit": true}}'
    assert lines(comment=comment) == ["limit 7 0"]


def test_a_job_that_is_to_be_stopped_may_end_by_itself() -> None:
    assert lines(advice=[advise(Operation.STOP)]) == ["stop 7 0"]
    assert lines(advice=[advise(Operation.STOP, settled=False)]) == ["hold 7 0"]
    assert lines(advice=[advise(Operation.STOP, mode=Mode.MONITOR)]) == ["hold 7 0"]
    assert lines(advice=[advise()]) == ["hold 7 0"]


@pytest.mark.parametrize(
    "job",
    [
        {"comment": None},
        {"state": "FAILED"},
        {"state": "PENDING"},
        {"requeue": False},
        {"partition": "debug"},
        {"submit_time": NOW},
    ],
)
def test_others_are_not_named(job: dict[str, Any]) -> None:
    assert lines(settings={"partitions": ["gpu"]}, **job) == []


def test_a_job_that_was_restarted_too_often_is_not_named() -> None:
    assert lines(settings={"max_restarts_per_day": 1}) == []
