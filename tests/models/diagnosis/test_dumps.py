"""Dumps and logs together: who is named, what stays the log's, and both where they disagree."""

from __future__ import annotations

from dataclasses import replace

import pytest

from making import make_episode, make_hit, make_signature, nothing_seen
from recorders import SECOND, START, dump, group, work
from relume.dumps import Dumps, RankDump, RasCommunicator, RasPlace, RasReport
from relume.events import LogLine
from relume.models.collectives.evidence import DumpEvidence, judge_dumps
from relume.models.diagnosis.builder import EpisodeBuilder
from relume.models.diagnosis.diagnose import diagnose
from relume.models.diagnosis.episode import Episode, SchedulerFacts
from relume.models.signatures.rule import Exclude, Implicates, Role, Tier
from relume.reasons import ReasonCode
from relume.verdict import Domain, Kind, Locator, Retry, Verdict

DONE = tuple(work(n, "completed") for n in range(1, 7))
TIMEOUT = make_signature(
    "timeout",
    tier=Tier.TIMEOUT,
    kind=Kind.HANG,
    domain=Domain.UNKNOWN,
    retry=Retry.UNCLEAR,
    implicates=Implicates.NOBODY,
)
XID = make_signature(
    "xid",
    tier=Tier.HARDWARE,
    domain=Domain.HARDWARE,
    retry=Retry.YES,
    category="gpu_driver",
    exclude=Exclude.YES,
    implicates=Implicates.PRINTER,
)
RAISED = make_signature("raised", domain=Domain.UNKNOWN, implicates=Implicates.PRINTER)
VICTIM = make_signature("peer", tier=Tier.TEARDOWN, role=Role.CASCADE, domain=Domain.UNKNOWN)


def absent(rank: int) -> tuple[RankDump, ...]:
    """Return the dumps of four ranks, of which one did not come."""
    return tuple(dump(r, *DONE, *(() if r == rank else (work(7),))) for r in range(4))


def all_there() -> tuple[RankDump, ...]:
    return tuple(dump(r, *DONE, work(7, "started")) for r in range(4))


def joined(episode: Episode, *ranks: RankDump, **more: object) -> Verdict:
    evidence = judge_dumps(Dumps(ranks, **more))  # type: ignore[arg-type]
    return diagnose(replace(episode, dumps=evidence))


def codes(verdict: Verdict) -> set[ReasonCode]:
    return {reason.code for reason in verdict.reasons}


def test_dumps_alone_are_a_hang() -> None:
    verdict = joined(make_episode(files=()), *absent(2))
    assert (verdict.kind, verdict.cause) == (Kind.HANG, "rank_never_joined")
    assert verdict.culprit == Locator(rank=2)
    assert verdict.exclude_nodes == ()
    assert verdict.stuck is not None
    assert (verdict.stuck.sequence, verdict.stuck.operation) == (7, "nccl:all_reduce")
    assert verdict.stuck.waiting == (0, 1, 3)
    assert [m.where.rank for m in verdict.mentions] == [2]


def test_a_mismatch_stops_the_job_and_excludes_nobody() -> None:
    wrong = [
        dump(r, *DONE, work(7, operation="nccl:broadcast" if r == 1 else "nccl:all_reduce"))
        for r in range(4)
    ]
    verdict = joined(make_episode(), *wrong)
    assert (verdict.cause, verdict.domain) == ("collective_mismatch", Domain.WORKLOAD)
    assert (verdict.operation, verdict.exclude_nodes) == ("STOP", ())
    assert verdict.culprit.rank == 1


def test_a_timeout_gets_its_culprit_from_the_dumps() -> None:
    log = make_episode(*(make_hit(TIMEOUT, r, rank=r) for r in (0, 1, 3)))
    verdict = joined(log, *absent(2))
    assert (verdict.kind, verdict.rule) == (Kind.HANG, "timeout")
    assert verdict.culprit.rank == 2
    assert ReasonCode.DUMPS in codes(verdict)


def test_a_timeout_where_all_came_names_nobody_whatever_the_log_guesses() -> None:
    """Three of four ranks time out: the log alone would name the silent one."""
    hits = [make_hit(TIMEOUT, r, rank=r, captures={"seq": "7"}) for r in (0, 1, 3)]
    log = make_episode(*hits)
    verdict = joined(log, *all_there())
    assert verdict.culprit == Locator()
    assert verdict.kind is Kind.HANG


