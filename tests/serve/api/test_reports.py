"""The scoreboard and the list of false alarms over HTTP."""

from __future__ import annotations

from typing import Any

import pytest

from advising import CREATED
from relume.models.worth.outcomes import Label
from serving import Service
from telling import DAY, HANG, alarm, became, ran


def get(service: Service, path: str) -> Any:
    response = service.open.get(path)
    assert response.status_code == 200, response.text
    return response.json()


def test_the_scoreboard_counts_the_last_days(service: Service) -> None:
    ran(service.ledger, 1, -2 * DAY, None)
    became(service.ledger, alarm(service.ledger), Label.FALSE, 120.0)
    board = get(service, "/v1/reports/scoreboard?since=1d")
    [rule] = board["rules"]
    assert (rule["rule"], rule["kind"], rule["false"]) == (HANG, "hang", 1)
    assert rule["precision"]["value"] == 0.0
    assert rule["false_per_job_day"]["low"] < 1.0 < rule["false_per_job_day"]["high"]
    assert board["job_days"] == pytest.approx(1.0)
    assert board["total"]["rule"] is None
    service.clock.advance(3 * 86_400)
    assert get(service, "/v1/reports/scoreboard?since=1d")["rules"] == []
    assert len(get(service, "/v1/reports/scoreboard")["rules"]) == 1


def test_false_alarms_are_listed_with_what_would_have_avoided_them(service: Service) -> None:
    advice = alarm(service.ledger)
    became(service.ledger, advice, Label.FALSE, 120.0)
    [found] = get(service, "/v1/reports/false-positives")["false_positives"]
    assert found["advice"]["advice_id"] == advice.advice_id
    assert found["avoiding"]["value"] == 120.0
    assert found["cost"]["node_hours"] == 0.0
    assert advice.created_at == CREATED


@pytest.mark.parametrize("query", ["since=soon", f"since={'9' * 30}d"])
@pytest.mark.parametrize("report", ["scoreboard", "false-positives"])
def test_a_span_in_another_form_is_refused(service: Service, report: str, query: str) -> None:
    assert service.open.get(f"/v1/reports/{report}?{query}").status_code == 422


def test_a_span_longer_than_the_world_is_no_error(service: Service) -> None:
    assert get(service, "/v1/reports/scoreboard?since=999999w")["rules"] == []
