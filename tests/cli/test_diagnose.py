"""`relume diagnose` as scripts see it: streams, exit codes, JSON forms, messages."""

from __future__ import annotations

import gzip
import json
from pathlib import Path
from typing import Any

import pytest
import zstandard
from typer.testing import CliRunner, Result

from relume.cli import app
from relume.cli.diagnose import MAX_REFUSED_SHOWN
from relume.errors import RelumeError

OOM = (
    "[rank3]: torch.OutOfMemoryError: CUDA out of memory. Tried to allocate 2.00 GiB. "
    "GPU 3 has a total capacity of 79.10 GiB of which 1.50 GiB is free."
)
STEPS = [f"iter {n}: loss 3.91, time 412.{n % 10}0ms, mfu 31.20%" for n in range(30)]
KEYS = {
    "kind",
    "cause",
    "domain",
    "root_cause_line",
    "culprit",
    "mentions",
    "retryable",
    "operation",
    "exclude_nodes",
    "confidence",
    "evidence",
    "missing_evidence",
    "unrecognised",
}
LOCATOR_KEYS = {"node", "rank", "local_rank", "gpu", "nic"}


def run(*arguments: str, stdin: bytes | None = None) -> Result:
    return CliRunner().invoke(app, ["diagnose", *arguments], input=stdin)


def document(*arguments: str) -> dict[str, Any]:
    record: dict[str, Any] = json.loads(run(*arguments, "--json").stdout)
    return record


def refused(*arguments: str, stdin: bytes | None = None) -> str:
    """Return the message of a call that must be refused with exit code 2."""
    result = run(*arguments, stdin=stdin)
    assert isinstance(result.exception, RelumeError)
    assert result.exception.exit_code == 2
    assert not result.stdout
    return str(result.exception)


@pytest.fixture
def failed_log(tmp_path: Path) -> Path:
    path = tmp_path / "slurm-7.out"
    path.write_text("\n".join([*STEPS, OOM]) + "\n")
    return path


@pytest.fixture
def healthy_log(tmp_path: Path) -> Path:
    path = tmp_path / "slurm-8.out"
    path.write_text("\n".join(STEPS) + "\n")
    return path


def test_a_failure_exits_1_and_shows_the_line_the_culprit_and_what_to_do(failed_log: Path) -> None:
    result = run(str(failed_log))
    assert result.exit_code == 1
    assert "crash: gpu out of memory (workload)" in result.stdout
    assert f"{failed_log}:31" in result.stdout
    assert "rank 3, gpu 3" in result.stdout
    assert "STOP" in result.stdout


def test_a_healthy_log_exits_0(healthy_log: Path) -> None:
    result = run(str(healthy_log))
    assert result.exit_code == 0
    assert "benign" in result.stdout


def test_unknown_exits_0_and_says_why_on_stderr(tmp_path: Path) -> None:
    path = tmp_path / "a.log"
    path.write_text("hello\n")
    result = run(str(path))
    assert result.exit_code == 0
    assert "unknown" in result.stdout
    assert "no failure line, no progress and no clean end were seen" in result.stderr


def test_the_json_document_on_paths(failed_log: Path, healthy_log: Path) -> None:
    record = document(str(failed_log), str(healthy_log))
    assert record["schema_version"] == 1
    first, second = record["verdicts"]
    assert set(first) >= KEYS | {"attempt", "files"}
    assert (first["attempt"], first["files"]) == (str(failed_log), [str(failed_log)])
    assert (first["kind"], first["root_cause_line"]) == ("crash", 30)
    assert first["root_cause_file"] == str(failed_log)
    assert set(first["culprit"]) == LOCATOR_KEYS
    assert second["kind"] == "benign"
    assert second["root_cause_line"] is None


def test_one_json_record_a_line(failed_log: Path, healthy_log: Path) -> None:
    result = run(str(failed_log), str(healthy_log), "--jsonl")
    kinds = [json.loads(line)["kind"] for line in result.stdout.splitlines()]
    assert kinds == ["crash", "benign"]
    assert result.exit_code == 1


