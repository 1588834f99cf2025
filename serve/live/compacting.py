"""Merges small segments of the lake now and then, beside the runner, in a thread of its own."""

from __future__ import annotations

import logging
import os
import threading
from contextlib import suppress
from pathlib import Path
from time import monotonic

from relume.clock import Clock
from relume.errors import RelumeError
from relume.ingest.lake.compaction import compact
from relume.serve.live.metrics import RunnerMetrics

log = logging.getLogger(__name__)
MIN_COMMITS = 100
"""So many commits are worth it."""
_NICE = 10
"""What is live comes first."""


class Compacting:
    """The thread, one at a time, and when it is due again.

    Parameters
    ----------
    lake
        Which is open for writing in this process.
    seconds
        From one time to the next; 0 for never.
    """

    def __init__(self, lake: Path, clock: Clock, metrics: RunnerMetrics, seconds: float) -> None:
        self._lake, self._clock, self._metrics = lake, clock, metrics
        self._seconds, self._due = seconds, monotonic() + seconds
        self._thread: threading.Thread | None = None

    @property
    def is_due(self) -> bool:
        """Whether it is time again, and the last time is over."""
        is_idle = self._thread is None or not self._thread.is_alive()
        return bool(self._seconds) and is_idle and monotonic() >= self._due

    def postpone(self) -> None:
        """Count from now on."""
        self._due = monotonic() + self._seconds

    def start(self) -> None:
        """Merge what the journal has sealed, and don't wait for it."""
        self.postpone()
        # A daemon: it may be ended at any point, as by a kill, and the stop shouldn't wait.
        self._thread = threading.Thread(target=self.run, name="compaction", daemon=True)
        self._thread.start()

    def wait(self) -> None:
        """Wait for the end of what was begun."""
        if self._thread is not None:
            self._thread.join()

    def run(self) -> None:
        """Do it once; what fails is said, and tried again the next time."""
        with suppress(OSError):
            os.setpriority(os.PRIO_PROCESS, threading.get_native_id(), _NICE)
        try:
            done = compact(self._lake, self._clock)
        except RelumeError as error:
            log.error("%s", error)  # noqa: TRY400 - it says all there is
            self._metrics.compactions.labels("failed").inc()
        except Exception:
            log.exception("the lake can't be compacted")
            self._metrics.compactions.labels("failed").inc()
        else:
            self._metrics.compactions.labels("done").inc()
            self._metrics.merged.inc(done.segments_before)
