from __future__ import annotations

from pathlib import Path

from recording import TRACEBACK, entry, logged, recorded, steps
from relume.benchmarks.backtest.kills import Killed, compare, kill_backtests
from relume.serve.backtest.results import UnitResult

WHOLE = [UnitResult(unit=f"u{n}", attempts=[]) for n in range(3)]


def counted(there: list[UnitResult]) -> Killed:
    found = Killed()
    compare(there, WHOLE, found)
    return found


def test_what_is_missing_twice_there_or_other_is_counted() -> None:
    assert counted(WHOLE[::-1]) == Killed()
    assert counted(WHOLE[:2]) == Killed(lost=1)
    assert counted([*WHOLE, WHOLE[0]]) == Killed(doubled=1)
    strange = UnitResult(unit="u9", attempts=[])
    assert counted([*WHOLE, strange]) == Killed(other=1)


def test_a_backtest_over_kills_gives_what_one_in_one_go_gives(tmp_path: Path) -> None:
    data = tmp_path / "data"
    data.mkdir()
    entries = []
    for number in range(4):
        log = logged(data, f"{number}.out", [*steps(50), *TRACEBACK])
        entries.append(entry(number + 1, files=(log,)))
    recorded(data, *entries)
    found = kill_backtests(data, tmp_path, kills=3, seed=1)
    assert found.kills >= 3
    assert (found.lost, found.doubled, found.other) == (0, 0, 0)
