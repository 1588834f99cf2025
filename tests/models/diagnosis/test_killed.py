"""A death by signal 9 needs a witness."""

from __future__ import annotations

import pytest

from making import make_episode, make_hit, make_signature
from relume.models.diagnosis.diagnose import diagnose
from relume.models.signatures.rule import Implicates, Role, Tier
from relume.reasons import ReasonCode
from relume.verdict import Domain, Retry

KILL = make_signature(
    "kill",
    category="rendezvous",
    role=Role.POINTER,
    tier=Tier.POINTER,
    domain=Domain.WORKLOAD,
    cause="process_crash",
    implicates=Implicates.NAMED,
)
LIMIT = make_signature(
    "limit", category="slurm", role=Role.CASCADE, tier=Tier.TEARDOWN, domain=Domain.SCHEDULER
)
OOM = make_signature(
    "oom",
    category="host",
    role=Role.CONFIRMATION,
    tier=Tier.DECISIVE,
    cause="host_out_of_memory",
)


@pytest.mark.parametrize("captures", [{"exit_code": "-9"}, {"exit_code": "137"}, {"signal": "9"}])
def test_without_a_witness_it_stays_unexplained(captures: dict[str, str]) -> None:
    verdict = diagnose(make_episode(make_hit(KILL, 3, captures=captures | {"rank": "5"})))
    assert (verdict.cause, verdict.domain) == ("killed_unexplained", Domain.UNKNOWN)
    assert verdict.retry is Retry.UNCLEAR
    assert verdict.culprit.rank == 5
    assert ReasonCode.KILL_UNWITNESSED in {reason.code for reason in verdict.reasons}
    assert any("oom_kill" in source for source in verdict.missing_evidence)


def test_another_signal_needs_none() -> None:
    verdict = diagnose(make_episode(make_hit(KILL, 3, captures={"exit_code": "-11"})))
    assert verdict.cause == "process_crash"


def test_slurm_is_a_witness() -> None:
    kill = make_hit(KILL, 3, captures={"exit_code": "-9"})
    verdict = diagnose(make_episode(make_hit(LIMIT, 1), kill))
    [reason] = [r for r in verdict.reasons if r.code is ReasonCode.KILL_WITNESSED]
    assert verdict.cause == "limit"
    assert reason.lines[0].by is not None
    assert reason.lines[0].by.rule == "limit"


def test_the_oom_killer_is_the_cause_itself() -> None:
    kill = make_hit(KILL, 3, captures={"exit_code": "-9"})
    verdict = diagnose(make_episode(kill, make_hit(OOM, 9)))
    assert verdict.cause == "host_out_of_memory"
