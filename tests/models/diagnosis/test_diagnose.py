"""From an episode to the whole verdict: abstaining, accounting, bounds, what is missing."""

from __future__ import annotations

from dataclasses import replace

import pytest

from making import LOG, make_episode, make_hit, make_signature
from relume.features.progress.assess import ProgressState
from relume.features.progress.numerics import Trouble
from relume.models.diagnosis.diagnose import diagnose
from relume.models.diagnosis.episode import Episode, SchedulerFacts
from relume.models.diagnosis.missing import JOB_LOG, KERNEL_LOG
from relume.models.diagnosis.settings import DiagnosisSettings
from relume.models.signatures.rule import Exclude, Implicates, Role, Tier
from relume.verdict import Domain, Kind, Retry

EXCEPTION = make_signature("exception", implicates=Implicates.PRINTER)
CASCADE = make_signature("cascade", role=Role.CASCADE, tier=Tier.FABRIC, domain=Domain.UNKNOWN)
LOST = make_signature(
    "lost",
    tier=Tier.HARDWARE,
    domain=Domain.HARDWARE,
    implicates=Implicates.PRINTER,
    exclude=Exclude.YES,
    retry=Retry.YES,
)


def in_state(state: str, **changes: object) -> Episode:
    """Return an episode without hits whose accounting says `state`."""
    episode = make_episode()
    episode.scheduler = SchedulerFacts(state)
    for name, value in changes.items():
        setattr(episode, name, value)
    return episode


@pytest.mark.parametrize(
    ("state", "kind", "cause", "domain", "operation"),
    [
        ("FAILED", Kind.CRASH, None, Domain.UNKNOWN, "RESTART"),
        ("NODE_FAIL", Kind.CRASH, None, Domain.HARDWARE, "RESTART"),
        ("OUT_OF_MEMORY", Kind.CRASH, None, Domain.WORKLOAD, "RESTART"),
        ("BOOT_FAIL", Kind.CRASH, "node_boot_failure", Domain.HARDWARE, "RESTART"),
        ("TIMEOUT", Kind.CRASH, "time_limit", Domain.SCHEDULER, "OBSERVE"),
        ("DEADLINE", Kind.CRASH, "deadline", Domain.SCHEDULER, "OBSERVE"),
        ("PREEMPTED", Kind.CRASH, "preempted", Domain.SCHEDULER, "OBSERVE"),
        ("CANCELLED", Kind.CRASH, "cancelled", Domain.SCHEDULER, "OBSERVE"),
        ("COMPLETED", Kind.BENIGN, None, Domain.UNKNOWN, "OBSERVE"),
        ("RUNNING", Kind.UNKNOWN, None, Domain.UNKNOWN, "OBSERVE"),
        ("PENDING", Kind.UNKNOWN, None, Domain.UNKNOWN, "OBSERVE"),
    ],
)
def test_a_record_without_any_log_names_no_cause_and_the_log_is_missing(
    state: str, kind: Kind, cause: str | None, domain: Domain, operation: str
) -> None:
    verdict = diagnose(in_state(state, forms=frozenset(), files=()))
    assert (verdict.kind, verdict.cause, verdict.domain) == (kind, cause, domain)
    assert (verdict.operation, verdict.exclude_nodes) == (operation, ())
    assert not verdict.culprit
    assert verdict.missing_evidence[0] == JOB_LOG
    assert (KERNEL_LOG in verdict.missing_evidence) == (kind is Kind.CRASH)
    assert (verdict.confidence < 0.7) == (kind is Kind.CRASH and cause is None)


def test_a_kernel_that_tells_why_leaves_the_log_missing() -> None:
    episode = make_episode(make_hit(LOST, 3, node="gpu-a01", stream="kernel"))
    episode.scheduler = SchedulerFacts("FAILED", nodes=("gpu-a01",))
    episode.forms = frozenset({"kernel"})
    verdict = diagnose(episode)
    assert (verdict.kind, verdict.rule) == (Kind.CRASH, "lost")
    assert JOB_LOG in verdict.missing_evidence
    assert KERNEL_LOG not in verdict.missing_evidence


def test_a_verdict_below_the_threshold_abstains_and_accuses_nobody() -> None:
    episode = make_episode(make_hit(LOST, 3, node="gpu-a01"))
    sure = diagnose(episode)
    assert (sure.kind, sure.operation) == (Kind.CRASH, "RESTART_EXCLUDING")
    assert sure.exclude_nodes == ("gpu-a01",)
    unsure = diagnose(episode, DiagnosisSettings(confidence_threshold=0.999))
    assert (unsure.kind, unsure.domain, unsure.operation) == (
        Kind.UNKNOWN,
        Domain.UNKNOWN,
        "OBSERVE",
    )
    assert not unsure.culprit
    assert unsure.exclude_nodes == ()
    assert "abstained" in unsure.why[-1]
    assert unsure.root_line == 3


