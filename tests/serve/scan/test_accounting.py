"""Accounting with the logs that are found for it, and what is said of both."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from attempts import RUN, kernel, steps
from relume.clock import from_iso
from relume.serve.backtest.sources import Unit
from relume.serve.live.watch import WatchSettings
from relume.serve.offline import Analyzer
from relume.serve.scan.accounting import accounting_units
from relume.serve.scan.places import LogPlaces
from relume.serve.scan.scanned import Scanned, scan_units
from scanning import OOM, attempts, write

RAN_UNTIL = from_iso("2026-03-02T03:13:25Z")


@pytest.fixture(scope="module")
def analyzer() -> Analyzer:
    return Analyzer()


def places(folder: Path) -> LogPlaces:
    return LogPlaces(templates=(f"{folder}/%j.out",), kernel=(f"{folder}/kernel-{{node}}.log",))


def units(folder: Path, *rows: dict[str, str], asked_at: int | None = None) -> list[Unit]:
    return list(accounting_units(attempts(*rows), places(folder), asked_at=asked_at))


def scanned(
    analyzer: Analyzer, folder: Path, *rows: dict[str, str], asked_at: int | None = None
) -> list[Scanned]:
    found = units(folder, *rows, asked_at=asked_at)
    return list(scan_units(found, analyzer, WatchSettings()))


def told(one: Scanned) -> tuple[str | None, ...]:
    verdict, advice = one.verdict, one.advice
    assert verdict is not None
    operation = None if advice is None else advice.operation.value
    return verdict.kind.value, verdict.cause, verdict.domain.value, operation


def test_a_failed_job_is_judged_by_its_log(analyzer: Analyzer, tmp_path: Path) -> None:
    log = write(tmp_path, "7.out", [*RUN, OOM])
    [one] = scanned(analyzer, tmp_path, {"JobID": "7"})
    assert told(one) == ("crash", "gpu_out_of_memory", "workload", "RESTART")
    assert one.is_finding
    assert one.logs == (str(log),)
    assert (one.missing, one.last_step) == ((), 400)


def test_the_kernel_log_of_a_node_is_joined(analyzer: Analyzer, tmp_path: Path) -> None:
    write(tmp_path, "7.out", RUN)
    write(tmp_path, "kernel-gpu-a08.log", kernel("03:13:21", node="gpu-a08"))
    [one] = scanned(analyzer, tmp_path, {"JobID": "7"})
    assert told(one) == ("crash", "gpu_lost", "hardware", "RESTART_EXCLUDING")
    assert one.advice is not None
    assert one.advice.exclude_nodes == ("gpu-a08",)


@pytest.mark.parametrize(
    ("state", "expected"),
    [
        ("FAILED", ("crash", None, "unknown", "RESTART")),
        ("NODE_FAIL", ("crash", None, "hardware", "OBSERVE")),
        ("OUT_OF_MEMORY", ("crash", None, "workload", "RESTART")),
    ],
)
def test_a_failure_without_a_log_has_no_cause_and_the_log_is_named(
    analyzer: Analyzer, tmp_path: Path, state: str, expected: tuple[str | None, ...]
) -> None:
    [one] = scanned(analyzer, tmp_path, {"JobID": "7", "State": state})
    assert told(one) == expected
    assert one.is_finding
    assert one.verdict is not None
    assert one.verdict.exclude_nodes == ()
    assert one.logs == ()
    [missing] = one.missing
    assert str(tmp_path / "7.out") in missing


@pytest.mark.parametrize("state", ["COMPLETED", "CANCELLED by 7", "TIMEOUT", "PREEMPTED"])
def test_what_went_as_somebody_wanted_is_no_finding(
    analyzer: Analyzer, tmp_path: Path, state: str
) -> None:
    write(tmp_path, "7.out", RUN)
    [one] = scanned(analyzer, tmp_path, {"JobID": "7", "State": state, "ExitCode": "0:0"})
    assert not one.is_finding
    assert one.fingerprint is None


def test_a_hang_that_somebody_ended_is_a_hang(analyzer: Analyzer, tmp_path: Path) -> None:
    write(tmp_path, "7.out", RUN)
    cancelled = {"JobID": "7", "State": "CANCELLED by 7", "End": "2026-03-02T05:00:00"}
    [one] = scanned(analyzer, tmp_path, cancelled)
    assert told(one)[:2] == ("hang", "no_progress")
    assert one.is_finding


RUNNING = {"JobID": "7", "State": "RUNNING", "End": "Unknown", "ExitCode": "0:0"}


def test_a_job_that_runs_hangs_only_if_it_was_silent_until_now(
    analyzer: Analyzer, tmp_path: Path
) -> None:
    write(tmp_path, "7.out", RUN)
    hour = 3600 * 1_000_000
    [fine] = scanned(analyzer, tmp_path, RUNNING, asked_at=RAN_UNTIL)
    [hung] = scanned(analyzer, tmp_path, RUNNING, asked_at=RAN_UNTIL + hour)
    [undated] = scanned(analyzer, tmp_path, RUNNING)
    assert not fine.is_finding
    assert not undated.is_finding
    assert told(hung)[:2] == ("hang", "no_progress")


def test_what_never_started_is_left_out_unless_it_failed_to(tmp_path: Path) -> None:
    waiting = {"Start": "Unknown", "End": "Unknown", "NodeList": "None assigned"}
    found = units(
        tmp_path,
        {"JobID": "7", "State": "PENDING", **waiting},
        {"JobID": "8", "State": "CANCELLED by 7", **waiting},
        {"JobID": "9", "State": "BOOT_FAIL", **waiting},
    )
    assert [one.entry.attempt.split("@")[0] for unit in found for one in unit.attempts] == ["lab/9"]


REQUEUED = {
    "JobID": "7",
    "State": "REQUEUED",
    "Start": "2026-03-02T02:10:00",
    "End": "2026-03-02T02:50:00",
}
AGAIN = {"JobID": "7", "Submit": "2026-03-02T02:50:00"}


def test_a_file_belongs_to_the_last_attempt_that_wrote_it(tmp_path: Path) -> None:
    log = write(tmp_path, "7.out", RUN)
    [unit] = units(tmp_path, REQUEUED, AGAIN)
    first, second = unit.attempts
    assert first.logs == ()
    assert first.missing == (f"log {str(log)!r}: it is that of {second.entry.attempt} by now",)
    assert [source.name for source in second.logs] == [str(log)]
    assert second.missing == ()


def test_a_file_from_before_an_attempt_is_that_of_the_one_before(tmp_path: Path) -> None:
    log = write(tmp_path, "7.out", RUN)
    before = from_iso("2026-03-02T02:49:00Z") // 1_000_000
    os.utime(log, (before, before))
    [unit] = units(tmp_path, REQUEUED, AGAIN)
    first, second = unit.attempts
    assert [source.name for source in first.logs] == [str(log)]
    assert second.missing == (f"log {str(log)!r}: it is older than the attempt",)


def test_an_empty_log_is_a_missing_one(analyzer: Analyzer, tmp_path: Path) -> None:
    (tmp_path / "7.out").touch()
    [one] = scanned(analyzer, tmp_path, {"JobID": "7"})
    assert (one.logs, one.missing) == ((), (f"log {str(tmp_path / '7.out')!r}: it is empty",))
    assert told(one) == ("crash", None, "unknown", "RESTART")


def test_the_step_that_ran_out_of_memory_says_why_its_job_failed(tmp_path: Path) -> None:
    step = {"JobID": "7.batch", "State": "OUT_OF_MEMORY", "ExitCode": "0:125"}
    [unit] = units(tmp_path, {"JobID": "7"}, step)
    assert [one.entry.state for one in unit.attempts] == ["OUT_OF_MEMORY"]


def test_the_same_failure_without_progress_would_have_been_stopped(
    analyzer: Analyzer, tmp_path: Path
) -> None:
    comment = '{"relume": {"run": "opus"}}'
    for job, count in ((7, 40), (8, 30)):
        write(tmp_path, f"{job}.out", [*steps(count), OOM])
    later = {"Submit": "2026-03-02T04:00:00", "Start": "2026-03-02T04:00:10"}
    found = scanned(
        analyzer,
        tmp_path,
        {"JobID": "7", "Comment": comment},
        {"JobID": "8", "Comment": comment, "End": "2026-03-02T04:30:00", **later},
    )
    operations = [told(one)[3] for one in found]
    assert operations == ["RESTART", "STOP"]
    assert found[0].fingerprint == found[1].fingerprint


def test_a_log_that_vanishes_meanwhile_is_counted(analyzer: Analyzer, tmp_path: Path) -> None:
    log = write(tmp_path, "7.out", RUN)
    found = units(tmp_path, {"JobID": "7"})
    log.unlink()
    [one] = scan_units(found, analyzer, WatchSettings())
    assert one.skipped == {"unreadable": 1}
    assert one.is_finding
