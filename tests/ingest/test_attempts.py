"""Which files make an attempt, what is left out and why, and what is refused."""

from __future__ import annotations

import gzip
import io
import os
import pickle
import sys
from pathlib import Path

import pytest

from relume.errors import InputError
from relume.ingest.attempts import AttemptInput, SourceFile, find_attempts

DUMP = pickle.dumps({"version": "2.9", "pg_config": {}, "nccl_version": "2.27"}, protocol=2)
KERNEL = "[   12.345678] NVRM: Xid\n"


def write(root: Path, files: dict[str, str | bytes]) -> None:
    for name, content in files.items():
        path = root / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes(content if isinstance(content, bytes) else content.encode())


def found(attempt: AttemptInput, root: Path) -> list[tuple[str, str]]:
    return [(str(Path(file.path).relative_to(root)), file.form) for file in attempt.files]


def refusal(path: Path | str) -> str:
    with pytest.raises(InputError) as refused:
        find_attempts([path])
    return str(refused.value)


def test_a_file_is_an_attempt(tmp_path: Path) -> None:
    write(tmp_path, {"a.log": "x\n", "b": KERNEL, "c.gz": gzip.compress(b"x\n")})
    attempts = find_attempts([tmp_path / name for name in ("a.log", "b", "c.gz")])
    assert [attempt.name for attempt in attempts] == [
        str(tmp_path / n) for n in ("a.log", "b", "c.gz")
    ]
    assert [attempt.files[0].form for attempt in attempts] == ["stdout", "kernel", "stdout"]
    assert not any(attempt.skipped for attempt in attempts)


def test_a_folder_is_one_attempt_of_all_its_logs(tmp_path: Path) -> None:
    write(
        tmp_path,
        {
            "rank_1.log": "x\n",
            "rank_0.log": "x\n",
            "deep/er/x.out": "x\n",
            "dmesg": KERNEL,
            "ctld": "[2026-01-02T03:04:05.678] error: Nodes gpu-a01 not responding\n",
            "rows": "JobID|State\n7|FAILED\n",
        },
    )
    [attempt] = find_attempts([str(tmp_path)])
    assert attempt.name == str(tmp_path)
    assert found(attempt, tmp_path) == [
        ("deep/er/x.out", "stdout"),
        ("rank_0.log", "stdout"),
        ("rank_1.log", "stdout"),
        ("ctld", "slurmctld"),
        ("dmesg", "kernel"),
        ("rows", "sacct"),
    ]


def test_what_is_left_out_of_a_folder_is_counted(tmp_path: Path) -> None:
    root, outside = tmp_path / "in", tmp_path / "out"
    write(
        root,
        {
            "a.log": "x\n",
            "empty.log": b"",
            "model.pt": b"PK\x03\x04" + bytes(500),
            "nccl_trace_rank_0": DUMP,
            "nccl_trace_rank_1.json": '{"version": "2.9", "pg_config": {}, "nccl_version": "2"}',
            "train.py": "raise RuntimeError('CUDA error')\n",
            "README.MD": "words\n",
            "broken.gz": b"\x1f\x8b" + b"\xff" * 30,
            ".hidden": "x\n",
            ".cache/x.log": "x\n",
        },
    )
    write(outside, {"secret.log": "x\n", "more/x.log": "x\n"})
    os.mkfifo(root / "pipe")
    (root / "away.log").symlink_to(outside / "secret.log")
    (root / "away").symlink_to(outside / "more")
    (root / "nowhere").symlink_to(root / "gone")
    (root / "circle").symlink_to(root / "circle")
    (root / "0-latest.log").symlink_to(root / "a.log")
    (root / "again.log").hardlink_to(root / "a.log")
    (root / "self").symlink_to(root)
    [attempt] = find_attempts([root])
    assert found(attempt, root) == [("a.log", "stdout")]
    assert [(Path(dump.path).name, dump.form) for dump in attempt.dumps] == [
        ("nccl_trace_rank_0", "flight-recorder"),
        ("nccl_trace_rank_1.json", "flight-recorder"),
    ]
    assert attempt.skipped.as_dict() == {
        "binary": 1,
        "empty": 1,
        "link_out": 4,
        "not_a_log": 2,
        "same_file": 2,
        "special_file": 1,
        "unreadable": 1,
    }


def test_a_link_within_the_folder_is_read_when_its_target_is_hidden(tmp_path: Path) -> None:
    write(tmp_path, {".store/1": "x\n"})
    (tmp_path / "a.log").symlink_to(tmp_path / ".store" / "1")
    [attempt] = find_attempts([tmp_path])
    assert found(attempt, tmp_path) == [("a.log", "stdout")]


def test_the_folder_may_itself_be_a_link(tmp_path: Path) -> None:
    write(tmp_path / "real", {"a.log": "x\n", "b.log": "x\n"})
    (tmp_path / "link").symlink_to(tmp_path / "real")
    [attempt] = find_attempts([tmp_path / "link"])
    assert len(attempt.files) == 2


def test_source_code_that_the_user_names_is_read(tmp_path: Path) -> None:
    write(tmp_path, {"log.py": "x\n"})
    [attempt] = find_attempts([tmp_path / "log.py"])
    assert attempt.files == (SourceFile(tmp_path / "log.py", "stdout"),)


