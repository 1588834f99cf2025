"""`relume scan` as operators and scripts see it."""

from __future__ import annotations

import json
import os
import re
from pathlib import Path
from pwd import getpwuid
from typing import Any

import pytest
from typer.testing import CliRunner, Result

from attempts import RUN
from relume.cli import app
from relume.errors import RelumeError
from relume.slurm.history import FIELDS
from scanning import OOM, table, write
from scripted import ScriptedSlurm

ME = getpwuid(os.geteuid()).pw_name


def run(*arguments: str, stdin: str | None = None) -> Result:
    return CliRunner().invoke(app, ["scan", *arguments], input=stdin)


def error_of(*arguments: str) -> RelumeError:
    result = run(*arguments)
    assert isinstance(result.exception, RelumeError), result.output
    return result.exception


@pytest.fixture
def site(tmp_path: Path) -> tuple[str, ...]:
    """Return the options that name accounting and logs of four jobs."""
    rows = [
        {"JobID": "7"},
        {"JobID": "8", "State": "COMPLETED", "ExitCode": "0:0"},
        {"JobID": "9", "User": "bob"},
        {"JobID": "10", "User": "bob"},
    ]
    accounting = write(tmp_path, "sacct.txt", table(*rows))
    for job in ("7", "9"):
        write(tmp_path, f"logs/{job}.out", [*RUN, OOM])
    write(tmp_path, "logs/8.out", RUN)
    return ("--accounting", str(accounting), "--logs", f"{tmp_path}/logs/%j.out")


def test_the_table_says_what_failed_why_and_what_would_have_been_advised(
    site: tuple[str, ...],
) -> None:
    result = run(*site)
    assert result.exit_code == 1
    lines = result.stdout.splitlines()
    [seven] = [line for line in lines if re.match(r"\s*7 ", line)]
    assert "crash: gpu out of memory (workload)" in seven
    assert "RESTART" in seven
    assert seven.split()[-1] == "found"
    [ten] = [line for line in lines if re.match(r"\s*10 ", line)]
    assert "cause unknown" in ten
    assert ten.split()[-1] == "missing"
    assert not any(re.match(r"\s*8 ", line) for line in lines)
    assert "Failures that came again" in result.stdout
    assert "4 attempts: 3 failed, 1 without a finding, 0 unknown" in result.stdout
    assert "logs/10.out': no such file" in result.stderr


def test_all_shows_what_did_not_fail_too(site: tuple[str, ...]) -> None:
    result = run(*site, "--all")
    assert any(re.match(r"\s*8 +COMPLETED", line) for line in result.stdout.splitlines())


def test_nothing_failed_exits_0(site: tuple[str, ...]) -> None:
    result = run(*site, "-j", "8")
    assert result.exit_code == 0
    assert "1 attempt: 0 failed" in result.stdout


def test_the_json_document(site: tuple[str, ...]) -> None:
    result = run(*site, "--json")
    assert result.exit_code == 1
    document: dict[str, Any] = json.loads(result.stdout)
    assert document["schema_version"] == 1
    assert (document["attempts"], document["findings"], document["unknown"]) == (4, 3, 0)
    first, second, third = document["verdicts"]
    assert (first["kind"], first["cause"], first["operation"]) == (
        "crash",
        "gpu_out_of_memory",
        "RESTART",
    )
    assert first["end"] == "2026-03-02T03:13:25.000000Z"
    assert first["fingerprint"] == second["fingerprint"]
    assert (third["kind"], third["cause"], third["logs"]) == ("crash", None, [])
    assert len(third["missing_logs"]) == 1
    [repeat] = document["repeats"]
    assert (repeat["cause"], len(repeat["attempts"])) == ("gpu_out_of_memory", 2)
    assert document["nodes"] == []


def test_one_json_record_an_attempt(site: tuple[str, ...]) -> None:
    records = [json.loads(line) for line in run(*site, "--jsonl", "-u", "bob").stdout.splitlines()]
    assert [record["user"] for record in records] == ["bob", "bob"]


def test_accounting_on_standard_input_with_what_is_no_row(tmp_path: Path) -> None:
    text = "\n".join([*table({"JobID": "7"}), "7|7|train"]) + "\n"
    result = run("--accounting", "-", "--logs", f"{tmp_path}/%j.out", stdin=text)
    assert result.exit_code == 1
    assert "not read of accounting: 1 x sacct_row" in result.stderr


def test_failures_of_which_nothing_is_known_are_not_the_same(tmp_path: Path) -> None:
    states = ("FAILED", "NODE_FAIL", "OUT_OF_MEMORY", "FAILED")
    rows = [{"JobID": str(job), "State": state} for job, state in enumerate(states, 7)]
    accounting = write(tmp_path, "sacct.txt", table(*rows))
    result = run("--accounting", str(accounting), "--json")
    document = json.loads(result.stdout)
    unknown = [one for one in document["verdicts"] if one["cause"] is None]
    assert unknown
    assert {one["fingerprint"] for one in unknown} == {None}
    assert all(repeat["cause"] is not None for repeat in document["repeats"])


def test_names_of_others_reach_the_terminal_without_control_codes(tmp_path: Path) -> None:
    accounting = write(
        tmp_path, "sacct.txt", table({"JobID": "7", "NodeList": "n1", "JobName": "\x1b[2J"})
    )
    result = run("--accounting", str(accounting), "--logs", f"{tmp_path}/%x.out")
    assert "\x1b" not in result.output


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        (("--json", "--jsonl"), "can't be used together"),
        (("--lake", "x", "--logs", "y"), "--lake can't be used with --logs"),
        (("--lake", "x", "-p", "gpu"), "--partition"),
        (("--since", "2h", "-S", "now"), "can't be used together"),
        (("--since", "soon"), "2h or 7d"),
        (("-S", "2026-03-02", "-E", "2026-03-01"), "before the start"),
        (("--lake", "/nowhere"), "lake"),
        (("--accounting", "/nowhere"), "/nowhere"),
    ],
)
def test_what_cannot_be_used_is_said(arguments: tuple[str, ...], words: str) -> None:
    error = error_of(*arguments)
    assert words in str(error)
    assert error.exit_code == 2


