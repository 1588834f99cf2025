"""A recording that lies on a slow network filesystem, as far as those who read it can tell."""

from __future__ import annotations

import math
import time
from collections.abc import Callable, Iterator
from dataclasses import replace
from functools import partial

from relume.ingest.blocks import Block
from relume.serve.backtest.run import Recording
from relume.serve.backtest.sources import LogSource, Planned, Unit

READ_BYTES = 16 << 10
"""What one request of such a filesystem brings."""
ROUND_TRIP_SECONDS = 0.2
"""How long it takes: several times as long as to judge what was read."""


class SlowRecording(Recording):
    """A recording of which each read waits; what is read is the same."""

    def plans(self) -> list[Planned]:
        """Return the units, whose logs are slow."""
        return [one._replace(make=partial(_slow_unit, one.make)) for one in super().plans()]


def _slow_unit(make: Callable[[], Unit]) -> Unit:
    unit = make()
    attempts = tuple(
        replace(one, logs=tuple(_slow(log) for log in one.logs)) for one in unit.attempts
    )
    return replace(unit, attempts=attempts, node_logs=tuple(_slow(log) for log in unit.node_logs))


def _slow(log: LogSource) -> LogSource:
    read = log.read

    def slowly() -> Iterator[Block]:
        for block in read():
            time.sleep(math.ceil(len(block.data) / READ_BYTES) * ROUND_TRIP_SECONDS)
            yield block

    return replace(log, read=slowly)
