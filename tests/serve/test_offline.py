"""A job that runs, or ended well, is never called a failure by what stands beside its steps."""

from __future__ import annotations

import gzip
from collections.abc import Callable, Sequence
from pathlib import Path

import pytest
import zstandard

from attempts import DONE, RUN, XID, diagnose, kernel, later, sacct, steps
from relume.ingest.attempts import find_attempts
from relume.models.policy.fingerprint import fingerprint
from relume.serve.offline import Analyzer
from relume.verdict import Kind, Verdict

PANIC = "Kernel panic - not syncing: Fatal exception"
LINK = "mlx5_core 0000:12:00.0 mlx5_2: Link down"
PEER_LOST = "[rank3]: torch.distributed.DistBackendError: NCCL error: remote process exited"
RAISED = [
    "[rank3]: Traceback (most recent call last):",
    '[rank3]:   File "/app/train.py", line 3, in step',
    "[rank3]: RuntimeError: CUDA error: an illegal memory access was encountered",
]
UNDATED = [f"[{100 + n}.123456] usb 1-1: new device" for n in range(5)] + [f"[190.000001] {XID}"]
OOM = "slurmstepd: error: Detected 1 oom_kill event in StepId=77.batch. Some of the step tasks have been OOM Killed."
AGENT = "INFO:torch.distributed.elastic.agent.server.api:[default] "
RESTARTS = [
    "[rank3]: Traceback (most recent call last):",
    '[rank3]:   File "/app/data.py", line 3, in batch',
    "[rank3]: ValueError: bad batch",
    f"{AGENT}Worker group FAILED. 2/3 attempts left; will restart worker group",
    f"{AGENT}Rendezvous'ing worker group",
]


@pytest.fixture(scope="module")
def analyzer() -> Analyzer:
    return Analyzer()


def is_left_alone(verdict: Verdict) -> bool:
    return verdict.kind in {Kind.BENIGN, Kind.UNKNOWN} and (
        verdict.operation == "OBSERVE" and not verdict.exclude_nodes and not verdict.culprit
    )


@pytest.mark.parametrize("text", [XID, PANIC, LINK])
@pytest.mark.parametrize(
    ("job", "clock"),
    [
        (DONE, "03:13:20"),
        (DONE, "03:13:30"),
        (DONE, "05:20:00"),
        (RUN, "08:20:00"),
        (DONE[-1:], "05:20:00"),
    ],
)
def test_a_kernel_that_speaks_after_the_end_says_nothing_of_the_job(
    analyzer: Analyzer, tmp_path: Path, text: str, job: Sequence[str], clock: str
) -> None:
    verdict = diagnose(analyzer, tmp_path, job=job, syslog=kernel(clock, text))
    assert verdict.kind is Kind.BENIGN
    assert is_left_alone(verdict)
    assert verdict.why[0].startswith("set aside 1")


@pytest.mark.parametrize("clock", ["03:05:00", "03:13:22", "06:00:00"])
def test_what_accounting_calls_completed_is_no_failure(
    analyzer: Analyzer, tmp_path: Path, clock: str
) -> None:
    verdict = diagnose(analyzer, tmp_path, job=RUN, syslog=kernel(clock), sacct=sacct("COMPLETED"))
    assert verdict.kind is Kind.BENIGN
    assert is_left_alone(verdict)


@pytest.mark.parametrize("clock", ["01:20:00", "04:20:00"])
def test_outside_the_window_of_accounting_the_kernel_is_not_asked(
    analyzer: Analyzer, tmp_path: Path, clock: str
) -> None:
    job = ["starting", *RAISED]
    verdict = diagnose(analyzer, tmp_path, job=job, syslog=kernel(clock), sacct=sacct("FAILED"))
    assert (verdict.cause, verdict.exclude_nodes) == ("gpu_illegal_memory_access", ())
    assert "attempt" in verdict.why[0]


@pytest.mark.parametrize("accounting", [[], sacct("FAILED")])
def test_a_kernel_that_speaks_at_the_end_is_still_believed(
    analyzer: Analyzer, tmp_path: Path, accounting: list[str]
) -> None:
    logs = {"sacct": accounting} if accounting else {}
    verdict = diagnose(analyzer, tmp_path, job=RUN, syslog=kernel("03:13:21"), **logs)
    assert (verdict.cause, verdict.exclude_nodes) == ("gpu_lost", ("gpu-a07",))


