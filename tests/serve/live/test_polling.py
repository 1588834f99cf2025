"""Slurm is asked where no controller tells what runs, and an error is no empty cluster."""

from __future__ import annotations

from collections.abc import Collection, Iterator

import pytest

from controlling import SECOND
from living import Live
from relume.errors import UnreachableError
from relume.serve.live import polling
from relume.serve.live.polling import SlurmPolling
from relume.serve.live.runner import Runner
from relume.slurm.job import SlurmJob, SlurmSnapshot
from relume.slurm.sacct import AttemptRow
from relume.verdict import Health


@pytest.fixture
def runner(live: Live) -> Iterator[Runner]:
    live.session.close()
    runner = Runner(live.around)
    yield runner
    runner.close()


def test_it_asks_while_nobody_else_tells(runner: Runner, live: Live) -> None:
    asked = SlurmPolling(lambda: live.snapshot(live.job()), runner, live.clock)
    assert asked.look()
    assert runner.view(live.record(0)).state == "RUNNING"
    live.clock.advance(10)
    assert asked.look()
    live.clock.advance(5)
    runner.on_scheduler(live.snapshot(live.job()))
    assert not asked.look()
    live.clock.advance(61)
    assert asked.look()


def test_a_controller_that_begins_meanwhile_is_newer(runner: Runner, live: Live) -> None:
    def ask() -> SlurmSnapshot:
        runner.on_scheduler(live.snapshot(live.job()))
        return live.snapshot()

    assert not SlurmPolling(ask, runner, live.clock).look()
    assert live.record(0).state == "RUNNING"


@pytest.mark.parametrize("error", [UnreachableError("squeue", found="errors"), ValueError("odd")])
def test_an_error_is_no_empty_cluster(runner: Runner, live: Live, error: Exception) -> None:
    answers = [live.snapshot(live.job())]

    def ask() -> SlurmSnapshot:
        if not answers:
            raise error
        return answers.pop()

    asked = SlurmPolling(ask, runner, live.clock)
    assert asked.look()
    live.clock.advance(61)
    assert not asked.look()
    assert not asked.look()
    part = runner.readiness()["scheduler"]
    assert (part.status, part.reason) == (Health.UNKNOWN, str(error))
    assert not live.record(0).ended
    answers.append(live.snapshot(live.job()))
    assert asked.look()
    assert runner.readiness()["scheduler"].status is Health.HEALTHY


def test_it_looks_until_it_is_stopped(
    runner: Runner, live: Live, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(polling, "POLL_SECONDS", 0.001)
    asked: list[SlurmPolling] = []

    def ask() -> SlurmSnapshot:
        asked[0].stop()
        return live.snapshot(live.job())

    asked.append(SlurmPolling(ask, runner, live.clock))
    asked[0].start()
    asked[0].join()
    assert live.record(0).state == "RUNNING"


class Looks:
    """A polling service: `shown` is what Slurm shows, `rows` what accounting has."""

    def __init__(self, live: Live, runner: Runner) -> None:
        self.live = live
        self.shown: tuple[SlurmJob, ...] = (live.job(),)
        self.rows: list[AttemptRow] = []
        self.asked: list[list[str]] = []
        self.error: UnreachableError | None = None
        ask = SlurmPolling(lambda: live.snapshot(*self.shown), runner, live.clock, self.account)
        self.look = ask.look

    def account(self, job_ids: Collection[str]) -> list[AttemptRow]:
        self.asked.append(list(job_ids))
        if self.error is not None:
            raise self.error
        return self.rows

    def row(self, state: str, submit: int | None, **changes: object) -> AttemptRow:
        fields = {
            "job_id": "7",
            "raw_job_id": 7,
            "state": state,
            "submit_time": submit,
            "start_time": submit,
            "end_time": self.live.clock.now(),
            "exit_code": 3,
            "signal": None,
            "nodes": ("node1", "node2"),
            "comment": None,
            "admin_comment": None,
        }
        return AttemptRow(**(fields | changes))  # type: ignore[arg-type]


@pytest.fixture
def looks(runner: Runner, live: Live) -> Looks:
    looks = Looks(live, runner)
    assert looks.look()
    live.clock.advance(10)
    return looks


def test_accounting_tells_how_an_attempt_ended_that_slurm_forgot(looks: Looks, live: Live) -> None:
    submitted = live.record(0).submit_time
    looks.shown = ()
    ended = live.clock.now() - 4 * SECOND
    looks.rows = [looks.row("CANCELLED by 0", submitted, end_time=ended, exit_code=0, signal=15)]
    assert looks.look()
    found = live.record(0)
    assert (found.ended, found.state, found.reason) == (True, "CANCELLED", None)
    assert (found.end_time, found.exit_code, found.signal) == (ended, 0, 15)
    assert looks.look()
    assert looks.asked == [["7"]]


def test_accounting_tells_how_an_attempt_ended_that_was_requeued(looks: Looks, live: Live) -> None:
    submitted = live.record(0).submit_time
    looks.shown = (live.runs(1, nodes=("node3",)),)
    looks.rows = [
        looks.row("NODE_FAIL", submitted, exit_code=0, signal=None),
        looks.row("RUNNING", looks.shown[0].submit_time, end_time=None, exit_code=None),
    ]
    assert looks.look()
    first, second = live.record(0), live.record(1)
    assert (first.state, first.exit_code, first.nodes) == ("NODE_FAIL", 0, ("node1", "node2"))
    assert (second.state, second.nodes) == ("RUNNING", ("node3",))


def test_what_accounting_doesnt_know_yet_is_waited_for(looks: Looks, live: Live) -> None:
    submitted = live.record(0).submit_time
    looks.shown = ()
    looks.rows = [looks.row("RUNNING", submitted, end_time=None), looks.row("FAILED", 1)]
    assert looks.look()
    assert not live.record(0).ended
    live.clock.advance(10)
    looks.rows = [looks.row("FAILED", submitted)]
    assert looks.look()
    assert (live.record(0).state, live.record(0).exit_code) == ("FAILED", 3)


def test_without_accounting_it_says_so_once_and_goes_on(
    looks: Looks, live: Live, caplog: pytest.LogCaptureFixture
) -> None:
    looks.error = UnreachableError("command sacct", found="Slurm accounting storage is disabled")
    looks.shown = ()
    for _ in range(8):
        assert looks.look()
        live.clock.advance(10)
    assert len(looks.asked) == 1
    assert caplog.text.count("accounting can't be asked how attempts ended: command sacct") == 1
    assert (live.record(0).ended, live.record(0).state) == (True, "UNKNOWN")
    looks.shown = (live.runs(1),)
    assert looks.look()
    looks.shown = (live.runs(2),)
    looks.look()
    assert len(looks.asked) == 2
    assert caplog.text.count("accounting can't be asked") == 1