def test_the_same_failure_of_another_run_has_the_same_fingerprint(
    failed_log: Path, healthy_log: Path, tmp_path: Path
) -> None:
    again = tmp_path / "slurm-9.out"
    again.write_text("\n".join([*STEPS[:9], OOM.replace("3", "7")]) + "\n")
    cases = tmp_path / "cases.jsonl"
    cases.write_text(json.dumps({"id": "a", "text": [OOM.replace("3", "5")]}) + "\n")
    records = document(str(failed_log), str(again), str(healthy_log))["verdicts"]
    records += document("--cases", str(cases))["verdicts"]
    first, second, healthy, case = (record["fingerprint"] for record in records)
    assert first == second == case
    assert first is not None
    assert healthy is None


def test_cases_in_records_out(tmp_path: Path) -> None:
    path = tmp_path / "cases.jsonl"
    cases = [{"id": "a", "text": [*STEPS, OOM], "label": "ignored"}, {"id": "b", "text": STEPS}]
    path.write_text("\n".join(map(json.dumps, cases)) + "\n\n")
    result = run("--cases", str(path), "--jsonl")
    assert result.exit_code == 0
    first, second = map(json.loads, result.stdout.splitlines())
    assert set(first) >= KEYS | {"id"}
    assert (first["id"], first["kind"], first["root_cause_line"]) == ("a", "crash", 30)
    assert first["culprit"] == {
        "node": None,
        "rank": 3,
        "local_rank": None,
        "gpu": "3",
        "nic": None,
    }
    assert set(first["mentions"][0]) == LOCATOR_KEYS | {"line"}
    assert second["kind"] == "benign"


def test_a_case_line_may_hold_line_breaks() -> None:
    case = json.dumps({"id": "a", "text": ["one\ntwo\rthree", OOM]}).encode()
    result = run("--cases", "-", "--jsonl", stdin=case)
    assert json.loads(result.stdout)["root_cause_line"] == 1


@pytest.mark.parametrize("option", ["--jsonl", "--json"])
def test_a_bad_case_is_named_and_hides_no_other_verdict(tmp_path: Path, option: str) -> None:
    path = tmp_path / "cases.jsonl"
    good = [json.dumps({"id": name, "text": [OOM]}) for name in "ab"]
    path.write_text("\n".join([good[0], '{"id": 7}', good[1], "[" * 200_000]))
    result = run("--cases", str(path), option)
    assert result.exit_code == 2
    if option == "--json":
        records = json.loads(result.stdout)["verdicts"]
    else:
        records = [json.loads(line) for line in result.stdout.splitlines()]
    assert [(record["id"], record["kind"]) for record in records] == [
        ("a", "crash"),
        ("b", "crash"),
    ]
    first, second = result.stderr.splitlines()
    assert first.startswith(f"relume: {path}:2 is no case; found ")
    assert second.startswith(f"relume: {path}:4 is no case; found ")


def test_many_bad_cases_are_counted(tmp_path: Path) -> None:
    path = tmp_path / "no-cases.log"
    path.write_text("hello\n" * (MAX_REFUSED_SHOWN + 1))
    result = run("--cases", str(path), "--json")
    assert (result.exit_code, result.stdout) == (2, "")
    *named, last = result.stderr.splitlines()
    assert len(named) == MAX_REFUSED_SHOWN
    assert last == f"relume: 1 more bad line in {path}"


def test_no_cases_are_bad_input(tmp_path: Path) -> None:
    path = tmp_path / "cases.jsonl"
    path.touch()
    result = run("--cases", str(path), "--jsonl")
    assert (result.exit_code, result.stdout) == (2, "")
    assert f"relume: no case in {path}; found no line of text" in result.stderr


def test_compressed_cases_are_read(tmp_path: Path) -> None:
    path = tmp_path / "cases.jsonl.gz"
    path.write_bytes(gzip.compress(json.dumps({"id": "a", "text": [OOM]}).encode()))
    result = run("--cases", str(path), "--jsonl")
    assert (result.exit_code, json.loads(result.stdout)["kind"]) == (0, "crash")


