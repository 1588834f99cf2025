"""`relume report unknown`: families of failures that no rule explains, and rules to begin with."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
from typer.testing import CliRunner, Result

from attempts import DONE, RUN
from importing import make_dataset, make_entry
from relume.cli import app
from relume.clock import from_iso

FIRST = from_iso("2026-03-02T03:14:00Z")
SEALS = [f"vault: seal {n} of pool ward-{n} is broken, nobody may go on" for n in range(6)]
KEEPERS = [f"ERROR keeper {name} \x1b[31mwent\x07 home 'early'" for name in ("ada", "eve", "kim")]
ODD = "the bell of tower 7 tolls"
KNOWN = "[rank3]: torch.OutOfMemoryError: CUDA out of memory. Tried to allocate 2.00 GiB."


def run(*arguments: str | Path) -> Result:
    return CliRunner().invoke(app, [*map(str, arguments)])


def write(folder: Path, ends: dict[int, list[str]], **changes: object) -> list[Any]:
    """Write a log for each number, and return the attempts."""
    made = []
    for number, end in ends.items():
        (folder / f"{number}.out").write_text("".join(f"{line}\n" for line in [*RUN, *end]))
        fields: dict[str, object] = {
            "user": ("ada", "eve")[number % 2],
            "nodes": ("gpu-a01", f"gpu-b{number:02d}"),
            "start": from_iso("2026-03-02T02:59:30Z"),
            "end": FIRST + number * 60_000_000,
        }
        made.append(make_entry(number, f"{number}.out", **(fields | changes)))
    return made


@pytest.fixture(scope="module")
def lake(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("march")
    failed = write(
        folder,
        {
            **{n: ["closing the day", seal] for n, seal in enumerate(SEALS)},
            **{10 + n: [keeper] for n, keeper in enumerate(KEEPERS)},
            20: [ODD],
            21: [KNOWN],
        },
    )
    failed.append(make_entry(30))
    well = write(folder, {40: DONE[-1:]}, state="COMPLETED", exit_code=0)
    make_dataset(folder, [*failed, *well])
    result = run("lake", "import", folder, "--lake", folder / "lake")
    assert result.exit_code == 0, result.output
    return folder / "lake"


@pytest.fixture(scope="module")
def document(lake: Path) -> dict[str, Any]:
    result = run("report", "unknown", "--lake", lake, "--json")
    assert result.exit_code == 0, result.output
    record: dict[str, Any] = json.loads(result.stdout)
    return record


def test_unknown_failures_are_put_into_families(document: dict[str, Any]) -> None:
    assert (document["attempts"], document["failed"], document["unknown"]) == (13, 12, 11)
    sizes = [len(family["attempts"]) for family in document["families"]]
    assert sizes == [6, 3, 1]
    assert document["without_lines"] == ["lab/30@1772607600.0"]


def test_a_family_says_how_far_it_is_spread(document: dict[str, Any]) -> None:
    seals = document["families"][0]
    assert seals["attempts"][0] == "lab/0@1772607600.0"
    assert (seals["jobs"], seals["users"]) == (6, ["ada", "eve"])
    assert seals["nodes"][:2] == [
        {"node": "gpu-a01", "attempts": 6},
        {"node": "gpu-b00", "attempts": 1},
    ]
    assert (seals["first_seen"], seals["last_seen"]) == (
        "2026-03-02T03:14:00.000000Z",
        "2026-03-02T03:19:00.000000Z",
    )
    shared = {line["text"]: line["attempts"] for line in seals["lines"]}
    assert shared == {SEALS[0]: 6, "closing the day": 6}


def test_every_rule_passes_the_test_of_rules(document: dict[str, Any], tmp_path: Path) -> None:
    for number, family in enumerate(document["families"]):
        (tmp_path / f"{number}.toml").write_text(family["rule"])
    result = run("rules", "test", tmp_path)
    assert result.exit_code == 0, result.output
    assert "0 failures" in result.stdout


def test_with_its_rule_a_failure_is_explained(document: dict[str, Any], tmp_path: Path) -> None:
    (tmp_path / "rule.toml").write_text(document["families"][0]["rule"])
    (tmp_path / "new.out").write_text(
        "\n".join([*RUN, "vault: seal 77 of pool north is broken, nobody may go on"])
    )
    result = run("diagnose", tmp_path / "new.out", "--rules", tmp_path / "rule.toml", "--json")
    [verdict] = json.loads(result.stdout)["verdicts"]
    assert verdict["rule"].startswith("site_vault_seal")
    assert verdict["root_cause_line"] == len(RUN)


def test_the_text_is_safe_to_print_and_says_the_same(lake: Path) -> None:
    result = run("report", "unknown", "--lake", lake)
    assert result.exit_code == 0
    assert "\x1b" not in result.stdout
    assert "\x07" not in result.stdout
    head = result.stdout.splitlines()[0]
    assert head == "1. 6 attempts of 6 jobs ended 2026-03-02 03:14 to 2026-03-02 03:19 UTC"
    assert "     6 of 6  vault: seal 0 of pool ward-0 is broken" in result.stdout
    assert "without a line to show: lab/30@1772607600.0" in result.stdout
    assert result.stdout.splitlines()[-1] == (
        "13 attempts: 12 failed, 11 of them for a reason that no rule knows, in 3 families"
    )


def test_rules_are_saved_and_never_written_over(lake: Path, tmp_path: Path) -> None:
    folder = tmp_path / "rules"
    assert "3 new rules" in run("report", "unknown", "--lake", lake, "--save", folder).stderr
    [first, *_] = sorted(folder.iterdir())
    first.write_text("mine")
    again = run("report", "unknown", "--lake", lake, "--save", folder)
    assert "is there already, and stays as it is" in again.stderr
    assert first.read_text() == "mine"


def test_a_window_leaves_out_what_is_older(lake: Path) -> None:
    result = run("report", "unknown", "--lake", lake, "--since", "1d", "--json")
    document = json.loads(result.stdout)
    assert (document["attempts"], document["families"]) == (0, [])
    bad = run("report", "unknown", "--lake", lake, "--since", "soon")
    assert "expected a number and s, m, h, d or w" in str(bad.exception)


def test_what_is_no_lake_is_refused(tmp_path: Path) -> None:
    assert run("report", "unknown", "--lake", tmp_path).exit_code != 0


def test_goodput_of_a_lake_is_printed_and_leaves_the_lake_alone(lake: Path) -> None:
    before = {path: path.stat().st_mtime_ns for path in lake.rglob("*") if path.is_file()}
    result = run("report", "goodput", "--lake", lake, "--gpus-per-node", "4")
    assert result.exit_code == 0, result.output
    assert "Where the time of GPUs went" in result.stdout
    assert "GPUs are not known: counted by its nodes" in result.stdout
    assert {path: path.stat().st_mtime_ns for path in lake.rglob("*") if path.is_file()} == before


def test_goodput_of_the_last_hour_is_that_of_nothing(lake: Path) -> None:
    document = json.loads(
        run("report", "goodput", "--lake", lake, "--since", "1h", "--json").stdout
    )
    assert document["schema_version"] == 1
    assert document["attempts"] == 0
