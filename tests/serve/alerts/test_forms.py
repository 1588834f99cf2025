"""What is sent: hostile text is cut and stays text; levels and links are as configured."""

from __future__ import annotations

from typing import Any

import pytest

from advising import ATTEMPT, CREATED, make_advice
from relume.advice import Operation, Scope
from relume.serve.alerts.forms import MAX_SLACK, slack, webhook
from relume.serve.alerts.message import (
    MAX_LINES,
    MAX_TEXT,
    Happened,
    Level,
    Message,
    level_of,
    message_of,
)
from relume.serve.ledger.incidents import follow
from relume.verdict import Domain, Evidence, Kind

HOSTILE = "<!channel> <@U123> <https://x.example|click> & \x1b[31m@here\nsecond line"


def message(happened: Happened = Happened.OPENED, base: str = "", **changes: Any) -> Message:
    advice = make_advice(**changes)
    incident = follow(None, advice, 1)
    return message_of(incident, advice, happened, sequence=1, base=base)


def test_slack_s_form_calls_nobody_and_shows_no_link() -> None:
    said = Evidence("x", "root", HOSTILE, 3, HOSTILE, 5)
    body = slack(message(cause=HOSTILE, evidence=(said,)))
    assert "<" not in body["text"]
    assert "&lt;!channel&gt;" in body["text"]
    assert "\x1b" not in body["text"]
    assert (body["mrkdwn"], body["link_names"], body["parse"]) == (False, False, "none")


def test_long_text_is_cut() -> None:
    many = tuple(Evidence("x", "root", "job.log", line, "x" * 10_000) for line in range(10))
    found = message(evidence=many, cause="y" * 10_000)
    assert len(found.lines) == MAX_LINES
    assert all(len(line) == MAX_TEXT + 1 for line in found.lines)
    assert len(found.title) < 2 * MAX_TEXT
    assert len(slack(found)["text"]) <= MAX_SLACK


def test_a_webhook_s_body_says_all_that_is_known() -> None:
    body = webhook(message(base="https://relume.example/"))
    assert body["attempt"] == ATTEMPT
    assert body["link"] == f"https://relume.example/incidents/{body['incident_id']}"
    assert body["lines"] == ["kernel.log:4 NVRM: Xid 79: lost"]
    assert (body["closed_at"], body["version"], body["level"]) == (None, 1, "critical")
    assert slack(message(base="https://relume.example"))["text"].endswith(body["incident_id"])
    assert webhook(message())["link"] is None


def test_a_title_names_nodes_and_how_it_ended() -> None:
    nodes = tuple(f"n{number}" for number in range(10))
    title = message(operation=Operation.RESTART_EXCLUDING, exclude_nodes=nodes).title
    assert title.endswith(
        "advice: RESTART_EXCLUDING without n0, n1, n2, n3, n4, n5, n6, n7 and 2 more"
    )
    advice = make_advice(operation=Operation.OBSERVE, scope=Scope.CLUSTER)
    over = follow(None, advice, 1)
    assert over.closed_at == CREATED
    found = message_of(over, None, Happened.RESOLVED, sequence=2)
    assert found.title.startswith("over since 2026-")
    assert found.lines == ()


@pytest.mark.parametrize(
    ("changes", "level"),
    [
        ({}, Level.CRITICAL),
        ({"operation": Operation.HOLD}, Level.CRITICAL),
        ({"operation": Operation.OBSERVE}, Level.WARNING),
        ({"operation": Operation.OBSERVE, "kind": Kind.UNKNOWN}, Level.INFO),
        ({"operation": Operation.HOLD, "scope": Scope.CLUSTER}, Level.CRITICAL),
    ],
)
def test_the_level_follows_from_what_is_advised(changes: dict[str, Any], level: Level) -> None:
    assert level_of(follow(None, make_advice(domain=Domain.NETWORK, **changes), 1)) is level
