"""`docs/api.md` and `docs/formats/ledger.md` name everything there is."""

from __future__ import annotations

import doctest
import re
from pathlib import Path

import pytest
from prometheus_client import CollectorRegistry, generate_latest

from advising import ATTEMPT, make_advice, make_attempt
from relume.advice import Mode
from relume.errors import InputError, UnreachableError
from relume.ingest.push.bodies import BodyTooLargeError
from relume.serve import ledger as ledger_package
from relume.serve.alerts.metrics import AlertMetrics
from relume.serve.intake.queue import BusyError
from relume.serve.ledger.errors import AdviceConflictError, ConflictError
from relume.serve.ledger.tables import METADATA
from relume.serve.live.metrics import RunnerMetrics
from serving import Service


def test_every_route_is_described_and_no_other(repository: Path, service: Service) -> None:
    page = (repository / "docs/api.md").read_text()
    named = set(re.findall(r"\b(GET|PUT|POST|DELETE) (/[\w/{}-]+)", page))
    paths = service.open.get("/openapi.json").json()["paths"]
    assert named == {(method.upper(), path) for path in paths for method in paths[path]}


def test_every_problem_is_described_and_no_other(repository: Path) -> None:
    page = (repository / "docs/api.md").read_text()
    named = set(re.findall(r"^\| `(\w+)` \| \d{3} \|", page, re.MULTILINE))
    every = [getattr(ledger_package, name) for name in ledger_package.__all__ if "Error" in name]
    inside = {ConflictError, AdviceConflictError}  # a base, and one that no route can raise
    answered = {InputError, UnreachableError, BusyError, BodyTooLargeError, *every} - inside
    assert named == {error.error_type for error in answered}


def test_every_metric_is_described_and_no_other(repository: Path, service: Service) -> None:
    page = (repository / "docs/api.md").read_text()
    named = set(re.findall(r"^\| `(relume_\w+)` \|", page, re.MULTILINE))
    runner = CollectorRegistry()
    RunnerMetrics(runner)
    AlertMetrics(runner)
    text = service.open.get("/metrics").text + generate_latest(runner).decode()
    printed = re.findall(r"^# HELP (\w+)", text, re.MULTILINE)
    assert named == {name for name in printed if not name.endswith("_created")}


@pytest.mark.parametrize("table", METADATA.tables)
def test_every_column_is_described_and_no_other(repository: Path, table: str) -> None:
    page = (repository / "docs/formats/ledger.md").read_text()
    section = page.split(f"## {table}\n")[1].split("\n## ")[0]
    cells = re.findall(r"^\| ([a-z_, ]+) \| (?:text|integer|boolean)", section, re.MULTILINE)
    named = [name for cell in cells for name in cell.split(", ")]
    assert sorted(named) == sorted(METADATA.tables[table].columns.keys())


def test_what_is_pushed_is_described(service: Service) -> None:
    paths = service.open.get("/openapi.json").json()["paths"]
    pushed = [
        path for path, those in paths.items() if "ingest" in those.get("post", {}).get("tags", ())
    ]
    assert len(pushed) == 5
    for path in pushed:
        assert paths[path]["post"]["requestBody"]["content"], path
    logs = paths["/v1/logs"]["post"]
    assert logs["requestBody"]["content"].keys() == logs["responses"]["200"]["content"].keys()


def test_the_examples_of_the_page_do_what_it_says(repository: Path, service: Service) -> None:
    service.ledger.put_advice(make_advice(mode=Mode.APPROVE, decided_at=None))
    for attempt in (ATTEMPT, "lab/124@1767323046.0"):
        service.ledger.put_attempt(make_attempt(attempt=attempt))
    page = (repository / "docs/api.md").read_text()
    names = {"client": service.control}
    examples = doctest.DocTestParser().get_doctest(page, names, "docs/api.md", None, 0)
    assert len(examples.examples) > 10
    assert doctest.DocTestRunner().run(examples).failed == 0
