"""Regimes: only what is declared makes another stream."""

from __future__ import annotations

from relume.models.straggler.regimes import SETTLED, Regimes
from relume.models.straggler.steps import StepTime


def regime(regimes: Regimes, **known: object) -> str | None:
    return regimes.of(StepTime(value=5.0, **known))  # type: ignore[arg-type]


def test_the_warm_up_belongs_nowhere_and_comes_again_after_a_restart() -> None:
    regimes = Regimes(warm_up=2)
    first = [regime(regimes) for _ in range(3)]
    again = [regime(regimes, run=1) for _ in range(3)]
    assert first == [None, None, "0.0"]
    assert again == [None, None, "1.0"]


def test_what_disturbs_a_step_names_another_stream() -> None:
    regimes = Regimes(warm_up=0)
    assert regime(regimes, disturbed=True) == "0.0.disturbed"
    assert regime(regimes) == "0.0"


def test_one_odd_step_is_no_other_batch() -> None:
    regimes = Regimes(warm_up=0)
    works = [512.0] * 5 + [1024.0] * (SETTLED - 1) + [512.0] * 5
    assert {regime(regimes, work=work) for work in works} == {"0.0"}


def test_a_batch_that_stays_is_another_regime_and_going_back_is_a_third() -> None:
    regimes = Regimes(warm_up=0)
    names = [regime(regimes, work=w) for w in [512.0] * 9 + [1024.0] * 9 + [512.0] * 9]
    assert list(dict.fromkeys(names)) == ["0.0", "0.1", "0.2"]


def test_lines_without_the_work_change_nothing() -> None:
    regimes = Regimes(warm_up=0)
    works = [512.0, None, 512.0, None]
    assert {regime(regimes, work=work) for work in works} == {"0.0"}