@pytest.mark.parametrize(
    ("job", "kind"), [(RUN, Kind.UNKNOWN), (DONE, Kind.BENIGN), ([*RUN, PEER_LOST], Kind.CRASH)]
)
def test_a_kernel_without_a_clock_excludes_nobody(
    analyzer: Analyzer, tmp_path: Path, job: Sequence[str], kind: Kind
) -> None:
    verdict = diagnose(analyzer, tmp_path, job=job, dmesg_gpu_a07=UNDATED)
    assert (verdict.kind, verdict.exclude_nodes) == (kind, ())
    if kind is not Kind.BENIGN:
        assert verdict.confidence < 0.7
        assert any("time of the kernel" in missing for missing in verdict.missing_evidence)


def test_a_kernel_excerpt_without_a_clock_excludes_nobody(analyzer: Analyzer) -> None:
    verdict = analyzer.diagnose_lines("case", UNDATED)
    assert (verdict.cause, verdict.exclude_nodes) == ("gpu_lost", ())
    assert verdict.confidence < 0.7


def test_the_kernel_of_another_job_s_node_is_neither_root_nor_culprit(
    analyzer: Analyzer, tmp_path: Path
) -> None:
    verdict = diagnose(
        analyzer,
        tmp_path,
        job=[*RUN, PEER_LOST],
        syslog=kernel("03:13:21", node="gpu-z09"),
        sacct=sacct("FAILED"),
    )
    assert (verdict.culprit.node, verdict.exclude_nodes) == (None, ())
    assert "syslog" not in str(verdict.root_file)
    assert not any("Xid" in shown.text for shown in verdict.evidence)
    assert "on nodes that the attempt did not run on" in verdict.why[0]


@pytest.mark.parametrize("after", [0, 1, 2])
@pytest.mark.parametrize(
    "quote",
    [
        f"gpu-a07: {XID}",
        f"gpu-a07:123:456 [0] NCCL INFO health check: {XID}",
        f"Mar  2 03:13:00 gpu-a07 trainer[99]: the kernel said {XID}",
        f"2026-03-02 03:13:19 INFO monitor: {XID}",
        "gpu-a07:12:34 [0] NCCL INFO note: uncorrectable ECC error encountered elsewhere",
    ],
)
def test_a_quoted_kernel_excludes_nobody(
    analyzer: Analyzer, tmp_path: Path, quote: str, after: int
) -> None:
    verdict = diagnose(analyzer, tmp_path, job=[*RUN, quote, *steps(after, begin=401)])
    assert is_left_alone(verdict), verdict.why


def test_a_quote_beside_the_kernel_s_own_line_changes_nothing(
    analyzer: Analyzer, tmp_path: Path
) -> None:
    verdict = diagnose(analyzer, tmp_path, job=[*RUN, f"gpu-a07: {XID}"], syslog=kernel("03:13:21"))
    alone = diagnose(analyzer, tmp_path, job=RUN, syslog=kernel("03:13:21"))
    assert verdict.exclude_nodes == alone.exclude_nodes == ("gpu-a07",)
    assert verdict.confidence == alone.confidence


@pytest.mark.parametrize("after", [0, 1, 2])
@pytest.mark.parametrize(
    "line",
    [
        "OSError: [Errno 5] Input/output error; trying again",
        "[rank3]: RuntimeError: Connection reset by peer, will retry (2 of 5)",
        "gpu-a07:1:2 [0] NCCL WARN NET/Socket: connect to 10.0.0.1<5> failed: refused, retrying",
        "srun: error: Unable to create step for job 77: still trying",
    ],
)
def test_what_is_tried_again_is_no_failure(
    analyzer: Analyzer, tmp_path: Path, line: str, after: int
) -> None:
    verdict = diagnose(analyzer, tmp_path, job=[*RUN, line, *steps(after, begin=401)])
    assert is_left_alone(verdict), verdict.why


def test_whoever_gives_up_has_failed(analyzer: Analyzer, tmp_path: Path) -> None:
    line = "OSError: [Errno 5] Input/output error, giving up after retrying 5 times"
    assert diagnose(analyzer, tmp_path, job=[*RUN, line]).kind is Kind.CRASH


