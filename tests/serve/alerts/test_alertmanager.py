"""A real Alertmanager takes what is sent, and shows what goes on and what is over."""

from __future__ import annotations

import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
import requests

from alertmanager_lab import alertmanager
from desk import Desk
from relume.clock import ManualClock, SystemClock
from relume.serve.alerts.targets import Alertmanager

PATIENCE_SECONDS = 60.0
Shown = dict[str, dict[str, Any]]


def wait(url: str, is_fine: Callable[[Shown], bool]) -> Shown:
    """Return what it shows, by name of the alert, as soon as that is fine."""
    deadline = time.monotonic() + PATIENCE_SECONDS
    while True:
        alerts = requests.get(f"{url}/api/v2/alerts", timeout=30).json()
        shown = {one["labels"]["alertname"]: one for one in alerts}
        if is_fine(shown):
            return shown
        assert time.monotonic() < deadline, shown


@pytest.mark.needs_server("alertmanager")
def test_alertmanager_shows_what_goes_on_and_forgets_what_is_over(
    tmp_path: Path, desk: Desk
) -> None:
    desk.clock = ManualClock(SystemClock().now() - 10_000_000)
    with alertmanager(tmp_path) as url:
        lane = desk.begun(Alertmanager(url, "alertmanager 1"), base="https://relume.example")
        advice = desk.advise()
        lane.step()
        shown = wait(url, lambda found: len(found) == 2)
        assert set(shown) == {"RelumeAlive", "RelumeIncident"}
        one = shown["RelumeIncident"]
        assert one["labels"]["attempt"] == advice.attempt
        assert one["labels"]["severity"] == "critical"
        assert one["generatorURL"].startswith("https://relume.example/incidents/")
        assert one["annotations"]["description"] == "kernel.log:4 NVRM: Xid 79: lost"
        desk.close(advice)
        lane.step()
        wait(url, lambda found: "RelumeIncident" not in found)
