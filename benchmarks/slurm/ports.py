"""Blocks of free ports on loopback, so that several labs run side by side."""

from __future__ import annotations

import socket
from types import TracebackType
from typing import Self

from relume.errors import UnreachableError

FIRST_PORT, LAST_PORT = 20_000, 32_000
"""Below the ports that Linux gives to outgoing connections."""
BLOCK_PORTS = 200
HOST = "127.0.0.1"


class PortBlock:
    """Ports that nobody listens on; a context manager that keeps them from other labs.

    Parameters
    ----------
    count
        How many ports are needed.
    base_port
        The first of them; null takes the first free block.

    Raises
    ------
    UnreachableError
        When the ports are in use.
    """

    def __init__(self, count: int, base_port: int | None = None) -> None:
        bases = (
            range(FIRST_PORT, LAST_PORT - count, BLOCK_PORTS) if base_port is None else [base_port]
        )
        for base in bases:
            lock = _try_lock(base)
            if lock is not None and all(_is_free(port) for port in range(base, base + count)):
                self._lock, self.base_port = lock, base
                return
            if lock is not None:
                lock.close()
        raise UnreachableError(
            f"{count} ports from {bases[0]} to {bases[-1] + count - 1}",
            found="some in use, or kept by another lab",
            expected="a block of free ports",
            hint="stop an old lab, or give another base port",
        )

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        self._lock.close()


def _try_lock(base: int) -> socket.socket | None:
    """Take an abstract unix socket: it belongs to one process, and vanishes with it."""
    lock = socket.socket(socket.AF_UNIX)
    try:
        lock.bind(f"\0relume-slurm-lab-{base}")
    except OSError:
        lock.close()
        return None
    return lock


def _is_free(port: int) -> bool:
    with socket.socket() as probe:
        # As servers do: a port on which only old connections linger is free.
        probe.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        try:
            probe.bind((HOST, port))
        except OSError:
            return False
        return True