def test_a_cause_that_the_log_tells_stands_and_both_are_said_where_they_disagree() -> None:
    log = make_episode(make_hit(RAISED, 3, rank=0, node="gpu-a01"))
    verdict = joined(log, *absent(2))
    assert (verdict.kind, verdict.cause, verdict.culprit.rank) == (Kind.CRASH, "raised", 0)
    [said] = [r for r in verdict.reasons if r.code is ReasonCode.DUMPS_DIFFER]
    assert said.sentence == (
        "dumps and log disagree: the dumps point to rank 2, the log to rank 0, node gpu-a01"
    )
    agreed = joined(make_episode(make_hit(RAISED, 3, rank=2, node="gpu-a01")), *absent(2))
    assert ReasonCode.DUMPS_AGREE in codes(agreed)


def test_a_log_of_which_nothing_is_sure_leaves_it_to_the_dumps() -> None:
    """A rank only quotes the kernel: by itself that is not enough."""
    quoted = make_hit(XID, 3, rank=0, node="gpu-a01")
    assert diagnose(make_episode(quoted)).kind is Kind.UNKNOWN
    verdict = joined(make_episode(quoted), *absent(2))
    assert (verdict.kind, verdict.culprit.rank, verdict.exclude_nodes) == (Kind.HANG, 2, ())


def test_where_the_log_shows_victims_only_the_dumps_say_what_happened() -> None:
    verdict = joined(make_episode(make_hit(VICTIM, 3, rank=0)), *absent(2))
    assert (verdict.kind, verdict.culprit.rank) == (Kind.HANG, 2)


def test_the_node_of_a_rank_comes_from_the_logs_or_the_dump_but_is_never_excluded() -> None:
    dumps = list(absent(2))
    dumps[2] = replace(dumps[2], node="gpu-a07")
    verdict = joined(make_episode(), *dumps)
    assert verdict.culprit == Locator(node="gpu-a07", rank=2)
    assert verdict.exclude_nodes == ()


def test_a_dump_names_no_node_that_is_not_the_attempts() -> None:
    dumps = list(absent(2))
    dumps[2] = replace(dumps[2], node="victim-01")
    episode = replace(make_episode(), scheduler=SchedulerFacts(nodes=("gpu-a01", "gpu-a02")))
    assert joined(episode, *dumps).culprit == Locator(rank=2)


@pytest.mark.parametrize("seconds", [30, 300])
def test_a_job_that_went_on_was_not_held_up(seconds: int) -> None:
    builder = EpisodeBuilder("attempt", ("job.log",))
    builder.note_form("stdout")
    builder.note_advance(
        LogLine("step", 1, 0, "job.log", event_time=START + (7 + seconds) * SECOND)
    )
    verdict = joined(builder.build(nothing_seen()), *absent(2))
    went_on = seconds > 60
    assert (ReasonCode.DUMPS_OLD in codes(verdict)) is went_on
    assert (verdict.kind is Kind.HANG) is not went_on


def test_a_job_that_completed_was_not_held_up() -> None:
    episode = replace(make_episode(), scheduler=SchedulerFacts(state="COMPLETED"))
    assert joined(episode, *absent(2)).kind is not Kind.HANG


def test_ras_names_somebody_where_the_recorders_cannot_tell() -> None:
    gone = RasPlace(rank=3, node="10.0.0.4", gpu="1")
    report = RasReport(
        file="ras", communicators=(RasCommunicator(name="a", size=4, unresponsive=(gone,)),)
    )
    verdict = joined(make_episode(), *all_there(), ras=(report,))
    assert (verdict.culprit.rank, verdict.culprit.node) == (3, "10.0.0.4")
    assert ReasonCode.RAS in codes(verdict)
    alone = joined(make_episode(), ras=(report,))
    assert (alone.kind, alone.culprit.rank) == (Kind.HANG, 3)


def test_refused_dumps_are_told_and_change_nothing() -> None:
    evidence = DumpEvidence(refused=("dump x is refused; found a pickle",))
    plain, told = diagnose(make_episode()), diagnose(replace(make_episode(), dumps=evidence))
    assert (told.kind, told.culprit) == (plain.kind, plain.culprit)
    assert set(told.why) == {*plain.why, "dump x is refused; found a pickle"}


def test_dumps_with_nothing_open_say_so() -> None:
    verdict = joined(make_episode(), dump(0, *DONE), groups_of_one())
    assert verdict.kind is Kind.UNKNOWN
    assert "dumps: nothing is open in the dumps of ranks 0-1" in verdict.why


def groups_of_one() -> RankDump:
    return dump(1, *DONE, groups=[group((0, 1))])
