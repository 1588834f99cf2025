from __future__ import annotations

from pathlib import Path

import pytest

import dying
from relume.benchmarks.killing import forkserver, run_over_kills


def test_work_is_started_again_until_it_ends(tmp_path: Path) -> None:
    context = forkserver(dying.__name__)
    told: list[int] = []
    kills = run_over_kills(
        lambda: context.Process(target=dying.end_at_the_third, args=(tmp_path,)),
        at_most=2,
        seconds=lambda: 3.0,
        after_kill=lambda: told.append(len(list(tmp_path.iterdir()))),
    )
    assert (kills, told) == (2, [1, 2, 3])


def test_work_that_fails_is_no_kill() -> None:
    context = forkserver(dying.__name__)
    with pytest.raises(RuntimeError, match="code 3"):
        run_over_kills(lambda: context.Process(target=dying.fail), at_most=0, seconds=lambda: 0.0)
