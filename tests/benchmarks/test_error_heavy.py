"""The bench `error-heavy`: what its lines are, and what it stores."""

from __future__ import annotations

from itertools import islice
from pathlib import Path
from typing import TYPE_CHECKING

from relume.benchmarks import error_heavy
from relume.benchmarks.result import read, store
from relume.models.templates.drain import Drain

if TYPE_CHECKING:
    import pytest


def test_lines_of_200_templates_differ_from_each_other() -> None:
    lines = list(islice(error_heavy.within_templates(), 5000))
    drain = Drain()
    for line in lines:
        drain.add(line.encode())
    assert len(set(lines)) == 5000
    assert len(drain) == error_heavy.TEMPLATES


def test_distinct_lines_share_no_template() -> None:
    drain = Drain()
    for line in islice(error_heavy.all_distinct(), 500):
        drain.add(line.encode())
    assert [one.count for one in drain.templates()] == [1] * 500


def test_a_quick_look_measures_all_three_kinds(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(error_heavy, "LINES", 20_000)
    record = read(store(error_heavy.run(None, quick=True), tmp_path))
    assert record["corpus"]["lines"] == 2000
    assert record["measures"]["templates_found"] == error_heavy.TEMPLATES
    assert set(record["bars"]) <= set(record["measures"])
    rates = [value for name, value in record["measures"].items() if "_per_cpu_second" in name]
    assert len(rates) == 7
    assert min(rates) > 0
