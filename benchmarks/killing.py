"""Work that is killed again and again until it comes to its end."""

from __future__ import annotations

import multiprocessing
from collections.abc import Callable
from multiprocessing.context import ForkServerContext

_KILLED = -9


def forkserver(module: str) -> ForkServerContext:
    """Return a context whose processes begin with `module` imported, and share nothing."""
    context = multiprocessing.get_context("forkserver")
    context.set_forkserver_preload([module])
    return context


def run_over_kills(
    start: Callable[[], multiprocessing.process.BaseProcess],
    *,
    at_most: int,
    seconds: Callable[[], float],
    after_kill: Callable[[], None] = lambda: None,
) -> int:
    """Start a process, kill it after `seconds()`, start it again, until one ends by itself.

    After `at_most` kills it is left alone. `after_kill` is called after each, and at the end.
    Returns how often it was killed.

    Raises
    ------
    RuntimeError
        When one fails.
    """
    kills, ended = 0, False
    while not ended:
        process = start()
        process.start()
        if kills < at_most:
            process.join(seconds())
            process.kill()
        process.join()
        ended = process.exitcode == 0
        if not ended and process.exitcode != _KILLED:
            raise RuntimeError(f"a process ended with code {process.exitcode}")
        kills += not ended
        after_kill()
    return kills
