"""Agents: they push stories at a speed, and send again whatever was not acknowledged."""

from __future__ import annotations

import threading
import time
from collections.abc import Sequence
from dataclasses import dataclass

import httpx2

from relume.benchmarks.pushed.stories import LOKI, Push
from relume.errors import UnreachableError

PATIENCE_SECONDS = 180.0
"""How long one push is tried."""
_AGAIN = frozenset({429, 500, 502, 503})


@dataclass(slots=True)
class Sent:
    """What agents sent, in sum."""

    lines: int = 0
    pushes: int = 0
    again: int = 0

    def __add__(self, other: Sent) -> Sent:
        return Sent(self.lines + other.lines, self.pushes + other.pushes, self.again + other.again)


def push_all(url: str, token: str, stories: Sequence[Sequence[Push]], speed: float) -> Sent:
    """Push stories side by side, each by an agent of its own; return when all are acknowledged.

    Raises
    ------
    UnreachableError
        When a push isn't taken within `PATIENCE_SECONDS`.
    """
    sent, errors = [Sent() for _ in stories], list[UnreachableError]()

    def run(index: int) -> None:
        try:
            sent[index] = _push(url, token, stories[index], speed)
        except UnreachableError as error:
            errors.append(error)

    threads = [threading.Thread(target=run, args=(index,)) for index in range(len(stories))]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    if errors:
        raise errors[0]
    return sum(sent, Sent())


def _push(url: str, token: str, pushes: Sequence[Push], speed: float) -> Sent:
    sent, began = Sent(), time.monotonic()
    headers = {"Authorization": f"Bearer {token}"}
    with httpx2.Client(base_url=url, headers=headers, timeout=60.0, trust_env=False) as client:
        for push in pushes:
            time.sleep(max(0.0, began + push.seconds / speed - time.monotonic()))
            sent += Sent(push.lines, 1, _until_taken(client, push))
    return sent


def _until_taken(client: httpx2.Client, push: Push) -> int:
    """Send one push until it is acknowledged; return how often it had to be sent again."""
    kind = "application/json" if push.route == LOKI else "application/x-ndjson"
    until = time.monotonic() + PATIENCE_SECONDS
    again = 0
    while True:
        try:
            answer = client.post(push.route, content=push.body, headers={"Content-Type": kind})
            if answer.is_success:
                return again
            found = f"{answer.status_code} {answer.text[:200]}"
            if answer.status_code not in _AGAIN:
                break
        except httpx2.TransportError as error:
            found = str(error) or type(error).__name__
        if time.monotonic() > until:
            break
        again += 1
        time.sleep(0.1)
    raise UnreachableError(f"push to {push.route}", found=found, expected="that it is taken")
