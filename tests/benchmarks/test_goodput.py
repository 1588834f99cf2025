from __future__ import annotations

from pathlib import Path

import pytest

from recording import judging
from relume.benchmarks.corpora import alibaba_pods
from relume.benchmarks.goodput import deviation, without_logs
from relume.benchmarks.replay import dense_log, measured_unit, replayed
from relume.serve.backtest.lived import NO_GPU
from relume.serve.backtest.lives import lives_of
from relume.serve.backtest.units import dataset_units

HEAD = "name,cpu_milli,num_gpu,pod_phase,creation_time,deletion_time,scheduled_time"
PODS = (
    "a,100,2,Succeeded,0,7300,100",
    "b,100,1,Failed,50,4050,50",
    "c,100,0,Running,0,900,0",
    "d,100,1,Pending,0,900,",
    "e,100,1,Running,0,5,10",
)


@pytest.fixture
def data(tmp_path: Path) -> Path:
    folder = tmp_path / "alibaba-gpu" / "v2023"
    folder.mkdir(parents=True)
    (folder / "openb_pod_list_default.csv").write_text("\n".join([HEAD, *PODS]) + "\n")
    return tmp_path


def test_pods_are_attempts_of_which_only_the_times_are_known(data: Path) -> None:
    pods = alibaba_pods.load(data)
    assert pods.never == 2  # one that waited, one that was over before it was scheduled
    lives = lives_of(without_logs(pods.entries))
    assert [(one.gpus, one.failed) for one in lives.attempts] == [(2, False), (1, True)]
    assert lives.left_out == {NO_GPU: 1}
    assert deviation(lives.frames()) == (0, 0)


def test_replay_counts_the_events_of_each_recording(tmp_path: Path) -> None:
    analyzer = judging().analyzer
    lines = replayed(list(dataset_units(dense_log(tmp_path / "lines", 600))), analyzer)
    metrics = replayed([measured_unit(tmp_path / "metrics", 512)], analyzer)
    for found, landed in ((lines, 600), (metrics, 512)):
        assert found.events == landed + 3  # it runs, it is over, its logs are read up
        assert found.ticks > 0
        assert found.rate > 0
