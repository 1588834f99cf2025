"""Decoders that remember something from one request to the next; any thread may use them."""

from __future__ import annotations

import threading

import numpy as np

from relume.features.metrics.names import load_names
from relume.ingest.metrics.raw import Naming
from relume.ingest.push.lines import lines_of
from relume.ingest.push.loki import loki_protobuf
from relume.ingest.push.remotewrite import RemoteWrite
from relume.ingest.skips import SkipCounts
from relume.serve.intake.bodies import Body
from relume.serve.intake.seen import Seen


class SampleReceiver:
    """Bodies of remote-write: series are read once, whoever sends them.

    Parameters
    ----------
    naming
        What series are to Relume.
    """

    def __init__(self, naming: Naming) -> None:
        self._remote_write = RemoteWrite(naming)
        self._lock = threading.Lock()

    def decode(self, data: bytes, sender: str) -> Body:
        """Decode a request; what Relume has no name for is passed over, as Prometheus wants it.

        Raises
        ------
        InputError
            When it is none, or has too many series, samples or labels.
        """
        with self._lock:
            batches = self._remote_write.decode(data, SkipCounts())
        return Body(sender=sender, samples=batches)


_SERIES = b"\n\x0f\n\r\n\x08__name__\x12\x01x"
"""A WriteRequest of one series without samples, which is named x."""


def warm_up() -> None:
    """Load what decodes pushes: it is compiled once a machine, which the first push would wait for.

    >>> warm_up()
    """
    loki_protobuf(b"")
    lines_of({}, [("", 0)]).joined()
    SampleReceiver(load_names()).decode(_SERIES, "")
    Seen().note("", b"", np.zeros(0, np.int64), 0)
