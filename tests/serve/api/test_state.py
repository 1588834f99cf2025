"""What Prometheus sees of the service: by its own rules, and never a series of a job."""

from __future__ import annotations

import re
import sqlite3
import subprocess
from contextlib import closing
from pathlib import Path

import pytest

from advising import make_advice
from relume.advice import Operation
from relume.serve.api import PartStatus
from relume.serve.ledger import Closing
from relume.verdict import Health, Kind
from serving import Service


def test_open_incidents_are_counted_by_kind_and_advice(service: Service) -> None:
    for number in range(3):
        service.ledger.put_advice(make_advice(attempt=f"lab/{number}@1.0"))
    watched = make_advice(attempt="lab/8@1.0", kind=Kind.STRAGGLER, operation=Operation.OBSERVE)
    service.ledger.put_advice(watched)
    over = make_advice(attempt="lab/9@1.0")
    service.ledger.put_advice(over)
    service.ledger.note(Closing(advice_id=over.advice_id, at=over.created_at, ending="over"))
    named = "relume_open_incidents"
    assert service.metric(f'{named}{{kind="crash",operation="RESTART"}}') == 3.0
    assert service.metric(f'{named}{{kind="straggler",operation="OBSERVE"}}') == 1.0


def test_parts_are_shown_as_readyz_says(service: Service) -> None:
    service.parts["late"] = PartStatus(Health.UNKNOWN, "no word yet")
    shown = [service.metric(f'relume_part_healthy{{part="{name}"}}') for name in ("tail", "late")]
    assert shown == [1.0, 0.0]
    assert service.metric('relume_part_healthy{part="ledger"}') == 1.0


def test_a_ledger_that_cannot_be_read_is_a_part_that_fails(
    service: Service, tmp_path: Path
) -> None:
    with closing(sqlite3.connect(tmp_path / "ledger.db")) as database:
        database.execute("ALTER TABLE incidents RENAME TO elsewhere")
    assert service.metric('relume_part_healthy{part="ledger"}') == 0.0


def test_no_series_names_a_job(service: Service) -> None:
    service.ledger.put_advice(make_advice(attempt="lab/4711@1767323045.0"))
    service.open.get("/v1/attempts/4711-0")
    assert "4711" not in service.open.get("/metrics").text


@pytest.mark.needs_server("prometheus")
def test_promtool_finds_nothing_wrong(service: Service) -> None:
    service.ledger.put_advice(make_advice())
    text = service.open.get("/metrics").text
    assert re.search(r"^relume_open_incidents\{", text, re.MULTILINE)
    done = subprocess.run(
        ["promtool", "check", "metrics"],  # noqa: S607
        input=text,
        capture_output=True,
        text=True,
        check=False,
    )
    assert (done.returncode, done.stdout, done.stderr) == (0, "", "")
