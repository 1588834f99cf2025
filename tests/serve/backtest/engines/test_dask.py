"""A scheduler and workers as processes on loopback; `tests/e2e/test_scale_out.py` has real jobs."""

from __future__ import annotations

import json
import os
import re
import socket
import subprocess
import sys
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from pathlib import Path

import pytest
from msgspec import structs

import engines
from engines import (
    HUNGRY_BYTES,
    RUNS,
    Dying,
    Hungry,
    Signing,
    copied,
    judged,
    make_runs,
    replayed,
    signed,
    units,
)
from relume.errors import InputError, UnreachableError
from relume.serve.backtest.engines import dasked, worker
from relume.serve.backtest.engines.dasked import dask_at
from relume.serve.backtest.engines.slurm import SlurmWorkers
from relume.serve.backtest.engines.work import HERE, GivenUp, Work
from relume.serve.backtest.results import RESULTS_FILE, Results
from relume.serve.backtest.run import Recording

LOOPBACK = "127.0.0.1"


@pytest.fixture(scope="module")
def scheduler(tmp_path_factory: pytest.TempPathFactory) -> Iterator[str]:
    """Return the address of a scheduler with one worker, which is started anew when it dies."""
    with cluster(tmp_path_factory.mktemp("dask"), 1) as address:
        yield address


@contextmanager
def cluster(folder: Path, workers: int, *given: str, allowed_failures: int = 1) -> Iterator[str]:
    """Yield the address of a scheduler that moves no task once a worker, with options, has it."""
    file = folder / "scheduler.json"
    environment = os.environ | {
        "PYTHONPATH": str(Path(engines.__file__).parent),  # for `Dying`
        "DASK_DISTRIBUTED__SCHEDULER__ALLOWED_FAILURES": str(allowed_failures),
        "DASK_DISTRIBUTED__SCHEDULER__WORK_STEALING": "False",
    }
    common = ("--host", LOOPBACK, "--scheduler-file", str(file), "--no-dashboard")
    programs = (
        ("dask_scheduler", "--port", "0", "--dashboard-address", f"{LOOPBACK}:0"),
        *[("dask_worker", "--nthreads", "1", "--local-directory", str(folder), *given)] * workers,
    )
    with ExitStack() as stack:
        for number, (name, *options) in enumerate(programs):
            command = [sys.executable, "-m", f"distributed.cli.{name}", *common, *options]
            log = stack.enter_context((folder / f"{name}-{number}.log").open("wb"))
            process = stack.enter_context(
                subprocess.Popen(command, env=environment, stdout=log, stderr=log)
            )
            stack.callback(process.terminate)
            while not file.exists():
                assert process.poll() is None, (folder / f"{name}-{number}.log").read_text()
        address: str = json.loads(file.read_text())["address"]
        yield address


def test_a_cluster_gives_what_one_process_gives(scheduler: str, tmp_path: Path) -> None:
    """Also where one run kills each worker, and another one the first."""
    (tmp_path / "data").mkdir()
    data = make_runs(tmp_path / "data")
    expected = replayed(Recording(data), tmp_path / "here", HERE)
    with dask_at(scheduler) as engine:
        assert replayed(Recording(data), tmp_path / "there", engine) == expected
        deadly, shot = units(expected)[1:3]
        recording = Dying(copied(data, tmp_path / "dying", deadly, shot))
        told: list[tuple[int, int]] = []
        with Results(tmp_path / "out", recording.about(judged())) as results:
            recording.replay(judged(), results, lambda *one: told.append(one), engine=engine)
            assert list(results.given_up) == [deadly]
            assert "workers were lost over it" in results.given_up[deadly]
        assert told[-1] == (RUNS, RUNS)
    lines = expected.splitlines(keepends=True)
    assert (tmp_path / "out" / RESULTS_FILE).read_bytes() == b"".join(lines[:1] + lines[2:])


def test_two_workers_share_the_pieces(tmp_path: Path) -> None:
    (tmp_path / "data").mkdir()
    recording = Signing(make_runs(tmp_path / "data"))
    pieces = [(planned.name,) for planned in recording.plans()] * 6
    work = Work(recording, judged(), recording.about(judged()))
    with cluster(tmp_path, 2) as address, dask_at(address) as engine:
        engine.client.wait_for_workers(2, timeout=120)
        played = list(engine.run(work, pieces))
    assert sorted(one.piece for one in played) == sorted(pieces)
    assert len(signed(tmp_path / "data")) == 2


def test_a_worker_without_a_nanny_ends_when_it_holds_too_much_and_says_so(tmp_path: Path) -> None:
    (tmp_path / "data").mkdir()
    recording = Hungry(make_runs(tmp_path / "data"))
    piece = (recording.plans()[0].name,)
    work = Work(recording, judged(), recording.about(judged()))
    options = ("--no-nanny", "--preload", worker.__name__, "--memory-limit", f"{HUNGRY_BYTES}B")
    with cluster(tmp_path, 2, *options, allowed_failures=0) as address, dask_at(address) as engine:
        engine.client.wait_for_workers(2, timeout=120)
        [given_up] = engine.run(work, [piece])
    assert isinstance(given_up, GivenUp)
    assert re.search(r"it held \d+ MiB, of 768 MiB that it may", given_up.reason)


def test_what_a_worker_refuses_is_said_here(scheduler: str, tmp_path: Path) -> None:
    recording = Recording(make_runs(tmp_path))
    about = structs.replace(recording.about(judged()), version="0.0")
    work, (piece, *_) = Work(recording, judged(), about), recording.plans()
    with dask_at(scheduler) as engine, pytest.raises(InputError, match="other version there"):
        list(engine.run(work, [(piece.name,)]))


def test_a_scheduler_that_isn_t_there_is_named(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(dasked, "CONNECT_SECONDS", 1)
    with socket.socket() as taken:
        taken.bind((LOOPBACK, 0))  # bound and not listening: nobody else answers there
        address = f"tcp://{LOOPBACK}:{taken.getsockname()[1]}"
        with pytest.raises(UnreachableError, match=address), dask_at(address):
            pass


def test_without_the_extra_it_says_what_to_install(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "distributed", None)
    with pytest.raises(InputError, match=r"relume\[dask\]"), dask_at("tcp://nowhere:1"):
        pass


@pytest.mark.parametrize(
    "given",
    [
        {"interface": "lo; touch x"},
        {"folder": Path("/with space")},
        {"options": ("--partition=cpu\ntouch x",)},
        {"options": ("touch x",)},
    ],
)
def test_what_can_t_stand_in_a_job_script_is_refused(given: dict[str, object]) -> None:
    whole = {"folder": Path("/shared/out"), "options": ("--partition=cpu", "-A lab")}
    SlurmWorkers(**whole)  # type: ignore[arg-type]
    with pytest.raises(InputError, match=r"--(interface|out|slurm-option)"):
        SlurmWorkers(**(whole | given))  # type: ignore[arg-type]
