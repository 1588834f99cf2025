"""Asks for what the OpenAPI document doesn't tell of: pages for browsers, and the stream."""

from __future__ import annotations

from random import Random
from urllib.parse import quote, urlencode

import httpx2

from relume.benchmarks.fuzz.described import ENDLESS
from relume.benchmarks.fuzz.scene import Scene
from relume.benchmarks.fuzz.tally import Tally
from relume.serve.api import Role

PAGES = (
    "/",
    "/incidents/{}",
    "/jobs",
    "/jobs/{}",
    "/nodes",
    "/advice",
    "/advice/{}",
    "/scoreboard",
    "/goodput",
    "/status",
    "/login",
    "/static/{}",
    "/{}",
)
PARAMETERS = ("q", "show", "before", "part", "days", "format", "v", "after", "limit", "since")
_WORDS = (
    "",
    "json",
    "timeline",
    "-1",
    "0",
    "99999999999999999999",
    "1e9",
    "NaN",
    "\x00",
    "%00",
    "../../../etc/passwd",
    "..%2f..%2fetc/passwd",
    "' OR 1=1 --",
    "<script>alert(1)</script>",
    "{{7*7}}",
    "\u202e\u0661\ud7ff\uffff",
    "a" * 3000,
    "7-0",
    "lab/7@1.0",
    "%",
    "[",
)
_NUMBERS = ("", "0", "1", "-1", "9223372036854775807", "9223372036854775808", "x", "1.0", "\xb2")


def ask_pages(scene: Scene, tally: Tally, dice: Random, count: int) -> None:
    """Ask for so many pages with words in their addresses that nobody expects."""
    known = [one for those in scene.known.values() for one in those]
    client = scene.service.client
    for _ in range(count):
        word = dice.choice((*_WORDS, *known))
        path = dice.choice(PAGES).format(quote(word, safe=dice.choice(("", "/@"))))
        names = dice.sample(PARAMETERS, dice.randrange(3))
        query = urlencode([(name, dice.choice(_WORDS)) for name in names])
        kind = dice.choice(("text/html", "application/json", "*/*", ";;q=,"))
        _ask(client, tally, f"{path}?{query}", {"Accept": kind})


def ask_streams(scene: Scene, tally: Tally, dice: Random, count: int) -> None:
    """Begin so many streams at numbers that may be none, and end each after its first words."""
    client = scene.service.client
    for _ in range(count):
        role = dice.choice((Role.READ, Role.CONTROL, Role.INGEST, None))
        headers = scene.headers(role) or {"Authorization": "Bearer nobody"}
        if dice.random() < 0.5:  # noqa: PLR2004 - a coin
            headers["Last-Event-ID"] = dice.choice(_NUMBERS)
        address = f"{ENDLESS}?after={quote(dice.choice(_NUMBERS))}"
        _ask(client, tally, address, headers)


def _ask(client: httpx2.Client, tally: Tally, address: str, headers: dict[str, str]) -> None:
    words = f"GET {address} {headers.get('Accept', '')}"
    raw = [(name.encode(), value.encode("latin-1")) for name, value in headers.items()]
    try:
        with client.stream("GET", address, headers=raw) as answer:
            next(answer.iter_raw(), b"")
            status = int(answer.status_code)
    except httpx2.TransportError as error:
        status, words = 0, f"{words}: {error!r}"
    tally.answered(status, words)
