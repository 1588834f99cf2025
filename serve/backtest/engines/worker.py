"""What a Dask worker begins with that is a job of its own: a watch over its memory.

A nanny would do that, and start the worker anew; it is a process more, whose start costs as much as
a second of replay. Who submits the jobs submits lost ones anew, so no worker needs one. Dask loads
this module by its option ``--preload``.
"""

from __future__ import annotations

import logging
import os
import time
from collections.abc import Callable
from threading import Thread
from typing import TYPE_CHECKING

from relume.serve.backtest.engines.memory import too_much

if TYPE_CHECKING:
    from distributed import Worker

log = logging.getLogger(__name__)
LOOK_SECONDS = 0.5
"""How often memory is looked at."""
TELL_SECONDS = 0.5
"""How long the reason may take to get to the scheduler; the memory that is held grows meanwhile."""
TOPIC = "relume-ended"
"""Of the events by which workers say why they end."""


def dask_setup(worker: Worker) -> None:
    """Watch the memory of this process, up to the limit that the worker was given."""
    limit = worker.memory_manager.memory_limit
    if limit:
        Thread(target=_watch, args=(worker, limit), daemon=True).start()


def watch(limit: int, end: Callable[[str], None], *, pause_seconds: float = LOOK_SECONDS) -> None:
    """Look at the memory of this process until it holds more than `limit`, then `end` it."""
    while (reason := too_much(os.getpid(), limit)) is None:
        time.sleep(pause_seconds)
    end(reason)


def _watch(worker: Worker, limit: int) -> None:
    def end(reason: str) -> None:
        log.error("this worker ends: %s", reason)
        told = {"worker": worker.address, "reason": reason}
        worker.loop.add_callback(worker.log_event, TOPIC, told)
        time.sleep(TELL_SECONDS)
        os._exit(1)  # at once: whatever it replays would go on, and hold more

    watch(limit, end)
