"""Whoever reads our output, such as `head`, may leave before its end; that is no error."""

from __future__ import annotations

import os
import select
import signal
import sys
from typing import NoReturn

_STDOUT = 1
ENDED = 128 + signal.SIGPIPE
"""The exit code of a program that the signal ends, as shells show it."""


def has_left() -> bool:
    """Whether nobody reads the pipe any more that is our standard output."""
    poll = select.poll()
    poll.register(_STDOUT, select.POLLOUT)
    return any(what & select.POLLERR for _, what in poll.poll(0))


def end() -> NoReturn:
    """End as other programs do: without a word, and with what is buffered left unwritten.

    The signal itself isn't asked to do it. It would also end a process that uses the command line
    as a library, at the next connection that somebody else closed.
    """
    sys.stderr.flush()
    os._exit(ENDED)
