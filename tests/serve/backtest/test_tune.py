"""Settings found on earlier jobs, judged on later ones: by recordings of made-up jobs."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
from typer.testing import CliRunner

from recording import SECOND, START, clock, entry, judging, logged, recorded
from relume.cli import app
from relume.dataset import AttemptEntry, Incident
from relume.errors import InputError
from relume.serve.backtest.run import Recording
from relume.serve.backtest.tune import KNOBS, Tuning, tune, value_of, with_values
from relume.settings import Settings
from relume.verdict import Kind

PAUSE, HANG = 400, 1200
"""Seconds: a save that says nothing of itself, and a hang. A new job's patience is 300."""
BUDGET_KNOB = "hang.false_alarms_per_job_day"
HOUR = 3600
FEW = {
    kind: tuple(knob._replace(values=knob.values[::2]) for knob in knobs)
    for kind, knobs in KNOBS.items()
}
"""Every second value: replays are what takes the time."""


def job(folder: Path, number: int, begin: int, *, pause: int = 0, hang: int = 0) -> AttemptEntry:
    """A job of its own: a step a second, a pause in between, or a hang at the end."""
    times = [*range(100), *range(100 + pause, 200 + pause)]
    lines = [
        f"[{clock(begin + at)}] iter {step}: loss 3.9, time 1000.00ms"
        for step, at in enumerate(times, start=1)
    ]
    log = logged(folder, f"{number}.out", lines)
    onset, end = begin + times[-1], begin + times[-1] + max(hang, 1)
    fields: dict[str, Any] = {
        "files": (log,),
        "start": START + begin * SECOND,
        "end": START + end * SECOND,
        "state": "CANCELLED" if hang else "COMPLETED",
        "exit_code": None if hang else 0,
        "job_name": f"job {number}",
    }
    made = entry(number, **fields)
    if not hang:
        return made
    incident = Incident(
        incident_id=f"hang {number}",
        attempt=made.attempt,
        kind=Kind.HANG,
        onset=START + onset * SECOND,
        end=START + end * SECOND,
    )
    return entry(number, **fields, incidents=(incident,))


def pausing(folder: Path) -> Path:
    """Jobs with a long pause and hung ones, some of either on two days."""
    folder.mkdir()
    made = []
    for day in range(2):
        begin = day * 24 * HOUR
        made += [
            job(folder, 10 + 10 * day, begin, pause=PAUSE),
            job(folder, 11 + 10 * day, begin + HOUR, hang=HANG),
        ]
    recorded(folder, *made)
    return folder


def tuned(
    folder: Path, out: Path, budget: float = 0.01, settings: Settings | None = None
) -> Tuning:
    known = settings or Settings()
    return tune(Recording(folder), judging(), known, budget=budget, folder=out, knobs=FEW)


@pytest.fixture(scope="module")
def both(tmp_path_factory: pytest.TempPathFactory) -> tuple[Path, Tuning, Path]:
    base = tmp_path_factory.mktemp("tune")
    data, out = pausing(base / "data"), base / "out"
    return data, tuned(data, out), out


def test_patience_grows_where_pauses_were_taken_for_hangs(both: tuple[Path, Tuning, Path]) -> None:
    _, tuning, _ = both
    hangs, slow = tuning.tuned
    assert (hangs.kind, slow.kind) == (Kind.HANG, Kind.STRAGGLER)
    assert [one.false_alarms for one in hangs.earlier] == [1, 0]
    assert [one.false_alarms for one in hangs.later] == [1, 0]
    assert [one.found for one in hangs.later] == [1, 1]
    assert tuning.proposed[BUDGET_KNOB] < value_of(Settings(), BUDGET_KNOB)
    assert slow.changed == {}


def test_halves_share_no_run_and_no_time(both: tuple[Path, Tuning, Path]) -> None:
    _, tuning, _ = both
    halves = tuning.split
    assert (len(halves.earlier), len(halves.later), halves.astride) == (2, 2, frozenset())
    assert halves.cut is not None
    assert halves.cut > START + 2 * HOUR * SECOND


def test_what_was_replayed_is_gone_on_from(both: tuple[Path, Tuning, Path]) -> None:
    data, tuning, out = both
    before = {path: path.read_text() for path in out.rglob("results.jsonl")}
    again = tuned(data, out)
    assert again == tuning
    assert {path: path.read_text() for path in out.rglob("results.jsonl")} == before


def test_few_quiet_days_never_propose_to_alarm_sooner(tmp_path: Path) -> None:
    folder = tmp_path / "data"
    folder.mkdir()
    recorded(
        folder,
        *(job(folder, 30 + day, day * 24 * HOUR, hang=HANG) for day in range(2)),
        *(job(folder, 40 + day, day * 24 * HOUR) for day in range(2)),
    )
    tuning = tuned(folder, tmp_path / "out")
    assert [one.found for one in tuning.tuned[0].earlier] == [1, 1]
    assert tuning.proposed == {}


def test_what_does_not_hold_on_later_jobs_is_not_proposed(tmp_path: Path) -> None:
    folder = tmp_path / "data"
    folder.mkdir()
    recorded(
        folder,
        job(folder, 10, 0, pause=PAUSE),
        job(folder, 11, HOUR, hang=HANG),
        job(folder, 20, 24 * HOUR),
        job(folder, 21, 25 * HOUR, hang=350),  # over before the longer patience is
    )
    tuning = tuned(folder, tmp_path / "out")
    hangs = tuning.tuned[0]
    assert hangs.changed
    assert [one.found for one in hangs.later] == [1, 0]
    assert tuning.proposed == {}


def test_jobs_at_one_time_cannot_be_split(tmp_path: Path) -> None:
    folder = tmp_path / "data"
    folder.mkdir()
    recorded(folder, job(folder, 1, 0), job(folder, 2, 10))
    with pytest.raises(InputError, match="can't be tuned"):
        tuned(folder, tmp_path / "out")


@pytest.mark.parametrize("budget", [0.0, -1.0, 2.0, float("nan")])
def test_a_budget_that_is_none_is_refused(tmp_path: Path, budget: float) -> None:
    with pytest.raises(InputError, match="budget"):
        tuned(pausing(tmp_path / "data"), tmp_path / "out", budget)


def test_every_value_that_is_tried_is_one_that_a_configuration_may_have() -> None:
    for knobs in KNOBS.values():
        for knob in knobs:
            for value in knob.values:
                section, key = knob.name.split(".")
                assert (
                    value_of(Settings.model_validate({section: {key: value}}), knob.name) == value
                )
                assert value_of(with_values(Settings(), {knob.name: value}), knob.name) == value


def test_the_command_prints_tables_and_lines_for_the_configuration(tmp_path: Path) -> None:
    data, out = pausing(tmp_path / "data"), tmp_path / "out"
    command = ["backtest", str(data), "--tune", "0.01", "--out", str(out)]
    shown = CliRunner().invoke(app, command)
    assert shown.exit_code == 0, shown.output
    assert "[hang]\nfalse_alarms_per_job_day = 0.00" in shown.stdout
    assert "not enough job-days to tell" in shown.stderr
    assert "1 of 1 (0.21 to 1.00)" in shown.stdout
    document = json.loads(CliRunner().invoke(app, [*command, "--json"]).stdout)
    assert document["runs"] == {"earlier": 2, "later": 2, "astride": 0}
    earlier = document["kinds"]["hang"]["earlier"]
    assert earlier["present"]["false_alarms"] == 1
    assert earlier["present"]["recall"]["total"] == 1
    assert earlier["enough_job_days"] is False
    assert list(document["proposed"]) == [BUDGET_KNOB]
