"""Slurm is asked where no controller tells what runs, and an error is no empty cluster."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from living import Live
from relume.errors import UnreachableError
from relume.serve.live import polling
from relume.serve.live.polling import SlurmPolling
from relume.serve.live.runner import Runner
from relume.slurm.job import SlurmSnapshot
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
