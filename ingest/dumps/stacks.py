"""Stacks of processes, as py-spy (text and JSON) and Python's `faulthandler` write them.

Kept is the main thread of each process: the one named ``MainThread``, else the one that a module's
own code began, else the last. Addresses are dropped; paths keep their last part.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from pathlib import PurePath
from typing import Any, Final

from relume.dumps import Frame, ProcessStack
from relume.ingest.dumps.ranks import node_by_name
from relume.ingest.filenames import writer_of

MAX_FRAMES: Final = 200
"""Calls of a stack that are kept, the innermost."""
MAX_PROCESSES: Final = 4096
"""Processes of one file: more than run on a node."""
MAX_THREADS: Final = 4096
MAX_TEXT: Final = 200
MAIN: Final = "MainThread"
MODULE: Final = "<module>"

_PROCESS = re.compile(r"Process (?P<pid>\d{1,10}): ?(?P<command>.{0,4000})")
_PY_SPY_THREAD = re.compile(
    r'Thread (?:0x[0-9A-Fa-f]+|\d{1,20})(?: \([^)]*\))?(?:: "(?P<name>.*)")?'
)
_PY_SPY_FRAME = re.compile(
    r" {4}(?P<function>\S.{0,300}?) \((?P<file>[^()]{1,300}?)(?::(?P<line>\d+))?\)$"
)
_FAULT_THREAD = re.compile(r"(?:Current thread|Thread) 0x[0-9a-fA-F]+(?: \[(?P<name>[^\]]*)\])?")
_FAULT_FRAME = re.compile(
    r'  File "(?P<file>[^"]*)", line (?P<line>\d+|\?\?\?) in (?P<function>.+)'
)
_ADDRESS = re.compile(r"0x[0-9a-fA-F]+")
_RANK = re.compile(
    r"(?:^|[\s-])(?:--)?(?:global_)?rank[= ](?P<rank>\d{1,7})\b|\bRANK=(?P<env>\d{1,7})\b"
)


@dataclass(slots=True)
class _Thread:
    name: str = ""
    frames: list[Frame] = field(default_factory=list)


@dataclass(slots=True)
class _Process:
    pid: str | None = None
    command: str = ""
    threads: list[_Thread] = field(default_factory=list)

    def main(self) -> _Thread | None:
        named = [thread for thread in self.threads if thread.name == MAIN]
        began = [t for t in self.threads if any(f.function == MODULE for f in t.frames)]
        return next(iter([*named, *reversed(began), *reversed(self.threads)]), None)


def read_text(text: str, file: str) -> list[ProcessStack]:
    r"""Read stacks written as text; a file may hold those of several processes.

    Examples
    --------
    >>> shown = 'Thread 7 (idle): "MainThread"\n    wait (work.py:12)\n    <module> (train.py:3)\n'
    >>> [stack] = read_text("Process 7: python train.py --rank 5\n" + shown, "node.txt")
    >>> stack.rank, stack.frames[0]
    (5, Frame(function='wait', file='work.py', line=12))
    """
    processes = list(_processes(text.splitlines()))
    return _stacks(processes, file)


def read_json(document: object, file: str) -> list[ProcessStack]:
    """Read what ``py-spy dump --json`` printed: one process, or those of several in one list."""
    processes: dict[str, _Process] = {}
    for item in document if isinstance(document, list) else []:
        if not isinstance(item, dict) or not isinstance(item.get("frames"), list):
            continue
        pid = str(item.get("pid"))[:MAX_TEXT]
        if pid not in processes and len(processes) >= MAX_PROCESSES:
            continue
        process = processes.setdefault(pid, _Process(pid, _command(item)))
        frames = [
            _frame_of(frame) for frame in item["frames"][:MAX_FRAMES] if isinstance(frame, dict)
        ]
        if len(process.threads) < MAX_THREADS:
            process.threads.append(_Thread(str(item.get("thread_name"))[:MAX_TEXT], frames))
    return _stacks(list(processes.values()), file)


def _processes(lines: Iterable[str]) -> Iterator[_Process]:
    process, count = _Process(), 0
    for line in lines:
        if (found := _PROCESS.fullmatch(line)) is not None:
            if process.threads:
                yield process
                count += 1
            if count >= MAX_PROCESSES:
                return
            process = _Process(found["pid"], found["command"])
        elif (found := _FAULT_THREAD.match(line) or _PY_SPY_THREAD.match(line)) is not None:
            if len(process.threads) < MAX_THREADS:
                process.threads.append(_Thread(found["name"] or ""))
        elif process.threads and (frame := _frame(line)) is not None:
            frames = process.threads[-1].frames
            if len(frames) < MAX_FRAMES:
                frames.append(frame)
    if process.threads:
        yield process


def _frame(line: str) -> Frame | None:
    found = _PY_SPY_FRAME.match(line) or _FAULT_FRAME.match(line)
    return _made(found["function"], found["file"], found["line"]) if found is not None else None


def _frame_of(item: dict[str, Any]) -> Frame:
    file = item.get("filename") or item.get("short_filename") or item.get("module")
    return _made(str(item.get("name")), str(file), str(item.get("line")))


def _made(function: str, file: str, line: str | None) -> Frame:
    name = _ADDRESS.sub("0x", function)[:MAX_TEXT]
    number = (
        int(line) if line is not None and line.isdecimal() and len(line) < len("9" * 10) else None
    )
    return Frame(name, PurePath(file).name[:MAX_TEXT], number or None)


def _stacks(processes: Sequence[_Process], file: str) -> list[ProcessStack]:
    """Name each process: by its command line, and where the file is of one alone, by the file."""
    writer = writer_of(PurePath(file).name) if len(processes) == 1 else None
    made = []
    for number, process in enumerate(processes):
        main = process.main()
        rank = _rank(process.command)
        made.append(
            ProcessStack(
                process=f"process {process.pid}" if process.pid else f"{file} #{number}",
                file=file,
                rank=rank if rank is not None or writer is None else writer.rank,
                node=node_by_name(file),
                frames=tuple(main.frames) if main is not None else (),
            )
        )
    return made


def _command(item: dict[str, Any]) -> str:
    told = item.get("process_info")
    command = told.get("command_line") if isinstance(told, dict) else None
    return str(command or "")[:4000]


def _rank(command: str) -> int | None:
    found = _RANK.search(command)
    return int(found["rank"] or found["env"]) if found is not None else None
