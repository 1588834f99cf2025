"""Pushes bad bodies until time is up, several at once."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from itertools import count
from random import Random

import httpx2

from relume.benchmarks.fuzz.bodies import JSON, Push, good_pushes
from relume.benchmarks.fuzz.mutations import mutated
from relume.benchmarks.fuzz.scene import Scene
from relume.benchmarks.fuzz.tally import Tally
from relume.clock import SystemClock
from relume.serve.api.access import MAX_PUSH_BYTES

SENDERS = 3
PATIENCE_SECONDS = 120.0
OVERSIZE_EVERY, GOOD_EVERY = 1000, 20
BOMB_BYTES = 256 << 20
"""What a small body unpacks to."""
Until = Callable[[int], bool]
"""Whether a sender that has sent so many bodies stops."""


def push_bodies(scene: Scene, tally: Tally, *, seed: int, until: Until) -> None:
    """Push mutated bodies of all forms by several senders, each until it is told to stop."""
    with ThreadPoolExecutor(SENDERS, thread_name_prefix="fuzz") as pool:
        work = [
            pool.submit(_push, scene, tally, Random(f"{seed} {number}"), until)
            for number in range(SENDERS)
        ]
        for one in work:
            one.result()


def bodies(dice: Random, good: list[Push]) -> Iterator[Push]:
    """Yield pushes without an end: bad ones, of which some are far too large, and good ones.

    >>> from itertools import islice
    >>> good = [Push("/v1/events", b"{}")]
    >>> [one.route for one in islice(bodies(Random(1), good), 3)]
    ['/v1/events', '/v1/events', '/v1/events']
    """
    for number in count(1):
        if number % OVERSIZE_EVERY == 0:
            yield Push("/v1/events", bytes(MAX_PUSH_BYTES + 1))
        elif number % OVERSIZE_EVERY == OVERSIZE_EVERY // 2:
            yield Push("/loki/api/v1/push", bytes(BOMB_BYTES), JSON).compressed("gzip")
        elif number % GOOD_EVERY == 0:
            yield dice.choice(good)
        else:
            yield mutated(dice, good)


def _push(scene: Scene, tally: Tally, dice: Random, until: Until) -> None:
    good = good_pushes(scene.known["attempt"][0], SystemClock().now())
    with httpx2.Client(
        base_url=scene.service.url, timeout=PATIENCE_SECONDS, trust_env=False
    ) as client:
        for number, push in enumerate(bodies(dice, good)):
            if until(number):
                return
            _send(client, scene, tally, push)


def _send(client: httpx2.Client, scene: Scene, tally: Tally, push: Push) -> None:
    data = push.packed()
    words = f"POST {push.route} {push.all_headers()} {len(data)} bytes {data[:300]!r}"
    headers = push.all_headers() | scene.headers(push.role)
    try:
        status = int(client.post(push.route, content=data, headers=headers).status_code)
    except httpx2.TransportError as error:
        if len(data) > MAX_PUSH_BYTES:  # refused, and the rest of it not waited for
            return
        status, words = 0, f"{words}: {error!r}"
    tally.answered(status, words)
