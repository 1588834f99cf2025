"""Which job it is: by marker, by what was seen, as a new one, or not to be told."""

from __future__ import annotations

import pytest

from controlling import KEY, NOW, SECOND, T0, T1, deed, make_held, make_job, remember, seen
from relume.controller.facts import Action, Memory, Outcome, Sighting
from relume.controller.marker import Marker, with_marker
from relume.controller.sighting import sight
from relume.identity import JobKey
from relume.slurm.job import SlurmJob

RUNNING_ONCE = seen()
MARKED = with_marker(None, Marker(T0, (T0,)))


def looked(job: SlurmJob, *what: Sighting, **named: str) -> Sighting | None:
    return sight(job, "lab", remember(*what), named, NOW)


def test_a_new_job_is_itself() -> None:
    assert looked(make_job()) == seen(running_at=NOW)
    pending = looked(make_job(state="PENDING", nodes=(), start_time=None))
    assert pending == seen(running_at=None, nodes=())


def test_the_run_is_the_one_of_the_comment() -> None:
    job = make_job(comment='{"APS": {"auto_resume_mode": "requeue"}}')
    assert looked(job) == seen(running_at=NOW, run=str(KEY))


@pytest.mark.parametrize("comment", [None, "debug", '{"a": 1}'])
def test_a_job_without_opt_in_is_not_remembered(comment: str | None) -> None:
    assert looked(make_job(comment=comment)) is None
    assert looked(make_job(comment=comment), RUNNING_ONCE) is None


def test_first_moments_of_the_future_are_seen_anew() -> None:
    """The clock was put back: an hour from now is no time at which it was seen."""
    late = NOW + 3600 * SECOND
    assert looked(make_job(), seen(running_at=late)) == seen(running_at=NOW)
    held = looked(make_held(), seen(), seen(1, held_at=late))
    assert held == seen(1, held_at=NOW)
    soon = NOW + SECOND
    assert looked(make_job(), seen(running_at=soon)) == seen(running_at=soon)


def test_it_learns_nodes_and_first_moments_only() -> None:
    before = seen(running_at=None, nodes=("node1",))
    assert looked(make_job(), before) == seen(running_at=NOW)
    assert looked(make_job(nodes=()), RUNNING_ONCE) == RUNNING_ONCE
    held = looked(make_held(), RUNNING_ONCE)
    assert held == seen(1, held_at=NOW)
    assert looked(make_held(), RUNNING_ONCE, seen(1)) == seen(1)
    for state in ("FAILED", "COMPLETING"):
        assert looked(make_job(state=state)) == seen(running_at=None)
    stray = looked(make_job(state="PENDING", nodes=("node9",)))
    assert stray == seen(running_at=None, nodes=())


def test_the_next_attempt_of_what_we_held_is_the_same_job() -> None:
    """A job that failed before it was seen running bears no marker."""
    failed = seen(running_at=None)
    held = deed(Action.HOLD, intended_at=T1)
    found = sight(make_held(), "lab", remember(failed, held), {}, NOW)
    assert found is not None
    assert found.key == KEY
    refused = deed(Action.HOLD, intended_at=T1, outcome=Outcome.REFUSED)
    assert sight(make_held(), "lab", remember(failed, refused), {}, NOW) is None
    later = deed(Action.HOLD, intended_at=T1 + 6 * SECOND)
    assert sight(make_held(), "lab", remember(failed, later), {}, NOW) is None


def test_a_marker_names_the_job_whatever_its_submit_time() -> None:
    job = make_held(restart_count=5, submit_time=T1, admin_comment=MARKED)
    found = looked(job)
    assert found is not None
    assert found.attempt == f"{KEY}.5"


def test_a_marker_of_the_future_is_not_believed() -> None:
    late = with_marker(None, Marker(T1, (T1,)))
    found = looked(make_job(admin_comment=late))
    assert found is not None
    assert found.key == KEY


def test_the_next_attempt_of_what_ran_is_the_same_job() -> None:
    found = looked(make_held(), RUNNING_ONCE)
    assert found is not None
    assert found.key == KEY


@pytest.mark.parametrize("forgotten", [seen(1), seen(1, running_at=T1 + SECOND)])
def test_what_slurm_forgot_and_was_held_again_is_the_same_job(forgotten: Sighting) -> None:
    """slurmctld was killed right after our hold, so it was given again: one attempt, two times."""
    failed, again = seen(running_at=None), T1 + 60 * SECOND
    holds = deed(Action.HOLD, intended_at=T1), deed(Action.HOLD, intended_at=again)
    memory = remember(failed, forgotten, *holds)
    found = sight(make_held(submit_time=again + SECOND), "lab", memory, {}, NOW)
    assert found is not None
    assert found.attempt == f"{KEY}.1"
    much_later = make_held(submit_time=again + 601 * SECOND)
    assert sight(much_later, "lab", memory, {}, NOW) is None, "that was somebody else's requeue"
    stranger = make_held(submit_time=again + SECOND, user="eve")
    assert sight(stranger, "lab", memory, {}, NOW) is None


@pytest.mark.parametrize(
    ("job", "before"),
    [
        (make_held(), None),
        (make_held(), seen(running_at=None)),
        (make_held(restart_count=2), RUNNING_ONCE),
        (make_held(user="eve"), RUNNING_ONCE),
        (make_held(submit_time=T0 - 60 * SECOND), RUNNING_ONCE),
    ],
)
def test_a_requeued_job_that_was_not_seen_running_is_nobodys(
    job: SlurmJob, before: Sighting | None
) -> None:
    assert looked(job, *([] if before is None else [before])) is None


def test_a_job_id_that_was_given_out_again_is_a_new_job() -> None:
    found = looked(make_job(submit_time=T1), RUNNING_ONCE)
    assert found is not None
    assert found.key == JobKey("lab", "7", T1)


def test_the_service_names_running_jobs_only() -> None:
    running = make_job(restart_count=1, submit_time=T1)
    found = sight(running, "lab", Memory(), {"7": f"{KEY}.1"}, NOW)
    assert found is not None
    assert found.key == KEY
    assert sight(make_held(), "lab", Memory(), {"7": f"{KEY}.1"}, NOW) is None
    for name in (f"{KEY}.2", "other/7@1.1", "lab/8@1.1", "nonsense"):
        assert sight(running, "lab", Memory(), {"7": name}, NOW) is None


def test_an_id_of_several_jobs_is_none() -> None:
    assert looked(make_job(job_id="7_[1-3]", state="PENDING")) is None
