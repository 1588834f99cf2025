"""The watchdog lets go what we hold when nobody decides, and nothing else."""

from __future__ import annotations

import logging
import shutil
import sqlite3
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from controllers import Stage
from controlling import (
    HELD,
    KEY,
    NOW,
    SECOND,
    T0,
    T1,
    advise,
    deed,
    make_facts,
    make_held,
    make_job,
    make_settings,
    remember,
    seen,
)
from relume.advice import Operation
from relume.clock import ManualClock
from relume.controller.actuator import Order
from relume.controller.facts import Accepted, Action, Memory
from relume.controller.folder import Heartbeat
from relume.controller.marker import Marker, with_marker
from relume.controller.overdue import overdue
from relume.controller.watchdog import Watchdog
from relume.errors import UnreachableError
from relume.slurm.job import SlurmJob

ALIVE = Heartbeat(NOW, NOW, "act", "host")
OURS = (seen(), seen(1), deed(Action.HOLD))
MARKER = with_marker(None, Marker(T0, (T0,)))
GONE_AT = T1 + 301 * SECOND
ORPHAN_AT = T1 + 961 * SECOND


def reasons(
    *what: Any,
    job: SlurmJob | None = None,
    beat: Heartbeat | None = ALIVE,
    now: int = NOW,
    **settings: Any,
) -> list[str]:
    memory = what[0] if what and isinstance(what[0], Memory) else remember(*(what or OURS))
    facts = make_facts(job or make_held(), memory=memory)
    return [one.reason for one in overdue(facts, beat, make_settings(**settings), now)]


def alive(now: int) -> Heartbeat:
    return Heartbeat(now, now, "act", "host")


@pytest.mark.parametrize("beat", [None, ALIVE, Heartbeat(GONE_AT, None, "observe", "host")])
def test_jobs_are_let_go_when_nobody_decides(beat: Heartbeat | None) -> None:
    now = GONE_AT if beat is None or beat.whole_at is None else NOW + 301 * SECOND
    assert reasons(beat=beat, now=now) == ["service and controller are gone"]
    assert reasons(beat=alive(now), now=now) == []


def test_a_young_hold_has_time_until_the_controller_comes_back() -> None:
    assert reasons(beat=None, now=GONE_AT - SECOND) == []


@pytest.mark.parametrize("operation", [Operation.HOLD, Operation.RESTART, Operation.STOP])
def test_decisions_past_their_deadline(operation: Operation) -> None:
    advice = advise(operation, expires_at=NOW)
    memory = remember(*OURS, accepted={advice.advice_id: Accepted(advice, T1)})
    late = NOW + 60 * SECOND
    assert reasons(memory, beat=alive(late), now=late) == []
    found = reasons(memory, beat=alive(late), now=late + 1)
    assert found == [f"its {operation} is past its deadline"]


def test_a_hold_that_has_time_left_is_kept_as_long_as_the_controller_lives() -> None:
    advice = advise(Operation.HOLD, expires_at=NOW + 9000 * SECOND)
    memory = remember(*OURS, accepted={advice.advice_id: Accepted(advice, T1)})
    assert reasons(memory, beat=alive(ORPHAN_AT), now=ORPHAN_AT) == []
    assert reasons(memory, beat=None, now=ORPHAN_AT) == ["service and controller are gone"]


def test_no_decision_holds_a_job_for_ever() -> None:
    advice = advise(Operation.HOLD, expires_at=NOW + 10**9 * SECOND)
    memory = remember(*OURS, accepted={advice.advice_id: Accepted(advice, T1)})
    for seconds, expected in ((660, []), (661, ["it was held for too long"])):
        now = T1 + seconds * SECOND
        assert reasons(memory, beat=alive(now), now=now, max_hold_seconds=600) == expected


def test_a_hold_without_a_decision() -> None:
    assert reasons(beat=alive(ORPHAN_AT), now=ORPHAN_AT) == ["no Advice asks for this hold"]
    early = ORPHAN_AT - 2 * SECOND
    assert reasons(beat=alive(early), now=early) == []


@pytest.mark.parametrize(
    "job",
    [
        make_held(reason="JobHeldUser", admin_comment=MARKER),
        make_held(reason="JobHeldAdmin", admin_comment=MARKER),
        make_held(comment=None, admin_comment=MARKER),
        make_held(priority=50),
        make_held(submit_time=T1 + SECOND),
        make_job(),
    ],
)
def test_others_are_left_alone(job: SlurmJob) -> None:
    assert reasons(job=job, beat=None, now=ORPHAN_AT) == []
    assert reasons(Memory(readable=False), job=job, beat=None, now=ORPHAN_AT) == []


