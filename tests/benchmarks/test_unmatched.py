"""The bench `unmatched`, on recordings made by hand."""

from __future__ import annotations

import json
from typing import Any

import pytest

from attempts import DONE, RUN
from relume.benchmarks import unmatched
from relume.benchmarks.corpora.mlperf import FOLDER
from relume.benchmarks.result import read, store

SEAL = "vault: seal 4 is open, nobody may go on"
DIARY = """# try 2
```
srun: error: Node failure on gpu-a07
slurmstepd: error: *** STEP 7.0 ON gpu-a01 CANCELLED AT 2026-03-02T03:13:21 DUE TO NODE FAILURE ***
```
"""


def case(name: str, text: list[str], line: int, **changes: Any) -> dict[str, Any]:
    return {
        "id": name,
        "class": "made_up",
        "kind": "crash",
        "fault_domain": "user",
        "root_cause_line": line,
        "culprit": None,
        "text": text,
        "accept": {
            "kind": ["crash"],
            "line": [line],
            "domain": ["workload"],
            "culprit_optional": False,
            "culprit_also": [],
        },
    } | changes


@pytest.fixture(scope="module")
def record(tmp_path_factory: pytest.TempPathFactory) -> dict[str, Any]:
    folder = tmp_path_factory.mktemp("data")
    (folder / "failure-cases").mkdir()
    cases = [
        case("known", ["[rank3]: ValueError: no seal", *["goodbye"] * 6], 0),
        case(
            "odd", ["the watch begins", f"ERROR {SEAL}", *(f"door {n} shut" for n in range(6))], 1
        ),
        case("fine", ["all is well"], 0, kind="benign", accept=case("", [], 0)["accept"]),
    ]
    text = "".join(json.dumps(one) + "\n" for one in cases)
    (folder / "failure-cases" / "cases.jsonl").write_text(text)
    for number in range(2):
        log = folder / FOLDER / "site" / "system" / "bert" / f"result_{number}.txt"
        log.parent.mkdir(parents=True, exist_ok=True)
        log.write_text("".join(f"{line}\n" for line in [*RUN, *DONE[-1:]]))
    diary = folder / "m4-logs" / "tr_141-hanging" / "tr_141_num_workers_02" / "README.md"
    diary.parent.mkdir(parents=True)
    diary.write_text(DIARY)
    bgl = folder / "loghub" / "BGL" / "BGL_2k.log"
    bgl.parent.mkdir(parents=True)
    normal = [f"- {n} R0{n % 8} RAS KERNEL INFO ward {n} is open" for n in range(300)]
    alert = "KERNSEAL 301 R07 RAS KERNEL FATAL seal interrupt"
    bgl.write_text("".join(f"{line}\n" for line in [*normal[:200], alert, *normal[200:]]))
    return read(store(unmatched.run(folder), folder / "results"))


def test_failures_without_a_rule_are_counted_by_corpus(record: dict[str, Any]) -> None:
    measures = record["measures"]
    assert (measures["failure_cases_failures"], measures["failure_cases_without_a_rule"]) == (2, 1)
    assert (measures["m4_failures"], measures["m4_without_a_rule"]) == (1, 0)
    assert (measures["bgl_failures"], measures["bgl_without_a_rule"]) == (1, 1)
    assert measures["failures_without_a_rule"] == round(1 / 3, 4)
    assert measures["shown_of_those_without_a_rule"] == 1.0
    assert record["notes"]["without_a_rule"]["failure_cases"] == ["odd"]
    assert record["bars"]["failures_without_a_rule"]["pass"] is False


def test_the_labelled_line_is_looked_for_without_any_rule(record: dict[str, Any]) -> None:
    measures = record["measures"]
    for name in ("excerpts", "excerpts_of_more_lines", "spliced", "spliced_with_history", "bgl"):
        assert measures[f"{name}_labelled_line_first"]["value"] == 1.0, name
        assert measures[f"{name}_labelled_line_in_last_lines"]["value"] == 0.0, name
    assert measures["spliced_shown_lines_of_the_failure"] == 1.0


def test_a_result_holds_none_of_the_recorded_text(record: dict[str, Any]) -> None:
    text = json.dumps(record)
    assert "seal" not in text.lower()
    assert "result_0" not in text
