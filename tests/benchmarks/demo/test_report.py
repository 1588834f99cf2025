from __future__ import annotations

import json
from dataclasses import replace
from pathlib import Path

import pytest

from labelling import LABEL, VERDICT
from relume.benchmarks.demo.report import claim, render, write
from relume.errors import InputError
from relume.verdict import Kind, Locator


def test_the_report_has_a_row_an_attempt_and_marks_what_differs() -> None:
    labels = [LABEL, replace(LABEL, attempt="other")]
    text = render(labels, [VERDICT, replace(VERDICT, kind=Kind.HANG, culprit=Locator())])
    lines = text.splitlines()
    assert "simulated" in lines[0]
    row = "megatron-lost crash crash gpu_lost node gpu-a01 rank 11 gpu 3 restart gpu-a01"
    assert " ".join(lines[1].split()) == row
    assert lines[2].endswith("restart gpu-a01  <- differs")
    assert "2 simulated attempts:" in lines
    assert "  kind: 50.0% (95 % interval 9.4% to 90.5%)" in lines
    assert "  healthy called failure: 0" in lines


def test_the_report_is_written_as_text_and_as_json(tmp_path: Path) -> None:
    path = write(tmp_path, [LABEL], [VERDICT])
    assert path.read_text(encoding="utf-8") == render([LABEL], [VERDICT]) + "\n"
    document = json.loads((tmp_path / "report.json").read_bytes())
    assert document["schema_version"] == 1
    assert document["simulated"] is True
    (record,) = document["verdicts"]
    assert (record["attempt"], record["culprit"]["gpu"]) == ("megatron-lost", "3")


def test_a_new_folder_and_that_of_an_earlier_demo_may_be_written(tmp_path: Path) -> None:
    folder = tmp_path / "new" / "demo"
    claim(folder)
    claim(folder)  # as after an interrupted run
    write(folder, [LABEL], [VERDICT])
    claim(folder)
    (folder / "notes.txt").write_text("mine")
    claim(folder)
    assert (folder / "notes.txt").read_text() == "mine"
    assert "simulated" in (folder / "report.txt").read_text()


@pytest.mark.parametrize("name", ["report.txt", "report.json", "logs", "logs/mine.log"])
@pytest.mark.parametrize("content", ["", "mine\n", '{"simulated": false}'])
def test_what_no_demo_wrote_is_not_overwritten(tmp_path: Path, name: str, content: str) -> None:
    path = tmp_path / name
    path.parent.mkdir(exist_ok=True)
    path.write_text(content)
    with pytest.raises(InputError, match=r"found something that no demo wrote; .*--folder"):
        claim(tmp_path)
    assert path.read_text() == content
    assert not (tmp_path / "logs" / "labels.jsonl").exists()


def test_a_report_of_somebody_else_in_a_demo_folder_is_kept(tmp_path: Path) -> None:
    claim(tmp_path)
    write(tmp_path, [LABEL], [VERDICT])
    (tmp_path / "report.txt").write_text("mine")
    with pytest.raises(InputError, match=r"doesn't overwrite .*report\.txt"):
        claim(tmp_path)