@pytest.mark.parametrize("after", [0, 2])
def test_a_job_that_runs_by_accounting_did_not_crash(
    analyzer: Analyzer, tmp_path: Path, after: int
) -> None:
    job = [*RUN, *RAISED, *steps(after, begin=401)]
    accounting = sacct("RUNNING", end="Unknown")
    assert diagnose(analyzer, tmp_path, job=job).kind is Kind.CRASH
    verdict = diagnose(analyzer, tmp_path, job=job, sacct=accounting)
    assert is_left_alone(verdict)
    assert any("RUNNING" in reason for reason in verdict.why)


@pytest.mark.parametrize("fatal", ["FATAL: the loader is broken", "RuntimeError: cannot open it"])
def test_lines_that_go_on_in_a_form_that_nobody_knows_make_a_failure_doubtful(
    analyzer: Analyzer, tmp_path: Path, fatal: str
) -> None:
    work = [f"2026-03-02 04:00:{n:02d} shard {n} of the corpus is done" for n in range(50)]
    assert is_left_alone(diagnose(analyzer, tmp_path, job=[*work[:20], fatal, *work[20:]]))
    assert diagnose(analyzer, tmp_path, job=[*work, fatal]).kind is Kind.CRASH


@pytest.mark.parametrize(
    "words",
    [
        "evaluating batch {n} of 5000",
        "uploading part {n} of 400",
        "{n}0 MB are on the disk now",
        "evaluation of the test set is under way",
    ],
)
def test_long_phases_are_no_hangs(analyzer: Analyzer, tmp_path: Path, words: str) -> None:
    verdict = diagnose(analyzer, tmp_path, job=[*RUN, *later(words)])
    assert is_left_alone(verdict)
    assert verdict.kind is Kind.UNKNOWN


@pytest.mark.parametrize(
    "words",
    ["heartbeat: the job is alive", "still waiting for rank 3, {n} s", "gpu util 0 %, 71 GB used"],
)
def test_lines_of_those_who_wait_are_still_a_hang(
    analyzer: Analyzer, tmp_path: Path, words: str
) -> None:
    assert diagnose(analyzer, tmp_path, job=[*RUN, *later(words)]).kind is Kind.HANG


def test_a_phase_that_stopped_long_ago_is_a_hang(analyzer: Analyzer, tmp_path: Path) -> None:
    lines = later("uploading part {n} of 400", 10) + later("the job is alive", 200)[10:]
    assert diagnose(analyzer, tmp_path, job=[*RUN, *lines]).kind is Kind.HANG


