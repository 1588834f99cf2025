"""What becomes of Advice: incidents that end, alarms that label themselves; the same in a replay."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from clusters import MINUTE, Cluster, Job, analyzer, at
from living import Live
from relume.advice import Mode
from relume.models.worth.outcomes import Label
from relume.serve.backtest.replay import ticked
from relume.serve.ledger import Ledger, sqlite_url
from relume.serve.live.aftermath import OVER, WENT_ON
from relume.serve.live.judge import Judge
from relume.verdict import Health

SILENT = 300
"""When the job of these stories makes its last step."""
HOUR = 60 * MINUTE
HELD = "JobHeldAdmin"


def told(cluster: Cluster, folder: Path, skips: range = range(0)) -> Ledger:
    """Judge all of a cluster and write what it leads to; no ticks in the seconds of `skips`."""
    ledger = Ledger.open(sqlite_url(folder / "ledger.db"))
    judge = Judge(analyzer(), cluster.settings)
    missed = {at(second) for second in skips}
    for landing in ticked(cluster.landings(), judge, "lab"):
        if getattr(landing, "event_time", None) in missed:
            continue
        for one in (*judge.take(landing), *judge.told):
            ledger.write(one)
    return ledger


def silent_job(cluster: Cluster) -> Job:
    return cluster.job("gpu-a01").start(1).train(5, SILENT, 5)


def goes_on(job: Job, begin: int) -> None:
    job.train(begin, begin + 60, 5).end(begin + 70, "COMPLETED")


def unread(job: Job) -> None:
    job.cluster.land(900, job.health(900, Health.UNHEALTHY, "gone"))
    job.cluster.land(910, job.health(910, Health.HEALTHY, None))
    job.end(1000)


def outcomes(ledger: Ledger) -> list[tuple[Label, str]]:
    return [(one.label, one.reason) for one in ledger.outcomes()]


@pytest.mark.parametrize(
    ("story", "label", "words"),
    [
        (lambda job: goes_on(job, 900), Label.FALSE, "within 10 minutes"),
        (lambda job: goes_on(job, 2000), Label.UNLABELLED, "after more than 10"),
        (lambda job: job.end(1000), Label.TRUE, "died by itself"),
        (lambda job: job.end(SILENT + 2 * HOUR, "CANCELLED"), Label.TRUE, "another hour"),
        (lambda job: job.end(1000, "CANCELLED"), Label.UNLABELLED, "CANCELLED"),
        (lambda job: job.end(1000, "REQUEUED", reason=HELD), Label.UNLABELLED, "somebody acted"),
        (unread, Label.UNLABELLED, "nobody could look"),
    ],
    ids=["goes on", "goes on late", "dies", "stays", "is cancelled", "is held", "is not read"],
)
def test_an_alarm_about_a_hang_labels_itself(
    tmp_path: Path, story: Callable[[Job], Any], label: Label, words: str
) -> None:
    cluster = Cluster(mode=Mode.MONITOR)
    story(silent_job(cluster))
    with told(cluster, tmp_path) as ledger:
        [(found, reason)] = outcomes(ledger)
    assert (found, words in reason) == (label, True), reason


def test_a_false_alarm_tells_how_long_the_silence_was_in_the_end(tmp_path: Path) -> None:
    cluster = Cluster(mode=Mode.MONITOR)
    goes_on(silent_job(cluster), 900)
    with told(cluster, tmp_path) as ledger:
        [outcome] = ledger.outcomes()
        advice = ledger.get(outcome.advice_id)
    assert advice is not None
    assert advice.measured is not None
    assert advice.measured.since is not None
    assert outcome.silent_seconds == (at(900) - advice.measured.since) / 1e6
    assert advice.measured.value < outcome.silent_seconds
    assert advice.measured.setting == "hang.false_alarms_per_job_day"


def test_what_was_acted_on_and_crashes_have_no_outcome(tmp_path: Path) -> None:
    cluster = Cluster(mode=Mode.ACT)
    silent_job(cluster).end(1000)
    cluster.job("gpu-a02").start(1).train(5, 100).say(101, "ValueError: shapes").end(102)
    with told(cluster, tmp_path) as ledger:
        assert len(ledger.listed()) > 2
        assert outcomes(ledger) == []
        assert {one.ending for one in ledger.incidents()} == {OVER}


def test_a_time_in_which_nobody_looked_proves_no_hang(tmp_path: Path) -> None:
    cluster = Cluster(mode=Mode.MONITOR)
    silent_job(cluster).end(SILENT + 2 * HOUR, "CANCELLED")
    with told(cluster, tmp_path, skips=range(1000, 1030)) as ledger:
        assert outcomes(ledger) == [(Label.UNLABELLED, "nobody could look all the time")]


def test_a_mere_suspicion_is_over_when_steps_come_again(tmp_path: Path) -> None:
    cluster = Cluster(mode=Mode.MONITOR)
    goes_on(silent_job(cluster), SILENT + 150)
    with told(cluster, tmp_path) as ledger:
        [incident] = ledger.incidents()
        assert outcomes(ledger) == []
    assert (incident.ending, incident.rule) == (WENT_ON, "suspicious_gap")
    assert incident.closed_at == at(SILENT + 160)


@pytest.mark.parametrize("restarts", [False, True], ids=["one run", "killed after every move"])
def test_what_becomes_of_advice_is_the_same_in_a_replay(
    live: Live,
    restarts: bool,  # noqa: FBT001
) -> None:
    def pause() -> None:
        if restarts:
            live.restart()
        live.tell(job)

    job = live.job(comment=None)
    live.clock.advance(2)
    live.write("starting", mode="w")
    live.tell(job)
    live.train(20)
    pause()
    for _ in range(7):
        live.tick(50)
        live.tell(job)
    pause()
    live.train(5)
    pause()
    live.write("[rank0]: ValueError: the shapes do not match")
    live.tick(2)
    pause()
    live.tell(live.end_of(0, comment=None))
    live.tick(15)
    [outcome] = live.ledger.outcomes()
    assert outcome.label is Label.FALSE
    endings = [one.ending for one in reversed(live.ledger.incidents())]
    assert endings == ["it was taken back", OVER]
    assert live.aftermath() == live.aftermath_replayed()