@pytest.mark.parametrize(
    "arguments",
    [[""], ["a.log", ""], ["--cases", ""], ["a.log", "--config", ""], ["a.log", "--rules="]],
)
def test_an_empty_path_is_not_the_working_folder(arguments: list[str]) -> None:
    result = run(*arguments)
    assert (result.exit_code, result.stdout) == (2, "")
    assert "found an empty path; expected a file or folder" in result.stderr


def test_what_was_left_out_is_named_and_what_was_mended_apart(tmp_path: Path) -> None:
    (tmp_path / "a.log").write_text("\n".join([*STEPS, "x" * (2 << 20), OOM]) + "\n")
    (tmp_path / "b.gz").write_bytes(b"\x1f\x8b" + b"\xff" * 30)
    text = run(str(tmp_path)).stdout
    assert f" not read  1 x unreadable ({tmp_path / 'b.gz'})\n" in text
    assert f"   mended  1 x long_line_split ({tmp_path / 'a.log'})\n" in text
    [verdict] = document(str(tmp_path))["verdicts"]
    assert verdict["skipped"] == {"unreadable": 1}
    assert verdict["mended"] == {"long_line_split": 1}
    assert verdict["skipped_files"]["unreadable"] == [str(tmp_path / "b.gz")]


def test_control_characters_of_a_name_do_not_reach_the_terminal() -> None:
    result = run("no\x1b[31m.log", "no\x07.log")
    assert result.exit_code == 2
    assert "cannot read no\N{REPLACEMENT CHARACTER}[31m.log" in result.stderr
    assert not set(result.stderr) & set("\x1b\x07")


def test_cases_with_a_mark_of_order_and_bytes_that_were_no_text(tmp_path: Path) -> None:
    path = tmp_path / "cases.jsonl"
    case = json.dumps({"id": "a", "text": ["broken \udcff", OOM]})
    path.write_bytes(b"\xef\xbb\xbf" + case.encode())
    assert json.loads(run("--cases", str(path), "--jsonl").stdout)["root_cause_line"] == 1


def test_compressed_logs_and_standard_input_give_the_same_verdict(failed_log: Path) -> None:
    data = failed_log.read_bytes()
    packed, squeezed = failed_log.with_suffix(".gz"), failed_log.with_suffix(".zst")
    packed.write_bytes(gzip.compress(data))
    squeezed.write_bytes(zstandard.compress(data))
    verdicts = document(str(failed_log), str(packed), str(squeezed))["verdicts"]
    assert {(v["kind"], v["root_cause_line"]) for v in verdicts} == {("crash", 30)}


def test_a_folder_is_one_attempt_with_kernel_and_accounting_evidence(tmp_path: Path) -> None:
    (tmp_path / "rank_0.log").write_text("\n".join(STEPS) + "\n")
    (tmp_path / "dmesg-gpu-b07.log").write_text(
        "2026-03-02T09:00:00,000001+00:00 usb 1-1: new device\n"
        "2026-03-02T10:00:00,123456+00:00 NVRM: Xid (PCI:0000:3b:00): 79, pid='<unknown>', name=<unknown>, "
        "GPU has fallen off the bus.\n"
    )
    (tmp_path / "sacct.txt").write_text("JobID|State|ExitCode|NodeList\n7|FAILED|1:0|gpu-b07\n")
    [verdict] = document(str(tmp_path))["verdicts"]
    assert (verdict["kind"], verdict["domain"]) == ("crash", "hardware")
    assert verdict["root_cause_file"].endswith("dmesg-gpu-b07.log")
    assert verdict["culprit"]["node"] == "gpu-b07"
    assert verdict["culprit"]["gpu"] == "0000:3b:00"
    assert (verdict["operation"], verdict["exclude_nodes"]) == ("RESTART_EXCLUDING", ["gpu-b07"])
    assert not any("kernel log" in missing for missing in verdict["missing_evidence"])


