"""Folders of one attempt, written by us: a job's log, a node's kernel log, accounting."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import datetime, timedelta
from pathlib import Path

from relume.ingest.attempts import find_attempts
from relume.serve.offline import Analyzer
from relume.verdict import Verdict

START = datetime(2026, 3, 2, 3, 0, 0)  # noqa: DTZ001 - clocks in logs have no zone
XID = "NVRM: Xid (PCI:0000:41:00): 79, pid='<unknown>', name=<unknown>, GPU has fallen off the bus."
"""What a kernel says of a GPU that is gone."""


def steps(count: int, *, begin: int = 0) -> list[str]:
    """Return dated step lines two seconds apart; number 400 is of 03:13:20."""
    return [
        f"{START + timedelta(seconds=2 * n)} step {n} | loss {3 - n * 1e-3:.4f} | lr 1.0e-04"
        for n in range(begin, begin + count)
    ]


RUN = steps(401)
"""A run that was going on when its log was copied."""
DONE = [*RUN, "2026-03-02 03:13:21 Training complete."]
"""The same, and it came to its end."""


def later(words: str, count: int = 80, *, seconds: int = 60) -> list[str]:
    """Return dated lines after `RUN`; `{n}` in `words` is their number."""
    begin = START + timedelta(seconds=802)
    return [f"{begin + timedelta(seconds=seconds * n)} {words.format(n=n)}" for n in range(count)]


def kernel(clock: str, text: str = XID, *, node: str = "gpu-a07") -> list[str]:
    """Return the syslog of a node whose kernel says `text` on the day of the run."""
    idle = [f"2026-03-02T02:00:0{n}+00:00 {node} kernel: usb 1-1: new device" for n in range(5)]
    return [*idle, f"2026-03-02T{clock}+00:00 {node} kernel: {text}"]


def sacct(
    state: str, *, nodes: str = "gpu-a[07-08]", end: str = "2026-03-02T03:13:25"
) -> list[str]:
    """Return what `sacct -P` prints of the attempt."""
    columns = "JobID|State|ExitCode|Start|End|NodeList"
    code = "0:0" if state in {"COMPLETED", "RUNNING"} else "1:0"
    return [columns, f"77|{state}|{code}|2026-03-02T02:59:30|{end}|{nodes}"]


def diagnose(analyzer: Analyzer, folder: Path, **logs: Sequence[str]) -> Verdict:
    """Write each log to a file of its name (`dmesg_gpu_a07` is that node's) and diagnose them."""
    for name, lines in logs.items():
        (folder / f"{name.replace('_', '-')}.log").write_text("\n".join(lines) + "\n")
    return analyzer.diagnose(find_attempts([folder])[0]).verdict
