"""Answers are as the OpenAPI document says, whatever is asked (by Schemathesis, without a server).

Bench `fuzz` asks a real service, and for longer.
"""

from __future__ import annotations

import pytest
from schemathesis import openapi
from schemathesis.config import SchemathesisConfig
from schemathesis.engine import from_schema
from schemathesis.engine.events import NonFatalError, ScenarioFinished

from advising import make_advice
from relume.benchmarks.fuzz.described import CHECKS, ENDLESS
from serving import OTHERS, TOKEN, Service

ROLES = {"control": TOKEN, **{role.value: those[0] for role, those in OTHERS.items()}}
ON, OFF = {"enabled": True}, {"enabled": False}


def configuration(token: str, seed: int) -> SchemathesisConfig:
    """Few requests, and the same ones each time."""
    return SchemathesisConfig.from_dict(
        {
            "seed": seed,
            "suppress-health-check": ["all"],  # a machine that is slow is no finding
            "headers": {"Authorization": f"Bearer {token}"},
            "continue-on-failure": True,
            "phases": {"stateful": OFF, "coverage": OFF},
            "generation": {"max-examples": 4, "database": "none", "no-shrink": True},
            "checks": {**OFF, **dict.fromkeys((*CHECKS, "not_a_server_error"), ON)},
            "dictionaries": {"advice": {"values": [make_advice().advice_id]}},
            "parameters": {"path.advice_id": {"dictionary": "advice", "probability": 0.5}},
        }
    )


@pytest.mark.parametrize("role", ["control", "read", "ingest"])
def test_answers_are_as_the_document_says(service: Service, role: str) -> None:
    service.ledger.put_advice(make_advice())
    config = configuration(ROLES[role], seed=len(role))
    schema = openapi.from_asgi("/openapi.json", service.app, config=config)
    # What is pushed waits for a runner, which isn't there.
    asked = schema.exclude(tag="ingest").exclude(path=ENDLESS)
    failures, labels = [], set()
    for event in from_schema(asked).execute():
        assert not isinstance(event, NonFatalError), event.info
        if isinstance(event, ScenarioFinished):
            labels.add(event.recorder.label)
            checks = [one for those in event.recorder.checks.values() for one in those]
            failures += [(event.recorder.label, one) for one in checks if one.failure_info]
    assert failures == []
    assert "PUT /v1/advice/{advice_id}/reconciliation" in labels