@pytest.mark.parametrize(
    ("state", "kind", "domain"),
    [
        ("NODE_FAIL", "crash", "hardware"),
        ("OUT_OF_MEMORY", "crash", "workload"),
        ("TIMEOUT", "crash", "scheduler"),
        ("FAILED", "crash", "unknown"),
        ("COMPLETED", "unknown", "unknown"),
    ],
)
def test_the_scheduler_state_decides_where_the_log_is_silent(
    tmp_path: Path, state: str, kind: str, domain: str
) -> None:
    (tmp_path / "job.log").write_text("hello\n")
    (tmp_path / "sacct.txt").write_text(
        f"JobID|State|ExitCode\n7|{state}|0:0\n7.batch|{state}|0:0\n"
    )
    [verdict] = document(str(tmp_path))["verdicts"]
    assert (verdict["kind"], verdict["domain"]) == (kind, domain)


def test_the_second_engine_gives_the_same_document(failed_log: Path) -> None:
    assert document(str(failed_log), "--engine", "re2") == document(str(failed_log))


def test_site_rules_and_progress_patterns_are_used(tmp_path: Path) -> None:
    rules = tmp_path / "site.toml"
    rules.write_text(
        """
category = "site"
[[signature]]
id = "site_licence"
role = "root"
tier = "exception"
kind = "crash"
domain = "platform"
retry = "yes"
summary = "The solver found no licence token."
advice = "Wait for a token."
patterns = ['no licence token left']
positive = ['solver: no licence token left', 'E: no licence token left (2)']
negative = ['licence token taken', '3 licence tokens left']
source = "the site's solver"
"""
    )
    config = tmp_path / "relume.toml"
    config.write_text("[progress]\npatterns = ['sweep #(?P<step>[0-9]+) done']\n")
    log = tmp_path / "a.log"
    sweeps = "".join(f"sweep #{n} done\n" for n in range(9))
    log.write_text(sweeps)
    options = ("--rules", str(rules), "--config", str(config))
    assert document(str(log), *options)["verdicts"][0]["kind"] == "benign"
    log.write_text(sweeps + "solver: no licence token left\n")
    [verdict] = document(str(log), *options)["verdicts"]
    assert (verdict["kind"], verdict["cause"]) == ("crash", "site_licence")


def test_a_path_that_cannot_be_read_hides_no_other_verdict(failed_log: Path) -> None:
    empty = failed_log.with_name("empty.log")
    empty.touch()
    result = run(str(failed_log), str(empty), "missing.log", "--json")
    assert result.exit_code == 2
    assert [v["kind"] for v in json.loads(result.stdout)["verdicts"]] == ["crash"]
    assert "empty.log is empty" in result.stderr
    assert "missing.log" in result.stderr
    nothing = run(str(empty), "missing.log")
    assert (nothing.exit_code, nothing.stdout) == (2, "")


def test_an_empty_standard_input_is_an_empty_log() -> None:
    assert "the log - is empty" in refused("-", stdin=b"")


def test_cases_as_one_document() -> None:
    case = json.dumps({"id": "a", "text": [OOM]}).encode()
    record = json.loads(run("--cases", "-", "--json", stdin=case).stdout)
    assert record["schema_version"] == 1
    assert [v["kind"] for v in record["verdicts"]] == ["crash"]


def test_a_site_rule_cannot_stall_on_a_hostile_line(tmp_path: Path) -> None:
    rules, log = tmp_path / "site.toml", tmp_path / "a.log"
    rule = (
        'category = "site"\n[[signature]]\nid = "boom"\nrole = "root"\ntier = "exception"\n'
        'kind = "crash"\ndomain = "platform"\nretry = "yes"\nsummary = "It went boom."\n'
        "patterns = ['boom failed']\nsource = 'the site'\n"
        "positive = ['ab boom failed', 'aab boom failed']\nnegative = ['boom', 'failed']\n"
    )
    rules.write_text(rule + "verify = '^(?:a|a)*b'\n")
    log.write_text("a" * 3000 + " boom failed\nab boom failed\n")
    [verdict] = document(str(log), "--rules", str(rules))["verdicts"]
    assert (verdict["cause"], verdict["root_cause_line"]) == ("boom", 1)
    rules.write_text(rule + "verify = '^(?!x)a'\n")
    assert "no look-around" in refused(str(log), "--rules", str(rules))


