from __future__ import annotations

import json
from dataclasses import replace
from pathlib import Path

from labelling import LABEL, VERDICT
from relume.benchmarks.demo.report import render, write
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
