from __future__ import annotations

import os
import sys
from collections import Counter
from pathlib import Path

import pytest

from relume.benchmarks.loop.daemon import Daemon
from relume.benchmarks.loop.killing import WAITS_SECONDS, Kill, Killer, deck
from relume.benchmarks.slurm.processes import wait_until
from relume.errors import UnreachableError

FOREVER = "import os, time; print(os.getpid(), flush=True); time.sleep(600)"


def daemon(folder: Path, name: str, code: str = FOREVER) -> Daemon:
    return Daemon(name, [sys.executable, "-c", code], folder=folder, log=folder / f"{name}.log")


def pids(one: Daemon) -> list[int]:
    return [int(word) for word in one.log.read_text().split()] if one.log.exists() else []


def is_alive(pid: int) -> bool:
    try:
        os.kill(pid, 0)
    except ProcessLookupError:
        return False
    return True


def test_a_deck_holds_each_target_as_often_in_an_order_of_its_seed() -> None:
    kills = deck(50, seed=1)
    assert Counter(kill.target for kill in kills) == {"serve": 50, "control": 50, "both": 50}
    assert all(WAITS_SECONDS[0] <= kill.after_seconds <= WAITS_SECONDS[1] for kill in kills)
    assert 0 < sum(kill.early for kill in kills) < len(kills) / 2
    assert [kill.target for kill in kills] != [kill.target for kill in deck(50, seed=2)]


def test_a_daemon_is_killed_started_again_and_stopped(tmp_path: Path) -> None:
    one = daemon(tmp_path, "serve")
    with pytest.raises(UnreachableError, match="relume serve; found exit code None"):
        one.require()
    one.stop()  # never started: nothing to do
    one.start()
    try:
        one.wait_for(lambda: len(pids(one)) == 1, what="its first word")
        one.kill()
        assert not is_alive(pids(one)[0])
        one.start()
        one.wait_for(lambda: len(pids(one)) == 2, what="its second word")
        one.require()
    finally:
        one.stop()
    assert not any(map(is_alive, pids(one)))


def test_a_daemon_that_ends_by_itself_is_an_error_with_its_last_words(tmp_path: Path) -> None:
    one = daemon(tmp_path, "control", "raise SystemExit('no such token')")
    one.start()
    with pytest.raises(UnreachableError, match="exit code 1: no such token"):
        one.wait_for(lambda: False, what="anything")


def test_a_killer_works_through_its_deck_while_jobs_recover(tmp_path: Path) -> None:
    serve, control = daemon(tmp_path, "serve"), daemon(tmp_path, "control")
    kills = [Kill("serve", 0.0), Kill("both", 0.0), Kill("control", 0.0)]
    killer = Killer(serve, control, kills, lambda: True, lambda: True)
    serve.start()
    control.start()
    try:
        killer.start()
        wait_until(lambda: killer.over, what="the end of the deck")
        killer.stop()
        serve.require()
        control.require()
    finally:
        serve.stop()
        control.stop()
    assert [kill.target for kill in killer.done] == ["serve", "both", "control"]
    assert [kill.at for kill in killer.done] == sorted(kill.at for kill in killer.done)


@pytest.mark.parametrize(("recovering", "ready"), [(False, True), (True, False)])
def test_a_killer_waits_for_a_job_that_recovers_and_for_relume_to_work(
    tmp_path: Path,
    recovering: bool,  # noqa: FBT001
    ready: bool,  # noqa: FBT001
) -> None:
    parts = daemon(tmp_path, "serve"), daemon(tmp_path, "control")
    killer = Killer(*parts, [Kill("serve", 0.0)], lambda: recovering, lambda: ready)
    killer.start()
    killer.stop()
    assert not killer.over
    assert not killer.done


def test_a_part_that_ended_by_itself_is_an_error(tmp_path: Path) -> None:
    serve = daemon(tmp_path, "serve", "raise SystemExit('no such lake')")
    serve.start()
    wait_until(lambda: serve.log.read_text() != "", what="its last words")
    killer = Killer(
        serve, daemon(tmp_path, "control"), [Kill("serve", 0.2)], lambda: True, lambda: True
    )
    killer.start()
    wait_until(lambda: killer.over, what="the killer to give up")
    with pytest.raises(UnreachableError, match="no such lake"):
        killer.stop()
    assert not killer.done
