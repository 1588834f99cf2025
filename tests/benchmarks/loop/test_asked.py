from __future__ import annotations

import os
import subprocess
from pathlib import Path

import pytest

from relume.benchmarks.loop import asked
from relume.benchmarks.loop.asked import Asked
from relume.errors import UnreachableError


def command(*argv: str) -> Asked:
    return Asked(1, "control", argv)


@pytest.mark.parametrize(
    "argv",
    [
        ("scontrol", "requeuehold", "7"),
        ("scontrol", "requeuehold", "Incomplete", "7"),
        ("scontrol", "requeue", "7"),
        ("scontrol", "release", "7"),
        ("scontrol", "update", "JobId=7", "ExcNodeList=node[1-2]"),
        ("scancel", "7"),
    ],
)
def test_what_may_change_a_job_is_counted_for_it(argv: tuple[str, ...]) -> None:
    one = command(*argv)
    assert one.changes
    assert one.job_id == "7"
    assert asked.changing([one, command("scancel", "8")], "7") == [one]
    assert one.requeues is argv[1].startswith("requeue")
    assert one.releases is (argv[1] == "release")


@pytest.mark.parametrize("words", [("ping",), ("show", "job", "7"), ("show", "config")])
def test_reading_is_no_change(words: tuple[str, ...]) -> None:
    assert asked.changing([command("scontrol", *words)]) == []


def test_the_programs_write_down_what_they_are_asked_and_do_it(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    real = tmp_path / "real"
    real.mkdir()
    for name in ("scontrol", "scancel"):
        program = real / name
        program.write_text('#!/bin/sh\nprintf "<%s>" "$@"\nexit 3\n')
        program.chmod(0o755)
    monkeypatch.setenv("PATH", f"{real}:{os.environ['PATH']}")
    log = tmp_path / "a folder" / "asked.tsv"
    log.parent.mkdir()
    asked.install(tmp_path / "bin", log)
    text = '{"relume": {"message": "50 % of it"}}'
    argv = ("update", "JobId=7", f"AdminComment={text}")

    done = subprocess.run(
        [tmp_path / "bin" / "scontrol", *argv],
        env=os.environ | {asked.WHO: "control"},
        capture_output=True,
        text=True,
        check=False,
    )
    subprocess.run([tmp_path / "bin" / "scancel", "8"], check=False, capture_output=True)

    assert (done.stdout, done.returncode) == (f"<update><JobId=7><AdminComment={text}>", 3)
    first, second = asked.read(log)
    assert (first.by, first.argv) == ("control", ("scontrol", *argv))
    assert (second.by, second.argv) == (asked.HELPER, ("scancel", "8"))
    assert first.at <= second.at


def test_nothing_was_asked_before_the_first_command(tmp_path: Path) -> None:
    assert asked.read(tmp_path / "asked.tsv") == []


def test_without_slurm_there_are_no_programs(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("PATH", str(tmp_path))
    with pytest.raises(UnreachableError, match="program scontrol; found none on PATH"):
        asked.install(tmp_path / "bin", tmp_path / "asked.tsv")