@pytest.mark.parametrize(
    ("state", "kind", "cause"),
    [
        ("NODE_FAIL", Kind.CRASH, "node_failure"),
        ("FAILED", Kind.CRASH, "unknown_failure"),
        ("RUNNING", Kind.UNKNOWN, None),
        ("COMPLETED", Kind.UNKNOWN, None),
    ],
)
def test_accounting_speaks_where_the_log_is_silent(
    state: str, kind: Kind, cause: str | None
) -> None:
    verdict = diagnose(in_state(state))
    assert (verdict.kind, verdict.cause) == (kind, cause)


def test_decisive_accounting_outranks_victims_but_no_cause() -> None:
    cascade, cause = make_episode(make_hit(CASCADE, 1)), make_episode(make_hit(EXCEPTION, 1))
    for episode in (cascade, cause):
        episode.scheduler = SchedulerFacts("NODE_FAIL")
    assert diagnose(cascade).cause == "node_failure"
    assert diagnose(cause).cause == "exception"


def test_success_in_accounting_halves_the_confidence_of_a_crash() -> None:
    episode = make_episode(make_hit(EXCEPTION, 1))
    doubted = make_episode(make_hit(EXCEPTION, 1))
    doubted.scheduler = SchedulerFacts("COMPLETED")
    sure = diagnose(episode).confidence
    assert diagnose(doubted).confidence == pytest.approx(sure / 2, abs=0.001)


def test_victims_and_unspecific_words_are_believed_less() -> None:
    generic = make_signature("generic", specificity=5)
    sure = diagnose(make_episode(make_hit(EXCEPTION, 1))).confidence
    assert diagnose(make_episode(make_hit(generic, 1))).confidence < sure
    assert diagnose(make_episode(make_hit(CASCADE, 1))).confidence < sure


@pytest.mark.parametrize(
    ("state", "kind", "line"),
    [
        (ProgressState.SLOWING, Kind.STRAGGLER, 7),
        (ProgressState.IRREGULAR, Kind.STRAGGLER, 7),
        (ProgressState.DATA_BOUND, Kind.STRAGGLER, 7),
        (ProgressState.STOPPED, Kind.HANG, 9),
        (ProgressState.ADVANCING, Kind.BENIGN, None),
        (ProgressState.FINISHED, Kind.BENIGN, None),
        (ProgressState.NONE, Kind.UNKNOWN, None),
        (ProgressState.FRESH_START, Kind.UNKNOWN, None),
    ],
)
def test_progress_decides_where_no_line_tells_of_a_failure(
    state: ProgressState, kind: Kind, line: int | None
) -> None:
    episode = make_episode()
    episode.progress = replace(
        episode.progress, state=state, slow_line=7, slow_file=LOG, last_line=9, last_file=LOG
    )
    verdict = diagnose(episode)
    assert (verdict.kind, verdict.root_line) == (kind, line)
    assert verdict.why


def test_steps_with_a_loss_that_is_no_number_are_numeric() -> None:
    episode = make_episode()
    episode.progress = replace(
        episode.progress,
        state=ProgressState.ADVANCING,
        trouble=Trouble.NOT_FINITE,
        trouble_line=4,
        trouble_file=LOG,
    )
    verdict = diagnose(episode)
    assert (verdict.kind, verdict.root_line, verdict.operation) == (Kind.NUMERIC, 4, "OBSERVE")


def test_evidence_and_mentions_are_bounded_and_the_root_comes_first() -> None:
    warning = make_signature("warning", role=Role.WARNING)
    hits = [make_hit(warning, line, node=f"gpu-a{line:02d}") for line in range(40)]
    verdict = diagnose(
        make_episode(*hits, make_hit(EXCEPTION, 50, rank=3)),
        DiagnosisSettings(max_evidence=5, max_mentions=7),
    )
    assert len(verdict.evidence) == 5
    assert verdict.evidence[0].line == 50
    assert len(verdict.mentions) == 7


def test_what_would_have_helped_is_named_unless_it_was_given() -> None:
    timeout = make_signature("timeout", tier=Tier.TIMEOUT, kind=Kind.HANG, domain=Domain.UNKNOWN)
    episode = make_episode(make_hit(timeout, 1, rank=0))
    assert any("kernel log" in source for source in diagnose(episode).missing_evidence)
    episode.forms = frozenset({"kernel"})
    missing = diagnose(episode).missing_evidence
    assert missing
    assert not any("kernel log" in source for source in missing)
    assert any("scheduler record" in source for source in diagnose(make_episode()).missing_evidence)