def test_limits_count_here_too() -> None:
    assert reasons(beat=None, now=ORPHAN_AT, partitions=["debug"]) == []
    memory = remember(*OURS, restarts={str(KEY): (ORPHAN_AT,)})
    assert reasons(memory, beat=None, now=ORPHAN_AT, max_restarts_per_day=1) == []


def test_a_users_requeue_hold_is_known_by_the_journal() -> None:
    job = make_held(admin_comment=MARKER)
    assert reasons(seen(), seen(1), job=job, beat=None, now=ORPHAN_AT) == []


@pytest.mark.parametrize(
    "held", [{"reason": HELD}, {"state": "SPECIAL_EXIT", "reason": "JobHeldUser"}]
)
def test_without_a_journal_the_marker_has_to_do(held: dict[str, str]) -> None:
    memory = Memory(readable=False, sightings={"7": (seen(1),)})
    marked = make_held(admin_comment=MARKER, **held)
    assert reasons(memory, job=marked, beat=None, now=GONE_AT) == [
        "service and controller are gone"
    ]
    assert reasons(memory, job=make_held(**held), beat=None, now=GONE_AT) == []


@pytest.mark.parametrize(("born_at", "released"), [(T1, False), (T1 + SECOND, True)])
def test_a_journal_that_is_younger_than_the_hold_has_forgotten_it(
    born_at: int, *, released: bool
) -> None:
    job = make_held(admin_comment=MARKER)
    found = reasons(remember(seen(1), born_at=born_at), job=job, beat=None, now=GONE_AT)
    assert bool(found) is released


def held_and_dead(stage: Stage) -> None:
    """A job that the helper held, right after its controller died."""
    stage.round()
    stage.slurm.fail()
    stage.slurm._requeue_hold(stage.slurm.jobs["7"], "")  # noqa: SLF001 - not by an order of ours
    (stage.folder.epilog / "held" / "7.0").touch()


def watch(stage: Stage, rounds: int = 1, seconds: float = 0) -> int:
    with stage.doors() as doors:
        dog = Watchdog(doors, stage.folder, stage.settings)
        found = 0
        for _ in range(rounds):
            found += dog.round()
            stage.clock.advance(seconds)
    return found


def test_what_the_helper_held_is_let_go_by_its_note(stage: Stage) -> None:
    held_and_dead(stage)
    assert watch(stage) == 0
    stage.clock.advance(301)
    assert watch(stage) == 1
    assert not stage.slurm.jobs["7"].held
    assert stage.slurm.count(Order.RELEASE) == 1
    assert watch(stage) == 0


def test_a_note_about_another_attempt_does_not_count(stage: Stage) -> None:
    held_and_dead(stage)
    (stage.folder.epilog / "held" / "7.0").rename(stage.folder.epilog / "held" / "7.1")
    stage.clock.advance(4000)
    assert watch(stage) == 0


def test_without_note_and_journal_entry_it_is_somebodys(stage: Stage) -> None:
    held_and_dead(stage)
    (stage.folder.epilog / "held" / "7.0").unlink()
    stage.clock.advance(4000)
    assert watch(stage) == 0


def test_a_lost_journal_leaves_the_marker(stage: Stage, caplog: pytest.LogCaptureFixture) -> None:
    held_and_dead(stage)
    (stage.folder.epilog / "held" / "7.0").unlink()
    stage.folder.journal.write_text("broken")
    stage.clock.advance(301)
    assert watch(stage) == 1
    assert "journal" in caplog.text


def test_a_lost_folder_leaves_the_marker(stage: Stage) -> None:
    held_and_dead(stage)
    shutil.rmtree(stage.folder.path)
    stage.clock.advance(301)
    with stage.doors() as doors:
        dog = Watchdog(doors, stage.folder, stage.settings)
        assert dog.round() == 1
    assert "no such folder" in str(dog.trouble)


