"""The healthy history of a lake: who adds to it, what is asked of it, and that it may be broken."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
from typer.testing import CliRunner

from attempts import DONE, RUN, later
from importing import make_dataset, make_entry
from living import Live
from relume.cli import app
from relume.errors import InputError
from relume.models.templates.familiar import Seen
from relume.models.templates.history import TemplateHistory
from relume.serve.healthy import (
    HISTORY_FILE,
    LakeHistory,
    load_history,
    load_or_begin,
    save_history,
)

WARD = "ward 3 is open"
SEAL = "vault: seal 4 is open, nobody may go on"
RECORD = "JobID|State|ExitCode|NodeList\n7|FAILED|1:0|gpu-a07\n"
WELL = {"state": "COMPLETED", "exit_code": 0}


def run(*arguments: str | Path) -> Any:
    result = CliRunner().invoke(app, [*map(str, arguments)])
    assert result.exit_code in {0, 1}, result.output
    return result


@pytest.fixture
def data(tmp_path: Path) -> Path:
    """Two attempts of one job ended well, one failed; all of them opened wards."""
    folder = tmp_path / "llm"
    folder.mkdir()
    made = []
    for number, end in enumerate([DONE[-1:], DONE[-1:], [SEAL]]):
        name = f"slurm-{number + 7}.out"
        lines = [*RUN, *later(WARD), *end]
        (folder / name).write_text("".join(f"{line}\n" for line in lines))
        state = WELL if number < 2 else {}
        made.append(make_entry(number + 7, name, start=None, end=None, **state))
    make_dataset(folder, made)
    return folder


@pytest.fixture
def lake(tmp_path: Path, data: Path) -> Path:
    run("lake", "import", data, "--lake", tmp_path / "lake")
    return tmp_path / "lake"


def known(lake: Path) -> TemplateHistory:
    history = load_history(lake)
    assert history is not None
    return history


def test_an_import_learns_once_from_attempts_that_accounting_calls_completed(
    lake: Path, data: Path
) -> None:
    view = known(lake).familiar(["log llm/slurm-#.out"])
    assert view.family_attempts == 2
    assert view.seen(b"2026-03-03 01:02:03 ward 9 is open") == Seen(2, 2)
    assert view.seen(SEAL.encode()) == Seen(0, 0)
    before = (lake / HISTORY_FILE).read_bytes()
    run("lake", "import", data, "--lake", lake)
    assert (lake / HISTORY_FILE).read_bytes() == before


def diagnosed(folder: Path, *options: str | Path) -> list[dict[str, Any]]:
    document = json.loads(run("diagnose", folder, "--json", *options).stdout)
    lines: list[dict[str, Any]] = document["verdicts"][0]["unrecognised"]
    return lines


@pytest.fixture
def failed(tmp_path: Path) -> Path:
    """A new attempt of the job: its folder is of the same name, elsewhere."""
    folder = tmp_path / "elsewhere" / "llm"
    folder.mkdir(parents=True)
    lines = [*RUN, *later(WARD, 9), SEAL]
    (folder / "slurm-1234.out").write_text("".join(f"{line}\n" for line in lines))
    (folder / "sacct.txt").write_text(RECORD)
    return folder


def test_diagnose_asks_the_lake_what_is_usual(lake: Path, failed: Path) -> None:
    alone = {line["text"].rpartition(" ward")[1]: line["why"][0] for line in diagnosed(failed)}
    assert alone == {"": "nothing like it earlier", " ward": "nothing like it earlier"}
    [line] = diagnosed(failed, "--lake", lake)
    assert line["text"] == SEAL
    assert line["why"][0] == "new: in none of 2 healthy attempts of this job"


def test_the_configuration_may_name_the_lake(lake: Path, failed: Path, tmp_path: Path) -> None:
    config = tmp_path / "relume.toml"
    config.write_text(f'[diagnose]\nlake = "{lake}"\n')
    assert [line["text"] for line in diagnosed(failed, "--config", config)] == [SEAL]


def test_a_lake_without_a_history_is_told_and_no_lake_is_refused(
    failed: Path, tmp_path: Path
) -> None:
    (tmp_path / "empty").mkdir()
    result = run("diagnose", failed, "--lake", tmp_path / "empty")
    assert "knows of no healthy attempt yet" in result.stderr
    refused = CliRunner().invoke(app, ["diagnose", str(failed), "--lake", str(tmp_path / "no")])
    assert "found no such folder; expected a lake" in str(refused.exception)


def test_a_backtest_of_a_lake_learns_what_ended_well_and_a_scan_changes_nothing(
    tmp_path: Path,
) -> None:
    folder, lake = tmp_path / "llm", tmp_path / "lake"
    folder.mkdir()
    text = "".join(f"{line}\n" for line in [*RUN, *later(WARD, 9, seconds=2), *DONE[-1:]])
    (folder / "7.out").write_text(text)
    untold = make_entry(7, "7.out", state=None, exit_code=None, start=None, end=None)
    make_dataset(folder, [untold])
    run("lake", "import", folder, "--lake", lake)
    assert not (lake / HISTORY_FILE).exists()
    run("scan", "--lake", lake)
    assert not (lake / HISTORY_FILE).exists()
    run("backtest", lake)
    assert known(lake).familiar(["log llm/#.out"]).family_attempts == 1


def test_a_scan_and_a_backtest_show_what_is_new_against_the_lake(
    lake: Path, tmp_path: Path
) -> None:
    document = json.loads(run("scan", "--lake", lake, "--json").stdout)
    [verdict] = document["verdicts"]
    assert [line["text"] for line in verdict["unrecognised"]] == [SEAL]
    run("backtest", lake, "--out", tmp_path / "out")
    results = (tmp_path / "out" / "results.jsonl").read_text().splitlines()
    shown = [
        line["text"]
        for unit in map(json.loads, results)
        for attempt in unit["attempts"]
        for line in attempt["verdict"]["unrecognised"]
    ]
    assert shown == [SEAL]


def test_a_service_learns_from_jobs_that_end_well_and_goes_on_after_a_restart(
    tmp_path: Path,
) -> None:
    live = Live(tmp_path)
    live.clock.advance(2)
    live.write("starting", WARD, mode="w")
    live.tell(live.job())
    live.train(30)
    live.write("Training complete.")
    live.tick()
    live.tell(live.end_of(0, "COMPLETED", exit_code=0))
    live.tick(700)
    lake = live.path / "lake"
    assert known(lake).familiar(["log logs/job.out"]).seen(WARD.encode()) == Seen(1, 1)
    before = known(lake).state()
    live.restart()
    live.tick(3)
    live.close()
    assert known(lake).state() == before


@pytest.mark.parametrize(
    "content", [b"", b"{", b"\xff\xfe", b"[1, 2]", b'{"format": 1}', b'{"drain": 3}']
)
def test_a_broken_history_is_told_and_learned_anew_by_those_who_learn(
    content: bytes, tmp_path: Path
) -> None:
    (tmp_path / HISTORY_FILE).write_bytes(content)
    with pytest.raises(InputError, match="remove it: it is learned anew"):
        load_history(tmp_path)
    assert len(load_or_begin(tmp_path)) == 0


def test_a_history_of_a_newer_format_is_refused(tmp_path: Path) -> None:
    save_history(tmp_path, TemplateHistory())
    text = (tmp_path / HISTORY_FILE).read_text().replace('"format":1', '"format":2')
    (tmp_path / HISTORY_FILE).write_text(text)
    with pytest.raises(InputError, match="found format 2; expected format 1"):
        load_history(tmp_path)


def test_a_history_that_can_t_be_kept_stops_nobody(
    tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    book = LakeHistory(tmp_path / "gone")
    book.history.learn("lab/1@0.0", (), [WARD.encode()])
    book.keep(10**15)
    assert "cannot keep the healthy history" in caplog.text
