"""The runner keeps a session going, whatever happens to it."""

from __future__ import annotations

import threading
from collections.abc import Iterator

import pytest

from living import Live
from relume.errors import InputError, UnreachableError
from relume.ingest.lake import LakeReader
from relume.serve.live.runner import Runner
from relume.slurm.job import SlurmJob, SlurmSnapshot
from relume.verdict import Health


@pytest.fixture
def runner(live: Live) -> Iterator[Runner]:
    live.session.close()
    runner = Runner(live.around)
    yield runner
    runner.close()


def snapshot(live: Live, *jobs: SlurmJob, cluster: str = "lab") -> SlurmSnapshot:
    return SlurmSnapshot(cluster=cluster, taken_at=live.clock.now(), jobs=jobs, nodes=())


def health(runner: Runner) -> dict[str, Health]:
    return {name: part.status for name, part in runner.readiness().items()}


def test_before_the_first_word_of_the_scheduler_it_is_not_ready(runner: Runner, live: Live) -> None:
    assert health(runner) == {"runner": Health.UNKNOWN, "scheduler": Health.UNKNOWN}
    runner.step()
    runner.on_scheduler(snapshot(live, live.job()))
    assert health(runner) == {"runner": Health.HEALTHY, "scheduler": Health.HEALTHY}
    live.clock.advance(61)
    assert health(runner) == {"runner": Health.UNHEALTHY, "scheduler": Health.UNHEALTHY}


def test_another_cluster_is_refused_and_the_first_goes_on(runner: Runner, live: Live) -> None:
    runner.on_scheduler(snapshot(live, live.job()))
    with pytest.raises(InputError, match="which this service watches"):
        runner.on_scheduler(snapshot(live, cluster="other"))
    assert runner.on_scheduler(snapshot(live, live.job()))


def test_a_job_that_cannot_be_named_does_not_hide_the_others(runner: Runner, live: Live) -> None:
    odd = live.job(job_id="7 or so", raw_job_id=8)
    assert list(runner.on_scheduler(snapshot(live, odd, live.job()))) == ["7"]


def test_a_step_that_fails_is_said_and_begun_again(
    runner: Runner, live: Live, monkeypatch: pytest.MonkeyPatch
) -> None:
    def broken(*_: object) -> None:
        raise OSError("no space left")

    runner.on_scheduler(snapshot(live, live.job()))
    live.write("iter 1: loss 3.9, time 1000.00ms")
    live.clock.advance(10)
    with monkeypatch.context() as patch:
        patch.setattr("relume.ingest.lake.journal.os.fsync", broken)
        runner.step()
        with pytest.raises(UnreachableError):
            runner.on_scheduler(snapshot(live, live.job()))
    part = runner.readiness()["runner"]
    assert part.status is Health.UNHEALTHY
    assert "no space left" in (part.reason or "")
    runner.on_scheduler(snapshot(live, live.job()))
    live.clock.advance(10)
    runner.step()
    assert health(runner)["runner"] is Health.HEALTHY
    assert runner.view(live.record(0)).last_step == 1


def test_it_ends_when_told_to_and_keeps_what_was_read(runner: Runner, live: Live) -> None:
    stop = threading.Event()
    thread = threading.Thread(target=runner.run, args=(stop,))
    thread.start()
    runner.on_scheduler(snapshot(live, live.job()))
    runner.stop(stop)
    thread.join(timeout=30)
    assert not thread.is_alive()


def test_small_segments_are_merged_beside_it(
    runner: Runner, live: Live, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("relume.serve.live.runner.MIN_COMMITS", 2)
    runner.compact()  # nothing to merge yet
    for step in range(3):
        live.write(f"iter {step}: loss 3.9, time 1000.00ms")
        live.clock.advance(10)
        runner.on_scheduler(snapshot(live, live.job()))
        runner.step()
    before = len(list(LakeReader(live.path / "lake").landings()))
    runner.compact()
    runner.wait_for_compaction()
    commits = list(LakeReader(live.path / "lake").commits())
    assert [commit.first for commit in commits] == [1]
    assert len(list(LakeReader(live.path / "lake").landings())) == before
    assert metric(live, "relume_lake_compactions_total", result="done") == 1
    runner.close()
    runner.step()
    assert health(runner)["runner"] is Health.HEALTHY


def test_a_compaction_that_fails_is_counted_and_the_rest_goes_on(
    runner: Runner, live: Live, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("relume.serve.live.runner.MIN_COMMITS", 1)
    for error in (InputError("a damaged part"), ValueError("a defect")):

        def broken(*_: object, error: Exception = error) -> None:
            raise error

        runner.on_scheduler(snapshot(live, live.job()))
        live.clock.advance(10)
        runner.step()
        monkeypatch.setattr("relume.serve.live.compacting.compact", broken)
        runner.compact()
        runner.wait_for_compaction()
    assert metric(live, "relume_lake_compactions_total", result="failed") == 2
    assert health(runner)["runner"] is Health.HEALTHY


def metric(live: Live, name: str, **labels: str) -> float | None:
    return live.registry.get_sample_value(name, labels)
