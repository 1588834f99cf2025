"""Bench `page`: a small look in a real browser, and what it fills a ledger with."""

from __future__ import annotations

from pathlib import Path

import pytest

from paging import NOW
from relume.benchmarks.page import bench, browser
from relume.benchmarks.page.filling import HOSTILE, fill
from relume.benchmarks.result import read, store
from relume.errors import UnreachableError
from relume.serve.ledger import Ledger, sqlite_url


def test_every_incident_that_is_made_is_open_and_another(tmp_path: Path) -> None:
    with Ledger.open(sqlite_url(tmp_path / "ledger.db")) as ledger:
        advice = fill(ledger, NOW, 120)
        assert ledger.count_incidents()[0] == len({one.attempt for one in advice}) == 120
        hostile = [one for one in advice if one.evidence[0].text == HOSTILE]
        assert len(hostile) == 3


@pytest.mark.needs_server("chromium")
def test_a_small_look(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(bench, "INCIDENTS", 3)
    record = read(store(bench.run(None, quick=True), tmp_path))
    measures = record["measures"]
    assert set(record["bars"]) <= set(measures)
    assert measures["open_incidents"] == 3
    assert measures["outside_requests"] == measures["console_complaints"] == 0
    assert 50 < measures["page_kilobytes"] < 500
    assert set(record["notes"]) == set(bench.PAGES)


def test_without_a_browser_it_says_what_to_install(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("PATH", "")
    with pytest.raises(UnreachableError, match="apt-get install chromium"), browser.chromium():
        pass
