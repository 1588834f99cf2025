"""`relume report scoreboard` and `false-positives`: text and JSON."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from typer.testing import CliRunner, Result

from advising import CREATED
from relume.cli import app
from relume.clock import SystemClock
from relume.errors import InputError
from relume.models.worth.outcomes import Label
from relume.serve.ledger import Ledger, sqlite_url
from relume.verdict import Evidence
from telling import DAY, HANG, alarm, became, ran, say

HOSTILE = "\x1b[2J[red]gone"
ALWAYS = "5000w"


def run(*arguments: str | Path) -> Result:
    return CliRunner().invoke(app, ["report", *map(str, arguments)])


@pytest.fixture
def file(tmp_path: Path) -> Path:
    """A ledger with a true alarm, two false ones, and one of which nobody knows."""
    file = tmp_path / "ledger.db"
    with Ledger.open(sqlite_url(file)) as ledger:
        ran(ledger, 1, 0, 2 * DAY)
        became(ledger, alarm(ledger, 1), Label.TRUE)
        said = Evidence("x", "root", HOSTILE, 3, HOSTILE, 5)
        became(ledger, alarm(ledger, 2, evidence=(said,)), Label.FALSE, 120.5)
        say(ledger, alarm(ledger, 3, rule=None, measured=None, cause=HOSTILE), right=False)
        alarm(ledger, 4)
    return file


def test_the_scoreboard_is_a_table(file: Path) -> None:
    result = run("scoreboard", "--ledger", file, "--since", ALWAYS)
    rows = [line.split("\t") for line in result.stdout.splitlines()]
    assert rows[0][0] == "rule"
    assert rows[1][:6] == [HANG, "hang", "3", "1", "1", "1"]
    assert rows[2][:6] == ["none", "hang", "1", "0", "1", "0"]
    assert rows[3][:6] == ["all", "", "4", "1", "2", "1"]
    assert rows[1][6].startswith("0.5 (")
    assert "nobody knows whether they were right: 1 alarm, " in result.stderr


def test_an_empty_scoreboard_knows_nothing(file: Path) -> None:
    result = run("scoreboard", "--ledger", file, "--since", "1s")
    assert "unknown" in result.stdout
    assert "nobody knows" not in result.stderr


def test_the_scoreboard_is_a_document(file: Path) -> None:
    board = json.loads(run("scoreboard", "--ledger", file, "--since", ALWAYS, "--json").stdout)
    assert board["schema_version"]
    assert board["total"]["alarms"] == 4
    assert set(board["total"]["precision"]) == {"value", "low", "high"}


def test_false_alarms_are_shown_with_what_avoids_them(file: Path) -> None:
    result = run("false-positives", "--ledger", file, "--since", ALWAYS)
    assert "avoid by  hang.actionable_seconds = 121: the silence was 120 s long" in result.stdout
    assert "avoid by  unknown: no rule of its own" in result.stdout
    assert "measured  silence seconds 100, allowed 90" in result.stdout
    assert "cost  0.00 node-hours: it was only watched" in result.stdout
    assert "\x1b" not in result.stdout
    assert "2 false alarms in 5000w" in result.stderr


def test_false_alarms_are_a_document(file: Path) -> None:
    result = run("false-positives", "--ledger", file, "--since", ALWAYS, "--json")
    found = json.loads(result.stdout)["false_positives"]
    assert [one["avoiding"]["value"] for one in found] == [None, 121.0] or [
        one["avoiding"]["value"] for one in found
    ] == [121.0, None]
    nothing = run("false-positives", "--ledger", file, "--since", "1s", "--json")
    assert json.loads(nothing.stdout)["false_positives"] == []
    assert SystemClock().now() > CREATED


def test_a_span_in_another_form_is_refused(file: Path) -> None:
    for report in ("scoreboard", "false-positives"):
        assert isinstance(run(report, "--ledger", file, "--since", "soon").exception, InputError)