@pytest.mark.parametrize("compress", [gzip.compress, zstandard.compress])
@pytest.mark.parametrize("job", [RUN, RUN + RAISED])
def test_a_log_whose_end_is_lost_is_not_benign(
    analyzer: Analyzer,
    tmp_path: Path,
    compress: Callable[[bytes], bytes],
    job: Sequence[str],
) -> None:
    path = tmp_path / "job.log.gz"
    whole = compress("\n".join([*steps(20_000), *job]).encode())  # more than one block of zstd's
    path.write_bytes(whole[: len(whole) * 4 // 5])
    verdict = analyzer.diagnose(find_attempts([path])[0]).verdict
    assert verdict.kind is Kind.UNKNOWN
    assert any("end of a log" in missing for missing in verdict.missing_evidence)


def test_a_clean_end_in_a_damaged_log_is_believed_less(analyzer: Analyzer, tmp_path: Path) -> None:
    path = tmp_path / "job.log.gz"
    path.write_bytes(gzip.compress("\n".join([*DONE, ""]).encode())[:-4])
    verdict = analyzer.diagnose(find_attempts([path])[0]).verdict
    assert (verdict.kind, verdict.confidence) == (Kind.BENIGN, 0.7)


@pytest.mark.parametrize("accounting", [[], sacct("OUT_OF_MEMORY")])
def test_what_is_killed_after_the_clean_end_was_not_the_training(
    analyzer: Analyzer, tmp_path: Path, accounting: list[str]
) -> None:
    logs = {"sacct": accounting} if accounting else {}
    assert is_left_alone(diagnose(analyzer, tmp_path, job=[*DONE, OOM], **logs))


def test_a_job_that_said_its_end_is_not_started_again(analyzer: Analyzer, tmp_path: Path) -> None:
    assert is_left_alone(diagnose(analyzer, tmp_path, job=DONE, sacct=sacct("FAILED")))


def test_a_failure_after_the_clean_end_is_one(analyzer: Analyzer, tmp_path: Path) -> None:
    job = [*DONE, *RAISED]
    assert diagnose(analyzer, tmp_path, job=job).kind is Kind.CRASH
    verdict = diagnose(analyzer, tmp_path, job=job, syslog=kernel("03:13:22"))
    assert verdict.exclude_nodes == ("gpu-a07",)


@pytest.mark.parametrize("failed", [RAISED, ["Killed"]])
def test_the_shell_s_time_is_no_clean_end(
    analyzer: Analyzer, tmp_path: Path, failed: list[str]
) -> None:
    """It is printed whatever the exit status was."""
    killed = "Out of memory: Killed process 4242 (python3) total-vm:1kB, anon-rss:1kB"
    job = [*RUN, *failed, "real\t13m22.690s"]
    verdict = diagnose(analyzer, tmp_path, job=job, syslog=kernel("03:13:21", killed))
    assert verdict.kind is Kind.CRASH


@pytest.mark.parametrize(("after", "kind"), [(0, Kind.CRASH), (1, Kind.BENIGN), (2, Kind.BENIGN)])
def test_workers_that_the_launcher_started_again_and_that_work_are_no_failure(
    analyzer: Analyzer, tmp_path: Path, after: int, kind: Kind
) -> None:
    job = [*steps(200), *RESTARTS, *steps(after, begin=200)]
    verdict = diagnose(analyzer, tmp_path, job=job)
    assert verdict.kind is kind
    assert verdict.confidence < 0.7 or kind is Kind.BENIGN


def test_bare_assertions_of_two_functions_are_two_failures(analyzer: Analyzer) -> None:
    def failed(function: str, rank: int = 3, line: int = 7) -> str:
        prefix = f"[rank{rank}]: "
        log = [
            f"{prefix}Traceback (most recent call last):",
            f'{prefix}  File "/home/ada/run{rank}/train.py", line 90, in <module>',
            f'{prefix}  File "/home/ada/run{rank}/train.py", line {line}, in {function}',
            f"{prefix}AssertionError",
        ]
        found = analyzer.diagnose_lines("a", [*RUN, *log])
        assert found.raised_in == f"/home/ada/run{rank}/train.py:{function}"
        return fingerprint(found)

    assert failed("step") == failed("step", rank=12, line=71)
    assert failed("step") != failed("save")


def raising(path: str, function: str, message: str) -> list[str]:
    packages = f"/opt/{function}/lib/python3.12/site-packages"
    return [
        "Traceback (most recent call last):",
        f'  File "{path}", line 12, in {function}',
        f'  File "{packages}/torch/nn/modules/linear.py", line 117, in forward',
        message,
    ]


@pytest.mark.parametrize(
    "message",
    [
        "RuntimeError: mat1 and mat2 shapes cannot be multiplied (3x4 and 5x6)",
        "RuntimeError: CUDA error: device-side assert triggered",
        "ModuleNotFoundError: No module named 'parts'",
        "AssertionError",
    ],
)
def test_a_bug_is_told_by_the_own_code_that_met_it(analyzer: Analyzer, message: str) -> None:
    def failed(path: str, function: str = "forward") -> str:
        log = [*RUN, *raising(path, function, message)]
        return fingerprint(analyzer.diagnose_lines("a", log))

    assert failed("/home/ada/a/model.py") == failed("/home/eve/a/model.py")
    assert failed("/home/ada/a/model.py") != failed("/home/ada/b/model.py")
    assert failed("/home/ada/a/model.py") != failed("/home/ada/a/model.py", "evaluate")


def test_memory_runs_out_in_any_function(analyzer: Analyzer) -> None:
    message = "torch.OutOfMemoryError: CUDA out of memory. Tried to allocate 2.00 GiB"
    names = {
        fingerprint(analyzer.diagnose_lines("a", [*RUN, *raising("/w/m.py", function, message)]))
        for function in ("forward", "backward")
    }
    assert len(names) == 1
