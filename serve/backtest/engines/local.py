"""Processes of this machine, each with one piece at a time and so much memory."""

from __future__ import annotations

import multiprocessing
import os
import signal
import time
from collections import deque
from collections.abc import Iterator, Sequence
from concurrent.futures import FIRST_COMPLETED, Future, ProcessPoolExecutor, wait
from concurrent.futures.process import BrokenProcessPool
from contextlib import suppress
from dataclasses import dataclass, field
from multiprocessing.connection import wait as wait_for
from threading import Thread

from relume.serve.backtest.engines.lost import outliving_workers
from relume.serve.backtest.engines.memory import machine_bytes, too_much
from relume.serve.backtest.engines.work import (
    MAX_TRIES,
    GivenUp,
    Piece,
    Played,
    Work,
    packed,
    replay_packed,
)

PRELOADED = (__name__, "relume.serve.backtest.run")
"""What is imported once for all workers."""
SOLO_SECONDS = 5.0
"""What is done sooner than that needs no other process: to start one takes as long."""
LOOK_SECONDS = 0.5
"""How often the memory of workers is looked at."""
MEMORY_SHARE = 0.8
"""Of the machine's memory, for all workers together."""


@dataclass(frozen=True, slots=True)
class Local:
    """Replays in `workers` processes; null for one a core, and none for a small recording.

    Memory: what a replay of one unit holds, in each of them. A worker that has more than
    `memory_bytes` of its own is ended (null for an equal part of four fifths of the machine's).
    """

    workers: int | None = None
    memory_bytes: int | None = None

    @property
    def cores(self) -> int:
        """One for each process."""
        return self.workers or _cores()

    def run(self, work: Work, pieces: Sequence[Piece]) -> Iterator[Played | GivenUp]:
        """Yield what came of each piece as it is done; see `Engine.run`."""
        left = deque(pieces)
        workers = self.cores
        until = time.monotonic() + SOLO_SECONDS
        while left and (workers == 1 or (self.workers is None and time.monotonic() < until)):
            yield work.replay(left.popleft())
        if left:
            workers = min(workers, len(left))
            limit = self.memory_bytes or int(machine_bytes() * MEMORY_SHARE) // workers
            with outliving_workers():
                yield from _Pool(packed(work), workers, limit).run(left)


@dataclass(slots=True)
class _Worker:
    """One process that is started when it is needed, anew after it died."""

    limit: int
    _reason: str | None = None
    _executor: ProcessPoolExecutor | None = None
    _pid: Future[int] | None = None

    def submit(self, blob: bytes, piece: Piece) -> Future[Played]:
        if self._executor is None:
            context = multiprocessing.get_context("forkserver")
            context.set_forkserver_preload(list(PRELOADED))
            self._executor = ProcessPoolExecutor(1, mp_context=context, initializer=_begin)
            self._pid = self._executor.submit(os.getpid)
        return self._executor.submit(replay_packed, blob, piece)

    def look(self) -> None:
        """End it if it holds too much: its memory must not be everybody's trouble."""
        if self._pid is None or not self._pid.done():
            return
        reason = too_much(self._pid.result(), self.limit)
        if reason is not None:
            self._reason = reason
            self._kill()

    def forget(self) -> str:
        """Let a dead process go, and say how it died."""
        why, self._reason = self._reason or "it was killed, or crashed", None
        self.end()
        return why

    def end(self, *, is_busy: bool = False) -> None:
        """End it, at once even where it is busy."""
        if self._executor is None:
            return
        if is_busy:
            self._kill()
        self._executor.shutdown(wait=True, cancel_futures=True)
        self._executor = self._pid = None

    def _kill(self) -> None:
        with suppress(BrokenProcessPool, ProcessLookupError):
            if self._pid is not None:
                os.kill(self._pid.result(), signal.SIGKILL)


@dataclass(slots=True)
class _Pool:
    """Gives each worker its next piece; a piece that kills its worker is tried again."""

    blob: bytes
    workers: int
    limit: int
    _tries: dict[Piece, int] = field(default_factory=dict)

    def run(self, left: deque[Piece]) -> Iterator[Played | GivenUp]:
        idle = [_Worker(self.limit) for _ in range(self.workers)]
        every = list(idle)
        busy: dict[Future[Played], tuple[_Worker, Piece]] = {}
        try:
            while left or busy:
                while left and idle:
                    worker, piece = idle.pop(), left.popleft()
                    busy[worker.submit(self.blob, piece)] = worker, piece
                done, _ = wait(busy, LOOK_SECONDS, FIRST_COMPLETED)
                for worker, _ in busy.values():
                    worker.look()
                for future in done:
                    worker, piece = busy.pop(future)
                    idle.append(worker)
                    try:
                        yield future.result()
                    except BrokenProcessPool:
                        yield from self._again(piece, worker.forget(), left)
        finally:
            for worker, _ in busy.values():
                worker.end(is_busy=True)
            for worker in every:
                worker.end()

    def _again(self, piece: Piece, why: str, left: deque[Piece]) -> Iterator[GivenUp]:
        self._tries[piece] = tries = self._tries.get(piece, 0) + 1
        if tries < MAX_TRIES:
            left.append(piece)
        else:
            yield GivenUp(piece, f"{tries} workers died over it; the last: {why}")


def _begin() -> None:
    """Leave Ctrl-C to the process that started this one, and end with it however it ends."""
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    parent = multiprocessing.parent_process()
    if parent is not None:
        Thread(target=_end_with, args=(parent.sentinel,), daemon=True).start()


def _end_with(sentinel: int) -> None:
    wait_for([sentinel])
    os._exit(1)


def _cores() -> int:
    return len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1
