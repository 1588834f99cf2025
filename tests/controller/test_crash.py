"""A controller killed at every moment of a recovery: the next one ends it, and repeats nothing."""

from __future__ import annotations

import sqlite3
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest

from controllers import Stage
from controlling import KEY, advise, make_job
from fake_slurm import Fuse, KilledError
from relume.advice import Operation
from relume.controller import loop
from relume.controller.actuator import Order
from relume.controller.journal import Journal

MOMENTS = 72
"""Those of a recovery: three rounds with all their effects, on Slurm, by the service and in the
journal; the tests make sure of the number."""
FUSES: list[Fuse] = []


class BurningJournal(Journal):
    """The journal, with a moment before and one after each thing that it makes durable."""

    @contextmanager
    def _transaction(self, kind: str = "IMMEDIATE") -> Iterator[sqlite3.Connection]:
        fuses = FUSES if kind == "IMMEDIATE" else []
        for fuse in fuses:
            fuse.burn()
        with super()._transaction(kind) as database:
            yield database
        for fuse in fuses:
            fuse.burn()


@pytest.fixture(autouse=True)
def _journal(monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    monkeypatch.setattr(loop, "Journal", BurningJournal)
    yield
    FUSES.clear()


def prepared(path: Path, operation: Operation, *, hangs: bool = False) -> Stage:
    """A job that failed or hangs, and a settled decision about it."""
    stage = Stage(path, make_job())
    stage.round()
    if not hangs:
        stage.slurm.fail()
    stage.service.landed[f"{KEY}.0"] = True
    stage.service.advise(advise(operation))
    return stage


def burn(stage: Stage, fuse: Fuse) -> None:
    stage.burn(fuse)
    FUSES[:] = [fuse]


def rounds(stage: Stage, count: int = 6) -> bool:
    """Rounds in which the job starts again; whether the controller lived through them."""
    try:
        with stage.controller() as controller:
            for _ in range(count):
                controller.round()
                stage.clock.advance(12)
                stage.slurm.start()
    except KilledError:
        return False
    return True


def killed(stage: Stage, moment: int) -> None:
    """Three rounds, killed at a moment of them; then another controller, left alone."""
    fuse = Fuse(moment)
    burn(stage, fuse)
    survived = rounds(stage, 3)
    assert survived is (fuse.passed < moment)
    burn(stage, Fuse())
    assert rounds(stage)


@pytest.mark.parametrize("moment", range(1, MOMENTS + 1))
@pytest.mark.parametrize("hangs", [False, True])
def test_a_restart_is_done_once(fast_path: Path, moment: int, *, hangs: bool) -> None:
    stage = prepared(fast_path, Operation.RESTART_EXCLUDING, hangs=hangs)
    killed(stage, moment)
    job = stage.slurm.jobs["7"]
    assert (job.state, job.restart_count, job.exclude_nodes) == ("RUNNING", 1, ("node2",))
    assert [stage.slurm.count(one) for one in (Order.REQUEUE_HOLD, Order.RELEASE)] == [1, 1]
    assert not any(one.refused for one in stage.slurm.mutations)
    (report,) = stage.service.reconciled.values()
    assert report["disposition"] == "CONVERGED"


@pytest.mark.parametrize("moment", range(1, MOMENTS + 1))
def test_a_stop_is_done_once(fast_path: Path, moment: int) -> None:
    stage = Stage(fast_path, make_job(), stop_grace_seconds=0)
    stage.round()
    stage.service.advise(advise(Operation.STOP))
    killed(stage, moment)
    assert stage.slurm.jobs["7"].state == "CANCELLED"
    assert stage.slurm.count(Order.CANCEL) == 1
    (report,) = stage.service.reconciled.values()
    assert report["disposition"] == "CONVERGED"


def test_no_moment_is_left_out(fast_path: Path) -> None:
    stage = prepared(fast_path, Operation.RESTART_EXCLUDING)
    fuse = Fuse()
    burn(stage, fuse)
    rounds(stage, 3)
    assert fuse.passed == MOMENTS
    assert len(stage.service.reconciled) == 1


def forgets(stage: Stage) -> None:
    """slurmctld is killed hard: what was changed in its last seconds is lost."""
    stage.slurm.change(
        state="FAILED", reason="NonZeroExitCode", restart_count=0, priority=100, exit_code=1
    )
    stage.slurm.change(submit_time=make_job().submit_time, nodes=("node1", "node2"))


def test_what_slurm_forgot_is_done_again(fast_path: Path) -> None:
    stage = prepared(fast_path, Operation.RESTART)
    stage.service.landed.clear()
    stage.settings = stage.settings.model_copy(update={"log_wait_seconds": 3600.0})
    stage.round()
    assert stage.slurm.jobs["7"].held
    forgets(stage)
    stage.round()
    assert stage.slurm.jobs["7"].state == "FAILED", (
        "not at once: the command may still be under way"
    )
    stage.clock.advance(30)
    stage.round()
    assert stage.slurm.jobs["7"].held
    stage.service.landed[f"{KEY}.0"] = True
    assert rounds(stage)
    assert stage.slurm.jobs["7"].restart_count == 1