def test_control_characters_of_a_log_do_not_reach_the_terminal(tmp_path: Path) -> None:
    path = tmp_path / "a.log"
    path.write_text(f"{OOM} \x9b31m \x07\x00\n")
    assert not set(run(str(path)).stdout) & set("\x9b\x07\x00\x1b")


def test_bad_usage_is_refused_with_one_message(tmp_path: Path, failed_log: Path) -> None:
    empty, folder, binary = tmp_path / "empty.log", tmp_path / "none", tmp_path / "core"
    empty.touch()
    folder.mkdir()
    binary.write_bytes(b"\x7fELF\x02\x01\x01" + bytes(500))
    assert "nothing to diagnose" in refused()
    assert "is empty" in refused(str(empty))
    assert f"no log in {folder}" in refused(str(folder))
    assert "binary data" in refused(str(binary))
    assert "no such file" in refused(str(tmp_path / "missing.log"))
    assert "--cases takes no other path" in refused("--cases", "x", str(failed_log))
    assert "can't be used together" in refused(str(failed_log), "--json", "--jsonl")
    assert "did you mean 'hyperscan'?" in refused(str(failed_log), "--engine", "hyperscam")


def test_a_configuration_with_an_unknown_key_is_refused_with_the_nearest_name(
    tmp_path: Path, failed_log: Path
) -> None:
    config = tmp_path / "relume.toml"
    config.write_text("[diagnose]\nconfidence_treshold = 0.7\n")
    message = refused(str(failed_log), "--config", str(config))
    assert f"{config}:2" in message
    assert "confidence_threshold" in message


ODD = "vault: seal 4 is open \x1b[31m\x07, nobody may go on"
RECORD = "JobID|State|ExitCode|NodeList\n7|FAILED|1:0|gpu-a07\n"


@pytest.fixture
def unknown_failure(tmp_path: Path) -> Path:
    folder = tmp_path / "job-7"
    folder.mkdir()
    (folder / "job.out").write_text("\n".join([*STEPS, ODD, "keeper 7 goes home"]) + "\n")
    (folder / "sacct.txt").write_text(RECORD)
    return folder


def test_a_failure_that_no_rule_knows_shows_unrecognised_lines(unknown_failure: Path) -> None:
    output = run(str(unknown_failure)).stdout
    where = (
        f"  no rule  {unknown_failure / 'job.out'}:31 (nothing like it earlier; once; 1 line before"
    )
    assert where in output
    assert "\x1b" not in output
    assert "\x07" not in output
    assert "vault: seal 4 is open \N{REPLACEMENT CHARACTER}" in output


def test_unrecognised_lines_have_a_json_form(unknown_failure: Path) -> None:
    [verdict] = document(str(unknown_failure))["verdicts"]
    first = verdict["unrecognised"][0]
    assert first == {
        "file": str(unknown_failure / "job.out"),
        "line": 30,
        "text": first["text"],
        "count": 1,
        "lines_before_end": 1,
        "why": ["nothing like it earlier", "once", "1 line before the end"],
        "event_time": None,
        "where": dict.fromkeys(("node", "rank", "local_rank", "gpu", "nic")),
        "is_trouble": False,
    }
    assert verdict["cause"] == "unknown_failure"


def test_an_explained_failure_shows_no_unrecognised_lines(failed_log: Path) -> None:
    [verdict] = document(str(failed_log))["verdicts"]
    assert verdict["unrecognised"] == []
    assert "no rule" not in run(str(failed_log)).stdout