NO_TABLES = (
    "",
    "\n\n",
    "not a table\n",
    "JobID           State ExitCode\n------- ---------- --------\n7           FAILED      1:0\n",
    "7|FAILED|1:0\n8|COMPLETED|0:0\n",
    '{"jobs": []}\n',
)


@pytest.mark.parametrize("text", NO_TABLES)
def test_what_is_no_table_is_not_a_cluster_without_failures(tmp_path: Path, text: str) -> None:
    accounting = tmp_path / "sacct.txt"
    accounting.write_text(text)
    for arguments, stdin in ((str(accounting), None), ("-", text)):
        result = run("--accounting", arguments, stdin=stdin)
        assert isinstance(result.exception, RelumeError), result.output
        assert result.exception.exit_code == 2
        assert "header" in str(result.exception)
        assert not result.stdout


def test_a_header_alone_is_a_table(tmp_path: Path) -> None:
    result = run("--accounting", str(write(tmp_path, "sacct.txt", table())))
    assert result.exit_code == 0
    assert "0 attempts: 0 failed" in result.stdout


@pytest.fixture
def scripted(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> ScriptedSlurm:
    folder = tmp_path / "bin"
    folder.mkdir()
    return ScriptedSlurm(folder, monkeypatch)


def sacct_of(*rows: dict[str, str], **more: str) -> str:
    """Return what sacct prints, `|` between the cells whatever was asked for."""
    return "\n".join(table(*({**row, **more} for row in rows))) + "\n"


def old_slurm(scripted: ScriptedSlurm, text: str) -> None:
    """Answer as a Slurm that doesn't know StdOut: sacct's answer goes by the columns asked for."""
    folder = Path(os.environ["PATH"].split(":")[0])
    scripted.answers("sacct", text)
    answer = folder / "sacct.any"
    refusal = 'case "$*" in *StdOut*) echo "sacct: fatal: Invalid field requested: StdOut" >&2; exit 1;; esac\n'
    answer.write_text(refusal + answer.read_text())


def test_a_live_cluster_is_asked_by_three_commands_at_most(
    scripted: ScriptedSlurm, tmp_path: Path
) -> None:
    log = write(tmp_path, "jobs/7.out", [*RUN, OOM])
    old_slurm(scripted, sacct_of({"JobID": "7"}, User=ME))
    submitted = 1772416800
    job = {
        "job_id": 7,
        "job_state": "FAILED",
        "submit_time": submitted,
        "standard_output": str(log),
        "batch_flag": True,
        "user_name": ME,
        "current_working_directory": "/w",
    }
    scripted.answers("squeue", json.dumps({"jobs": [job]}))
    result = run("--log-root", str(tmp_path / "jobs"), "-S", "2026-03-01", "--jsonl")
    assert result.exit_code == 1, result.output
    record = json.loads(result.stdout)
    assert (record["cause"], record["logs"]) == ("gpu_out_of_memory", [str(log)])
    calls = [call.split()[0] for call in scripted.calls()]
    assert calls == ["sacct", "sacct", "squeue"]


def test_a_newer_slurm_is_asked_once(scripted: ScriptedSlurm, tmp_path: Path) -> None:
    write(tmp_path, "7.out", [*RUN, OOM])
    row = {"JobID": "7", "User": ME, "StdOut": f"{tmp_path}/%j.out", "StdErr": f"{tmp_path}/%j.out"}
    scripted.answers("sacct", sacct_of(row))
    result = run("--log-root", str(tmp_path), "-S", "2026-03-01", "--jsonl")
    record = json.loads(result.stdout)
    assert (record["cause"], record["missing_logs"]) == ("gpu_out_of_memory", [])
    [call] = scripted.calls()
    assert set(FIELDS) <= set(call.replace("=", ",").split(","))


def test_without_squeue_it_goes_on(scripted: ScriptedSlurm, tmp_path: Path) -> None:
    write(tmp_path, "slurm-7.out", [*RUN, OOM])
    old_slurm(scripted, sacct_of({"JobID": "7", "User": ME, "WorkDir": str(tmp_path)}))
    scripted.answers("squeue", json.dumps({"jobs": [], "errors": [{"error": "no slurmctld"}]}))
    result = run("--log-root", str(tmp_path), "-S", "2026-03-01", "--jsonl")
    assert result.exit_code == 1
    assert json.loads(result.stdout)["cause"] == "gpu_out_of_memory"
    assert "going on without squeue" in result.stderr


def test_without_accounting_it_cannot_be_reached(scripted: ScriptedSlurm) -> None:
    scripted.answers("sacct", stderr="slurmdbd: Connection refused", exit_code=1)
    error = error_of("--since", "2h")
    assert error.exit_code == 3
    assert "Connection refused" in str(error)


@pytest.mark.parametrize("text", NO_TABLES)
def test_a_sacct_without_a_table_has_not_answered(scripted: ScriptedSlurm, text: str) -> None:
    scripted.answers("sacct", text)
    error = error_of("--since", "2h")
    assert error.exit_code == 3
    assert "what sacct printed" in str(error)


def test_without_slurm_it_cannot_be_reached(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("PATH", str(tmp_path))
    assert error_of().exit_code == 3