@pytest.mark.parametrize(
    "spoil", ["UPDATE sightings SET nodes = 'rubbish'", "UPDATE advice SET body = 'rubbish'"]
)
def test_a_journal_with_rubbish_in_it_is_none(stage: Stage, spoil: str) -> None:
    held_and_dead(stage)
    with stage.controller() as controller:
        controller.journal.accept(advise(), stage.clock.now())
    (stage.folder.epilog / "held" / "7.0").unlink()
    database = sqlite3.connect(stage.folder.journal)
    database.execute(spoil)
    database.commit()
    database.close()
    stage.clock.advance(301)
    with stage.doors() as doors:
        dog = Watchdog(doors, stage.folder, stage.settings)
        assert dog.round() == 1
    assert "journal" in str(dog.trouble)


@pytest.mark.parametrize("content", ["rubbish", ""])
def test_a_heartbeat_that_can_not_be_read_is_none(stage: Stage, content: str) -> None:
    held_and_dead(stage)
    (stage.folder.path / "heartbeat.json").write_text(content)
    stage.clock.advance(301)
    with stage.doors() as doors:
        dog = Watchdog(doors, stage.folder, stage.settings)
        assert dog.round() == 1
        assert "heartbeat" in str(dog.trouble)
        stage.folder.beat(alive(stage.clock.now()))
        dog.round()
    assert dog.trouble is None


def test_a_heartbeat_of_the_future_is_none() -> None:
    """The clock was put back: the controller died before, and would seem alive for long."""
    future = alive(GONE_AT + 3600 * SECOND)
    assert reasons(beat=future, now=GONE_AT) == ["service and controller are gone"]
    assert reasons(beat=alive(GONE_AT + 5 * SECOND), now=GONE_AT) == []


def test_a_clock_that_is_put_back_keeps_nobody_held(stage: Stage) -> None:
    """By the time of day the hold is yet to come; by the seconds that passed it is old."""
    held_and_dead(stage)
    stage.folder.beat(alive(stage.clock.now()))
    seconds = iter(range(0, 3000, 20))
    earlier = ManualClock(NOW - 86_400 * SECOND)
    with stage.doors() as doors:
        odd = replace(doors, clock=earlier, monotonic=lambda: float(next(seconds)))
        dog = Watchdog(odd, stage.folder, stage.settings)
        rounds = [dog.round() for _ in range(30)]
    assert sum(rounds) == 1
    assert rounds.index(1) > 300 / 40


def test_observe_only_says_it(fast_path: Path, caplog: pytest.LogCaptureFixture) -> None:
    stage = Stage(fast_path, make_job())
    held_and_dead(stage)
    stage.settings = stage.settings.model_copy(update={"mode": "observe"})
    before = len(stage.slurm.mutations)
    stage.clock.advance(301)
    with caplog.at_level(logging.INFO):
        assert watch(stage) == 0
    assert "would release 7" in caplog.text
    assert len(stage.slurm.mutations) == before


def test_a_refused_release_is_tried_again_later(stage: Stage) -> None:
    held_and_dead(stage)
    stage.clock.advance(301)
    stage.slurm.refuses.add(Order.RELEASE)
    assert watch(stage, rounds=4, seconds=25) == 0
    assert sum(one.order is Order.RELEASE for one in stage.slurm.mutations) == 2


def test_what_changes_under_its_eyes_is_left(stage: Stage) -> None:
    held_and_dead(stage)
    stage.clock.advance(301)
    look = stage.slurm.job

    def held_by_the_user(job_id: str, known: SlurmJob | None = None) -> SlurmJob | None:
        stage.slurm.change(job_id, reason="JobHeldUser")
        return look(job_id, known)

    stage.slurm.job = held_by_the_user  # type: ignore[method-assign]
    assert watch(stage) == 0
    assert stage.slurm.count(Order.RELEASE) == 0


def test_run_outlives_an_unreachable_slurm(stage: Stage, caplog: pytest.LogCaptureFixture) -> None:
    held_and_dead(stage)
    whole, asked = stage.slurm.snapshot, []

    def away_first() -> Any:
        asked.append(1)
        if len(asked) == 1:
            raise UnreachableError("scontrol ping")
        return whole()

    class Stop:
        def is_set(self) -> bool:
            return not stage.slurm.jobs["7"].held

        def wait(self, timeout: float) -> bool:
            assert timeout == 30
            stage.clock.advance(timeout)
            return False

    stage.slurm.snapshot = away_first  # type: ignore[method-assign]
    with stage.doors() as doors:
        Watchdog(doors, stage.folder, stage.settings).run(Stop())
    assert "scontrol ping" in caplog.text
    assert len(asked) == 12
