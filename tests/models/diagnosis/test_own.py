"""Which lines of system logs are about the attempt: its nodes, its time."""

from __future__ import annotations

from dataclasses import replace

import pytest

from making import LOG, make_episode, make_hit, make_signature
from relume.features.progress.assess import ProgressState
from relume.models.diagnosis.episode import Episode, LogEnd, SchedulerFacts
from relume.models.diagnosis.own import MICROSECONDS, ended_well, own_evidence
from relume.models.signatures.hit import Hit
from relume.models.signatures.rule import Implicates, Tier
from relume.reasons import ReasonCode
from relume.verdict import Domain

KERNEL = "kernel.log"
XID = make_signature(
    "xid",
    category="gpu_driver",
    tier=Tier.HARDWARE,
    domain=Domain.HARDWARE,
    implicates=Implicates.PRINTER,
)
DOWN = make_signature("down", category="slurm", tier=Tier.HARDWARE, implicates=Implicates.NAMED)
RAISED = make_signature("raised")
FAILURE = make_hit(RAISED, 99)
HOUR = 3600


def at(seconds: float | None, *, node: str | None = "gpu-a07") -> Hit:
    """Return a kernel's line at a time in seconds, null without a clock."""
    time = None if seconds is None else int(seconds * MICROSECONDS)
    return make_hit(XID, 3, file=KERNEL, stream="kernel", node=node, event_time=time)


def episode_of(*hits: Hit, **changes: object) -> Episode:
    """Return an episode with a job's log and a kernel's."""
    episode = make_episode(*hits, files=(LOG, KERNEL))
    return replace(episode, **changes)  # type: ignore[arg-type]


def kept(episode: Episode) -> int:
    return len(list(own_evidence(episode)[0].all_hits()))


def ending(seconds: float | None) -> dict[str, LogEnd]:
    time = None if seconds is None else int(seconds * MICROSECONDS)
    return {LOG: LogEnd(LOG, "stdout", (), time)}


def window(start: float, end: float, *, nodes: tuple[str, ...] = ()) -> SchedulerFacts:
    """Return the record of a failed job between two times in seconds."""
    times = {"start": int(start * MICROSECONDS), "end": int(end * MICROSECONDS)}
    return SchedulerFacts("FAILED", nodes=nodes, **times)


@pytest.mark.parametrize(
    ("seconds", "count"),
    [(-HOUR, 0), (-30, 0), (-1, 1), (0, 1), (HOUR, 1), (HOUR + 30, 1), (HOUR + 90, 0), (None, 1)],
)
def test_the_window_of_accounting_has_some_slack_behind_and_hardly_any_before(
    seconds: float | None, count: int
) -> None:
    shift = 10 * HOUR
    hit = at(None if seconds is None else seconds + shift)
    assert kept(episode_of(hit, scheduler=window(shift, shift + HOUR))) == count


@pytest.mark.parametrize(
    ("gap", "own", "late", "count"),
    [
        (2.0, (), 500, 1),
        (2.0, (), 700, 0),
        (300.0, (), 5000, 1),
        (300.0, (), 7000, 0),
        (300.0, (FAILURE,), 30, 1),
        (300.0, (FAILURE,), 90, 0),
    ],
)
def test_without_accounting_the_silence_after_the_last_line_counts(
    gap: float, own: tuple[Hit, ...], late: float, count: int
) -> None:
    episode = episode_of(at(HOUR + late), *own, ends=ending(HOUR))
    episode.progress = replace(episode.progress, usual_gap_seconds=gap)
    assert kept(episode) == count + len(own)


def test_a_log_whose_steps_have_no_clock_ends_nobody_knows_when() -> None:
    episode = episode_of(at(9 * HOUR), ends=ending(None))
    episode.progress = replace(episode.progress, last_file=LOG, last_line=3)
    assert kept(episode) == 1


@pytest.mark.parametrize(
    ("node", "count"),
    [("gpu-a07", 1), ("GPU-A08.site.example", 1), ("gpu-z09", 0), (None, 1)],
)
def test_other_nodes_are_other_jobs(node: str | None, count: int) -> None:
    facts = SchedulerFacts("FAILED", nodes=("gpu-a07", "gpu-a08"))
    assert kept(episode_of(at(None, node=node), scheduler=facts)) == count


def test_a_controller_speaks_of_all_nodes() -> None:
    told = [
        make_hit(DOWN, 1, stream="slurmctld", captures={"nodes": nodes}, node="head01")
        for nodes in ("gpu-z[01-04]", "gpu-[a07,z01]")
    ]
    facts = SchedulerFacts("FAILED", nodes=("gpu-a07",))
    episode, [reason] = own_evidence(episode_of(*told, scheduler=facts))
    assert list(episode.all_hits()) == told[1:]
    assert reason.sentence == "set aside 1: on nodes that the attempt did not run on"
    assert (reason.code, reason.count, len(reason.lines)) == (ReasonCode.FOREIGN_NODE, 1, 1)


def test_the_job_s_own_lines_always_count() -> None:
    late = make_hit(RAISED, 3, event_time=9 * HOUR * MICROSECONDS, node="gpu-z09")
    facts = window(0, HOUR, nodes=("gpu-a07",))
    assert kept(episode_of(late, scheduler=facts)) == 1


@pytest.mark.parametrize(
    ("state", "after"),
    [(None, ()), ("CANCELLED", ()), ("COMPLETED", (FAILURE,))],
)
def test_a_good_end_is_one_by_accounting_or_by_the_last_words(
    state: str | None, after: tuple[Hit, ...]
) -> None:
    assert ended_well(ended(state, after))


@pytest.mark.parametrize(("state", "after"), [("FAILED", ()), (None, (FAILURE,))])
def test_other_ends_are_not_good(state: str | None, after: tuple[Hit, ...]) -> None:
    assert not ended_well(ended(state, after))


def ended(state: str | None, after: tuple[Hit, ...]) -> Episode:
    """Return an episode that says its end, with hits after it."""
    episode = make_episode(*after, clean_end=50)
    episode.progress = replace(episode.progress, state=ProgressState.FINISHED)
    episode.scheduler = SchedulerFacts(state)
    return episode


def test_completed_with_an_exit_code_is_no_good_end() -> None:
    episode = make_episode()
    episode.scheduler = SchedulerFacts("COMPLETED", exit_code=1)
    assert not ended_well(episode)
