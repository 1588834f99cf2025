"""Slowdowns of several recorded jobs, and which of them hold across jobs."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from typer.testing import CliRunner

from recording import SECOND, START, clock, entry, judging, logged, recorded
from relume.cli import app
from relume.dataset import AttemptEntry
from relume.serve.backtest.outcome import AcrossJobs, Outcome
from relume.serve.backtest.results import Results
from relume.serve.backtest.run import Recording

CALIBRATION, PACE = 1005 + 16, 5000
"""Steps up to where the guaranteed mode knows the job, and milliseconds of each."""
SLOW_FOR = {7: 13, 8: 40}
"""Slow steps of each job: as many as one alarm takes, and enough for another one."""


def slow(folder: Path, number: int) -> AttemptEntry:
    """A job that becomes a fifth slower for some steps, and is over some steps later."""
    lines, second = [], 0.0
    for step in range(CALIBRATION + 100):
        is_slow = 0 <= step - CALIBRATION - 20 < SLOW_FOR[number]
        milliseconds = (1.2 if is_slow else 1.0) * PACE + 13 * (step * number % 11)
        second += milliseconds / 1000
        lines.append(f"[{clock(second)}] iter {step}: loss 3.9, time {milliseconds:.2f}ms")
    log = logged(folder, f"{number}.out", lines)
    times = {"start": START, "end": START + int(second + 1) * SECOND}
    return entry(number, files=(log,), state="COMPLETED", exit_code=0, **times)


@pytest.fixture(scope="module")
def data(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("across") / "data"
    folder.mkdir()
    recorded(folder, *(slow(folder, number) for number in SLOW_FOR))
    recording = Recording(folder)
    with Results(folder.parent / "out", recording.about(judging())) as results:
        recording.replay(judging(), results)
    return folder


def held(data: Path, false_share: float = 0.1, out: str = "out") -> AcrossJobs:
    recording = Recording(data)
    with Results(data.parent / out, recording.about(judging())) as results:
        outcome = Outcome(recording, results)
        assert list(outcome.attempts())
        return outcome.across_jobs(false_share)


def test_the_one_that_confirms_itself_holds(data: Path) -> None:
    found = held(data)
    once, twice = sorted(found.alarms, key=lambda one: one.attempt)
    assert (once.holds, twice.holds) == (False, True)
    assert once.judged is not None
    assert once.judged.value == pytest.approx(100, rel=0.1)
    assert found.windows == 2


def test_what_is_accepted_is_a_matter_of_the_report(data: Path) -> None:
    assert [one.holds for one in held(data, 1e-12).alarms] == [False, False]


def test_the_order_of_replays_changes_nothing(data: Path) -> None:
    lines = (data.parent / "out" / "results.jsonl").read_text().splitlines(keepends=True)
    other = data.parent / "turned"
    other.mkdir()
    (other / "backtest.json").write_text((data.parent / "out" / "backtest.json").read_text())
    (other / "results.jsonl").write_text("".join(reversed(lines)))
    assert held(data, out="turned") == held(data)


def test_the_command_says_which_ones_hold(data: Path) -> None:
    command = ["backtest", str(data), "--out", str(data.parent / "out")]
    shown = CliRunner().invoke(app, command)
    assert shown.exit_code == 0, shown.output
    assert "Slowdowns across jobs: 1 of 2 hold, of which 10 % may be false" in shown.stdout
    assert "holds across jobs" in shown.stdout
    across = json.loads(CliRunner().invoke(app, [*command, "--json"]).stdout)["across_jobs"]
    assert (across["alarms"], across["held"], across["windows"]) == (2, 1, 2)
    assert [len(one["evidence"]) for one in across["slowdowns"] if one["holds"]] >= [2]