def test_names_that_no_json_can_hold(tmp_path: Path) -> None:
    name = os.fsdecode(b"\xff.log")
    write(tmp_path, {name: "x\n", "a.log": "x\n"})
    [attempt] = find_attempts([tmp_path])
    assert found(attempt, tmp_path) == [("a.log", "stdout")]
    assert attempt.skipped.as_dict() == {"name_not_utf8": 1}
    message = refusal(tmp_path / name)
    assert "a name that is no UTF-8" in message
    message.encode()  # raises on what can't be printed


def test_a_dump_may_be_all_there_is(tmp_path: Path) -> None:
    write(tmp_path, {"trace": DUMP})
    for named in (tmp_path, tmp_path / "trace"):
        [attempt] = find_attempts([named])
        assert (attempt.files, [dump.path for dump in attempt.dumps]) == ((), [tmp_path / "trace"])


def test_refusals_say_what_was_found_and_what_to_do(tmp_path: Path) -> None:
    write(
        tmp_path,
        {
            "empty.log": b"",
            "empty.gz": gzip.compress(b""),
            "core": b"\x7fELF" + bytes(500),
            "models/a.pt": b"PK\x03\x04" + bytes(500),
        },
    )
    (tmp_path / "none").mkdir()
    assert refusal(tmp_path / "empty.log") == (
        f"the log {tmp_path / 'empty.log'} is empty; expected at least one line of text"
    )
    assert "is empty" in refusal(tmp_path / "empty.gz")
    assert "found binary data; expected text" in refusal(tmp_path / "core")
    assert refusal(tmp_path / "missing") == (
        f"cannot read {tmp_path / 'missing'}; found no such file or directory; "
        "expected a log file, a folder, or - for standard input; check the path"
    )
    assert "not a directory" in refusal(tmp_path / "core" / "x")
    assert "file name too long" in refusal("x" * 5000)
    assert "found no readable file" in refusal(tmp_path / "none")
    assert f"found 1 x binary ({tmp_path / 'models' / 'a.pt'})" in refusal(tmp_path / "models")


def test_accounting_alone_is_an_attempt_without_a_log(tmp_path: Path) -> None:
    write(tmp_path, {"sacct.txt": "JobID|State\n7|FAILED\n", "job.log": b"", "a.pt": b"PK\x03\x04"})
    [attempt] = find_attempts([tmp_path])
    assert found(attempt, tmp_path) == [("sacct.txt", "sacct")]
    assert attempt.skipped.as_dict() == {"binary": 1, "empty": 1}


def test_a_process_substitution_is_left_to_be_read_once() -> None:
    reading, writing = os.pipe()
    try:
        path = Path("/dev/fd", str(reading))
        [attempt] = find_attempts([path])  # would wait for ever if it were read
        assert attempt.files == (SourceFile(path, "stdout"),)
    finally:
        os.close(reading)
        os.close(writing)


def test_what_may_never_end_is_refused(tmp_path: Path) -> None:
    os.mkfifo(tmp_path / "pipe")
    assert refusal(tmp_path / "pipe") == (
        f"cannot read {tmp_path / 'pipe'}; found a named pipe; "
        "expected a file, or - for standard input; pass what it holds on standard input"
    )
    assert "found a device" in refusal("/dev/zero")


def test_files_that_are_left_out_are_named(tmp_path: Path) -> None:
    write(tmp_path, {"a.log": "x\n", "b.gz": b"\x1f\x8b" + b"\xff" * 30, "c.log": b""})
    [attempt] = find_attempts([tmp_path])
    assert attempt.skipped.files() == {
        "empty": [str(tmp_path / "c.log")],
        "unreadable": [str(tmp_path / "b.gz")],
    }


@pytest.mark.parametrize(("text", "form"), [(KERNEL, "kernel"), ("x\n", "stdout")])
def test_standard_input(monkeypatch: pytest.MonkeyPatch, text: str, form: str) -> None:
    buffer = io.BufferedReader(io.BytesIO(text.encode()))
    monkeypatch.setattr(sys, "stdin", io.TextIOWrapper(buffer))
    [attempt] = find_attempts(["-"])
    assert (attempt.name, attempt.files) == ("stdin", (SourceFile("-", form),))
    assert attempt.files[0].modified is None


def test_an_empty_standard_input_is_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sys, "stdin", io.TextIOWrapper(io.BufferedReader(io.BytesIO())))
    assert refusal("-") == "the log standard input is empty; expected at least one line of text"


def test_when_a_file_was_last_written(tmp_path: Path) -> None:
    write(tmp_path, {"a.log": "x\n"})
    os.utime(tmp_path / "a.log", (5, 1767323045))
    [attempt] = find_attempts([tmp_path / "a.log"])
    assert attempt.files[0].modified == 1767323045
    (tmp_path / "a.log").unlink()
    assert attempt.files[0].modified is None


def test_a_standard_input_that_can_not_be_peeked_is_a_job(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sys, "stdin", io.TextIOWrapper(io.BytesIO(KERNEL.encode())))
    [attempt] = find_attempts(["-"])
    assert attempt.files == (SourceFile("-", "stdout"),)
