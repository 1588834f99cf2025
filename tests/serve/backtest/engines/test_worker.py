"""What a worker does that holds too much; `test_dask` has one that ends."""

from __future__ import annotations

import os

from relume.serve.backtest.engines.memory import machine_bytes, own_bytes, too_much
from relume.serve.backtest.engines.worker import watch


def test_who_holds_too_much_is_told_how_much_it_is() -> None:
    told: list[str] = []
    watch(1 << 20, told.append)
    [reason] = told
    assert reason.startswith("it held ")
    assert reason.endswith(" MiB, of 1 MiB that it may")


def test_a_process_holds_less_than_there_is() -> None:
    assert 0 < own_bytes(os.getpid()) < machine_bytes()
    assert too_much(os.getpid(), machine_bytes()) is None
    assert own_bytes(1 << 30) == 0
