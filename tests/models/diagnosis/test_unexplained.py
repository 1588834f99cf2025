"""Which verdicts leave open what happened."""

from __future__ import annotations

from dataclasses import replace

import pytest

from making import make_signature
from relume.models.diagnosis.unexplained import is_unexplained
from relume.models.signatures.rule import Role, Signature, Tier
from relume.verdict import Domain, Kind, Locator, Retry, Verdict

CRASH = Verdict(
    attempt="lab/7@0.0",
    kind=Kind.CRASH,
    cause="something",
    domain=Domain.WORKLOAD,
    root_line=3,
    root_file="job.log",
    culprit=Locator(),
    retry=Retry.NO,
    operation="STOP",
    confidence=0.9,
)


@pytest.mark.parametrize(
    ("rule", "expected"),
    [
        (make_signature("known"), False),
        (make_signature("exit_code", tier=Tier.POINTER, role=Role.POINTER), True),
        (make_signature("victim", role=Role.CASCADE, tier=Tier.FABRIC), True),
        (make_signature("some_fatal_line", specificity=3, domain=Domain.UNKNOWN), True),
        (make_signature("user_exception", specificity=5, domain=Domain.WORKLOAD), False),
    ],
    ids=lambda value: value.id if isinstance(value, Signature) else "",
)
def test_a_crash_is_unexplained_if_its_rule_says_no_more_than_that(
    rule: Signature, *, expected: bool
) -> None:
    assert is_unexplained(CRASH, rule) is expected


def test_what_the_scheduler_decided_is_explained_whatever_its_rule_says() -> None:
    rule = make_signature("cancelled", tier=Tier.TEARDOWN, domain=Domain.SCHEDULER)
    assert not is_unexplained(replace(CRASH, domain=Domain.SCHEDULER), rule)


@pytest.mark.parametrize(
    ("kind", "domain", "expected"),
    [
        (Kind.UNKNOWN, Domain.UNKNOWN, True),
        (Kind.CRASH, Domain.UNKNOWN, True),
        (Kind.HANG, Domain.UNKNOWN, True),
        (Kind.CRASH, Domain.SCHEDULER, False),
        (Kind.CRASH, Domain.HARDWARE, False),
        (Kind.STRAGGLER, Domain.UNKNOWN, False),
        (Kind.NUMERIC, Domain.WORKLOAD, False),
        (Kind.BENIGN, Domain.UNKNOWN, False),
    ],
)
def test_without_a_rule_the_domain_tells(kind: Kind, domain: Domain, *, expected: bool) -> None:
    assert is_unexplained(replace(CRASH, kind=kind, domain=domain, rule=None), None) is expected
