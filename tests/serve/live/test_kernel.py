"""Kernel logs of the nodes in use."""

from __future__ import annotations

from pathlib import Path

from relume.events import SourceStatus
from relume.ingest.lake.batches import LineBatch
from relume.serve.live.kernel import KernelLogs, recent
from relume.verdict import Health

CLOCK = "2026-01-02T03:04:05+00:00"


def text(logs: KernelLogs, now: int = 1) -> dict[str | None, bytes]:
    found = [one for one in logs.poll(now) if isinstance(one, LineBatch)]
    assert {one.stream for one in found} <= {"kernel"}
    return {one.node: one.block.data for one in found}


def test_only_nodes_in_use_are_read(tmp_path: Path) -> None:
    for node in ("a1", "a2"):
        (tmp_path / f"{node}.log").write_text(f"{CLOCK} {node} kernel: up\n")
    logs = KernelLogs("lab", (f"{tmp_path}/{{node}}.log",))
    logs.use(["a1"])
    assert text(logs) == {"a1": f"{CLOCK} a1 kernel: up\n".encode()}
    logs.use(["a2"])
    assert text(logs) == {"a2": f"{CLOCK} a2 kernel: up\n".encode()}
    assert logs.positions[f"kernel a1 {tmp_path}/a1.log"] is None
    assert len(logs) == 1


def test_of_a_long_log_only_the_end_is_read(tmp_path: Path) -> None:
    log = tmp_path / "kern.log"
    log.write_text("".join(f"{CLOCK} a1 kernel: line {n}\n" for n in range(20_000)))
    position = recent(str(log), 100)
    assert position is not None
    assert 0 < log.stat().st_size - position.offset < 100
    assert log.read_bytes()[position.offset - 1 : position.offset] == b"\n"


def test_what_stood_there_without_a_clock_is_not_read(tmp_path: Path) -> None:
    log = tmp_path / "a1.log"
    log.write_text("[12345.678901] NVRM: an old fault\n")
    logs = KernelLogs("lab", (f"{tmp_path}/{{node}}.log",))
    logs.use(["a1"])
    assert text(logs) == {}
    with log.open("a") as file:
        file.write("[12399.678901] NVRM: a new fault\n")
    assert text(logs) == {"a1": b"[12399.678901] NVRM: a new fault\n"}


def test_a_log_that_is_not_there_is_unknown_and_comes_later(tmp_path: Path) -> None:
    logs = KernelLogs("lab", (f"{tmp_path}/{{node}}.log",))
    logs.use(["a1"])
    (status,) = logs.poll(1)
    assert isinstance(status, SourceStatus)
    assert status.status is Health.UNKNOWN
    assert list(logs.poll(2)) == []
    (tmp_path / "a1.log").write_text("first\n")
    assert text(logs) == {"a1": b"first\n"}


def test_a_node_is_no_path(tmp_path: Path) -> None:
    logs = KernelLogs("lab", (f"{tmp_path}/{{node}}.log",))
    logs.use(["../../etc/passwd", "..", ""])
    assert len(logs) == 0


def test_a_restart_goes_on_where_it_was(tmp_path: Path) -> None:
    log = tmp_path / "a1.log"
    one = f"{CLOCK} a1 kernel: one\n"
    log.write_text(one)
    logs = KernelLogs("lab", (f"{tmp_path}/{{node}}.log",))
    logs.use(["a1"])
    text(logs)
    kept = {name: text for name, text in logs.positions.items() if text is not None}
    log.write_text(f"{one}two\n")
    again = KernelLogs("lab", (f"{tmp_path}/{{node}}.log",), kept)
    again.use(["a1"])
    assert text(again) == {"a1": b"two\n"}
