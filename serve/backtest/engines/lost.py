"""Whoever sends to a worker must live on when it is lost."""

from __future__ import annotations

import signal
import threading
from collections.abc import Iterator
from contextlib import contextmanager


@contextmanager
def outliving_workers() -> Iterator[None]:
    """Go on when a connection ends into which something is being written.

    A command ends when nobody reads what it prints (`relume.cli.main`), by a signal that is raised
    for connections, too. Handlers belong to the main thread: elsewhere they stay as they are.
    """
    if threading.current_thread() is not threading.main_thread():
        yield
        return
    before = signal.signal(signal.SIGPIPE, signal.SIG_IGN)
    try:
        yield
    finally:
        signal.signal(signal.SIGPIPE, before)
