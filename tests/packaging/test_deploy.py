"""Files for Prometheus and Grafana: valid, tested, and about metrics that the service has."""

from __future__ import annotations

import json
import re
import subprocess
from pathlib import Path

import pytest
from prometheus_client import CollectorRegistry

from relume.serve.alerts.metrics import AlertMetrics
from relume.serve.api import PartStatus
from relume.serve.api.metrics import ApiMetrics
from relume.serve.api.probe import LedgerProbe
from relume.serve.api.state import ServiceState
from relume.serve.ledger import Ledger, sqlite_url
from relume.serve.live.metrics import RunnerMetrics
from relume.verdict import Health

NAME = re.compile(r"\brelume_\w+")
RULES = "deploy/prometheus/relume.rules.yml"
SUFFIXES = {
    "counter": ("_total",),
    "histogram": ("_bucket", "_count", "_sum"),
    "gauge": ("",),
}

HEALTHY = {"runner": PartStatus(Health.HEALTHY)}


def promtool(*arguments: str | Path, cwd: Path | None = None) -> str:
    command = ["promtool", *map(str, arguments)]
    done = subprocess.run(command, capture_output=True, text=True, check=False, cwd=cwd)
    assert done.returncode == 0, done.stdout + done.stderr
    return done.stdout


@pytest.fixture(scope="module")
def names(tmp_path_factory: pytest.TempPathFactory) -> set[str]:
    """The names of all series that a service may have."""
    registry = CollectorRegistry()
    for metrics in (RunnerMetrics, ApiMetrics, AlertMetrics):
        metrics(registry)
    with Ledger.open(sqlite_url(tmp_path_factory.mktemp("ledger") / "ledger.db")) as ledger:
        registry.register(ServiceState(ledger, lambda: HEALTHY, LedgerProbe(ledger)))
        families = list(registry.collect())
    return {one.name + suffix for one in families for suffix in SUFFIXES[one.type]}


def test_rules_ask_for_metrics_that_there_are(repository: Path, names: set[str]) -> None:
    asked = set(NAME.findall((repository / RULES).read_text()))
    assert len(asked) > 5
    assert asked <= names


def test_each_rule_says_what_to_do_and_is_tested(repository: Path) -> None:
    rules = (repository / RULES).read_text()
    alerts = re.findall(r"- alert: (\w+)", rules)
    assert len(alerts) == rules.count("summary: ") == rules.count("action: ")
    tests = (repository / "deploy/prometheus/relume.test.yml").read_text()
    assert {name for name in alerts if f"alertname: {name}" in tests} == set(alerts)
    assert f"value: {len(alerts)}" in tests


def test_panels_ask_for_metrics_that_there_are(repository: Path, names: set[str]) -> None:
    board = json.loads((repository / "deploy/grafana/relume.json").read_text())
    targets = [one for panel in board["panels"] for one in panel["targets"]]
    asked = {name for one in targets for name in NAME.findall(one["expr"])}
    assert len(asked) > 15
    assert asked <= names
    places = [tuple(panel["gridPos"].values()) for panel in board["panels"]]
    assert len({panel["id"] for panel in board["panels"]}) == len(set(places)) == len(places)
    assert all(one["datasource"]["uid"] == "${datasource}" for one in targets)


@pytest.mark.needs_server("prometheus")
def test_promtool_takes_the_rules_and_their_tests(repository: Path) -> None:
    assert "rules found" in promtool("check", "rules", repository / RULES)
    promtool("test", "rules", "relume.test.yml", cwd=repository / "deploy/prometheus")
