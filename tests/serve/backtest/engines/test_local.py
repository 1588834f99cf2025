from __future__ import annotations

from pathlib import Path

import pytest

from engines import DEADLY, RUNS, Dying, copied, judged, make_runs, replayed, units
from relume.errors import InputError
from relume.ingest.importing import import_units, units_of
from relume.ingest.lake import LakeWriter
from relume.serve.backtest.engines import local
from relume.serve.backtest.engines.local import Local
from relume.serve.backtest.engines.work import HERE, Work, opened, packed
from relume.serve.backtest.results import RESULTS_FILE, Results
from relume.serve.backtest.run import Recording
from relume.serve.healthy import HISTORY_FILE

TWO = Local(2)


@pytest.fixture(scope="module")
def data(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return make_runs(tmp_path_factory.mktemp("data"))


@pytest.fixture(scope="module")
def expected(data: Path, tmp_path_factory: pytest.TempPathFactory) -> bytes:
    """The results of one process that replays one run after the other."""
    return replayed(Recording(data), tmp_path_factory.mktemp("out"), HERE)


def test_two_workers_give_what_one_process_gives(
    data: Path, expected: bytes, tmp_path: Path
) -> None:
    told: list[tuple[int, int]] = []
    recording = Recording(data)
    with Results(tmp_path, recording.about(judged())) as results:
        recording.replay(judged(), results, lambda *one: told.append(one), engine=TWO)
        assert results.given_up == {}
    assert (tmp_path / RESULTS_FILE).read_bytes() == expected
    assert told == [(done, RUNS) for done in range(RUNS + 1)]


@pytest.mark.parametrize("engine", [Local(), Local(1)])
def test_a_small_recording_is_replayed_here(
    data: Path, expected: bytes, tmp_path: Path, engine: Local
) -> None:
    assert replayed(Recording(data), tmp_path, engine) == expected


def test_what_is_missing_is_replayed_and_put_in_its_place(
    data: Path, expected: bytes, tmp_path: Path
) -> None:
    recording = Recording(data)
    lines = expected.splitlines(keepends=True)
    with Results(tmp_path, recording.about(judged())) as results:
        results.add_encoded(units(expected)[2], lines[2].rstrip())
    assert replayed(recording, tmp_path, TWO) == expected


def test_a_worker_that_dies_costs_no_result(data: Path, expected: bytes, tmp_path: Path) -> None:
    """One run kills each worker, another one the first only: only the former is given up."""
    deadly, shot = units(expected)[:2]
    recording, out = Dying(copied(data, tmp_path / "data", deadly, shot)), tmp_path / "out"
    with Results(out, recording.about(judged())) as results:
        recording.replay(judged(), results, engine=TWO)
        assert list(results.given_up) == [deadly]
        assert "3 workers died over it" in results.given_up[deadly]
        with pytest.raises(InputError, match="3 workers died"):
            results.require_whole()
    found = (out / RESULTS_FILE).read_bytes()
    assert found == b"".join(expected.splitlines(keepends=True)[1:])
    (tmp_path / "data" / DEADLY).unlink()
    assert replayed(recording, out, HERE) == expected


def test_a_worker_that_holds_too_much_is_ended(
    data: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(local, "LOOK_SECONDS", 0.01)  # these pieces are done at once
    recording = Recording(data)
    with Results(tmp_path, recording.about(judged())) as results:
        recording.replay(judged(), results, engine=Local(2, memory_bytes=1 << 20))
        assert len(results.given_up) == RUNS
        assert "of 1 MiB that it may" in next(iter(results.given_up.values()))
        assert results.done == set()


def test_a_lake_learns_the_same_in_any_order(data: Path, tmp_path: Path) -> None:
    learned = []
    for name, engine in (("one", HERE), ("two", TWO)):
        with LakeWriter(tmp_path / name) as lake:
            import_units(lake, units_of([data]))
        (tmp_path / name / HISTORY_FILE).unlink(missing_ok=True)
        replayed(Recording(tmp_path / name), tmp_path / f"{name}-out", engine)
        learned.append((tmp_path / name / HISTORY_FILE).read_bytes())
    assert learned[0] == learned[1]
    assert b"lab/2@" in learned[0]


def test_work_is_the_same_after_a_journey(data: Path) -> None:
    recording = Recording(data)
    work = Work(recording, judged(), recording.about(judged()))
    there = opened(packed(work))
    assert there.judging.digest() == judged().digest()
    assert there.recording.about(there.judging) == work.about
