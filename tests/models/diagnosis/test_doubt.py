"""What makes a failure doubtful, and what doesn't."""

from __future__ import annotations

from dataclasses import replace

import pytest

from making import LOG, make_episode, make_hit, make_signature
from relume.events import LogLine
from relume.features.progress.assess import ProgressState
from relume.models.diagnosis.consequences import is_quoted
from relume.models.diagnosis.diagnose import diagnose
from relume.models.diagnosis.episode import Episode, LogEnd, SchedulerFacts
from relume.models.signatures.hit import Hit
from relume.models.signatures.rule import Exclude, Implicates, Tier
from relume.verdict import Domain, Kind

RAISED = make_signature("raised")
LOST = make_signature(
    "lost",
    category="gpu_driver",
    tier=Tier.HARDWARE,
    domain=Domain.HARDWARE,
    implicates=Implicates.PRINTER,
    exclude=Exclude.YES,
)
HANG = make_signature("hang", tier=Tier.TIMEOUT, kind=Kind.HANG, domain=Domain.UNKNOWN)


def in_state(episode: Episode, state: ProgressState) -> Episode:
    return replace(episode, progress=replace(episode.progress, state=state))


@pytest.mark.parametrize("state", ["RUNNING", "SUSPENDED"])
def test_a_job_that_is_there_may_hang_but_did_not_crash(state: str) -> None:
    for signature, kind in ((RAISED, Kind.UNKNOWN), (HANG, Kind.HANG)):
        episode = make_episode(make_hit(signature, 3, rank=1))
        episode.scheduler = SchedulerFacts(state)
        assert diagnose(episode).kind is kind


def test_a_slow_run_may_end_well() -> None:
    episode = in_state(make_episode(), ProgressState.SLOWING)
    episode.scheduler = SchedulerFacts("COMPLETED")
    assert diagnose(episode).kind is Kind.STRAGGLER


def test_a_hang_is_none_where_accounting_says_completed() -> None:
    episode = in_state(make_episode(), ProgressState.STOPPED)
    assert diagnose(episode).kind is Kind.HANG
    episode.scheduler = SchedulerFacts("COMPLETED")
    assert diagnose(episode).kind is Kind.UNKNOWN


@pytest.mark.parametrize(("steps", "kind"), [((), Kind.CRASH), ((12,), Kind.UNKNOWN)])
def test_a_step_after_lost_hardware_makes_it_doubtful(steps: tuple[int, ...], kind: Kind) -> None:
    hit = make_hit(replace(LOST, category="cuda"), 9, node="gpu-a01")
    verdict = diagnose(make_episode(hit, advances=(1, 2, 3, *steps)))
    assert verdict.kind is kind
    assert verdict.exclude_nodes == (() if steps else ("gpu-a01",))


def test_an_end_that_is_lost_leaves_a_failure_less_sure() -> None:
    episode = make_episode(make_hit(RAISED, 9))
    sure = diagnose(episode).confidence
    verdict = diagnose(replace(episode, lost_ends=(LOG,)))
    assert verdict.confidence == pytest.approx(0.7 * sure, abs=1e-3)
    assert any("end of a log" in missing for missing in verdict.missing_evidence)


def test_the_lost_end_of_a_kernel_log_is_no_doubt_about_the_job() -> None:
    episode = make_episode(make_hit(RAISED, 9), files=(LOG, "kernel.log"))
    ends = {"kernel.log": LogEnd("kernel.log", "kernel")}
    doubtful = replace(episode, lost_ends=("kernel.log",), ends=ends)
    assert diagnose(doubtful).confidence == diagnose(episode).confidence


def quoting(prefix: str, message: str, **where: object) -> Hit:
    line = LogLine(prefix + message, 0, 0, LOG, len(prefix), **where)  # type: ignore[arg-type]
    return Hit(LOST, line, {})


@pytest.mark.parametrize(
    ("prefix", "message", "where"),
    [
        ("gpu-a07: ", "NVRM: Xid (PCI:0000:41:00): 79", {"node": "gpu-a07"}),
        ("Mar  2 03:00:00 gpu-a07 app[9]: ", "NVRM: Xid 79", {"node": "gpu-a07"}),
        ("2026-03-02 03:00:00 ", "monitor says NVRM: Xid 79", {}),
        ("[rank2]: ", "[ 123.000001] NVRM: Xid 79", {"rank": 2}),
    ],
)
def test_what_a_process_repeats_is_quoted(
    prefix: str, message: str, where: dict[str, object]
) -> None:
    assert is_quoted(quoting(prefix, message, **where))


@pytest.mark.parametrize(
    ("prefix", "where"),
    [
        ("", {}),
        ("[12345.678901] ", {}),
        ("gpu-a07: [12345.678901] ", {"node": "gpu-a07"}),
        ("[Mon Mar  2 03:00:00 2026] ", {}),
        ("Mar  2 03:00:00 gpu-a07 kernel: ", {"node": "gpu-a07"}),
        ("2026-03-02 03:00:00 ", {}),
        ("gpu-a07: ", {"node": "gpu-a07", "stream": "kernel"}),
    ],
)
def test_what_a_kernel_prints_is_not(prefix: str, where: dict[str, object]) -> None:
    assert not is_quoted(quoting(prefix, "NVRM: Xid (PCI:0000:41:00): 79", **where))


def going_on(*hits: Hit, seconds: int, lines: int, state: str | None = None) -> Episode:
    """Return an episode whose log has `lines` more after line 9, `seconds` after its hits."""
    episode = make_episode(*hits)
    after = tuple((number, "GET /weights 200") for number in range(10, 10 + lines))
    episode.ends[LOG] = LogEnd(LOG, "stdout", after, time=seconds * 1_000_000)
    episode.scheduler = SchedulerFacts(state)
    return episode


VAGUE = make_signature("vague", specificity=3, domain=Domain.UNKNOWN)


@pytest.mark.parametrize(
    ("seconds", "lines", "kind"),
    [(600, 40, Kind.UNKNOWN), (10, 40, Kind.CRASH), (600, 4, Kind.CRASH)],
)
def test_a_log_that_goes_on_outlives_a_line_that_names_no_failure(
    seconds: int, lines: int, kind: Kind
) -> None:
    vague = make_hit(VAGUE, 9, event_time=0)
    assert diagnose(going_on(vague, seconds=seconds, lines=lines)).kind is kind


def test_what_names_a_failure_is_not_outlived() -> None:
    vague, raised = make_hit(VAGUE, 9, event_time=0), make_hit(RAISED, 8, event_time=0)
    assert diagnose(going_on(raised, seconds=600, lines=40)).kind is Kind.CRASH
    assert diagnose(going_on(raised, vague, seconds=600, lines=40)).kind is Kind.CRASH
    assert diagnose(going_on(vague, seconds=600, lines=40, state="FAILED")).kind is Kind.CRASH


def test_without_clocks_nobody_knows_how_long_a_log_went_on() -> None:
    episode = going_on(make_hit(VAGUE, 9), seconds=600, lines=40)
    assert diagnose(episode).kind is Kind.CRASH
