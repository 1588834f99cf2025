"""Bench `fuzz`: a real service under requests that nobody should send; it survives all of them.

Half of the time requests are made from the OpenAPI document (each role's token, and none), the
other half bodies of every form are pushed with something wrong in them. What is asked follows from
the seed; how much of it, from the time.
"""

from __future__ import annotations

import time
from collections.abc import Callable
from itertools import count
from pathlib import Path
from random import Random

from relume import __version__
from relume.benchmarks.fuzz.addresses import ask_pages, ask_streams
from relume.benchmarks.fuzz.described import Asker, require_schemathesis
from relume.benchmarks.fuzz.pushing import push_bodies
from relume.benchmarks.fuzz.raw import send_raw
from relume.benchmarks.fuzz.scene import Scene, scene
from relume.benchmarks.fuzz.tally import Tally
from relume.benchmarks.machine import Usage, describe, measured, status_bytes
from relume.benchmarks.result import Bar, BenchResult
from relume.benchmarks.serving.folder import service_folder
from relume.serve.api import Role

SEED = 20261201
MINUTES = 10.0
PAGES, STREAMS, RAW = 100, 30, 100
"""Asked in each round."""
MAX_COMPLAINTS = 20
SLICE_SECONDS = 25.0
"""For how long each role asks in one round; all the same if there is less time than for one."""
ROLES: tuple[Role | None, ...] = (Role.CONTROL, Role.LABEL, Role.READ, Role.INGEST, None)


class Campaign:
    """What a campaign found.

    Attributes
    ----------
    asked, pushed
        The requests made from the document and by address, and the bodies.
    operations
        All that the document has.
    is_alive
        Whether the process of the beginning answers in the end.
    step_failures
        Steps of the runner that failed and were begun again.
    peak_bytes
        The most memory that the process ever had.
    complaints
        The first errors in its log.
    """

    def __init__(self) -> None:
        self.asked, self.pushed = Tally(), Tally()
        self.operations: set[str] = set()
        self.is_alive = False
        self.step_failures = 0.0
        self.peak_bytes = 0
        self.complaints: list[str] = []


def run(data: Path | None = None, *, minutes: float = MINUTES) -> BenchResult:
    """Run it for so many `minutes`; `data` is not used.

    Raises
    ------
    UnreachableError
        When Schemathesis isn't installed.
    """
    del data
    require_schemathesis()
    with service_folder("fuzz") as folder:
        found, usage = measured(lambda: campaign(folder, 60 * minutes))
    return result_of(found, usage, is_whole=minutes >= MINUTES)


def campaign(folder: Path, seconds: float, seed: int = SEED) -> Campaign:
    """Ask and push for so long in all; return what came of it."""
    found = Campaign()
    with scene(folder) as stage:
        _ask(stage, found, seed, seconds / 2)
        end = time.monotonic() + seconds / 2
        push_bodies(stage, found.pushed, seed=seed, until=lambda _: time.monotonic() > end)
        settle(stage, found)
    return found


def settle(stage: Scene, found: Campaign) -> None:
    """Note how the service is in the end."""
    found.is_alive = stage.is_alive
    found.step_failures = stage.step_failures() if found.is_alive else 0.0
    found.peak_bytes = status_bytes(stage.service.process.pid or 0).get("VmHWM", 0)
    log = (stage.service.folder / "serve.log").read_text(encoding="utf-8", errors="replace")
    found.complaints = [one[:500] for one in log.splitlines() if " ERROR " in one][:MAX_COMPLAINTS]


def _ask(stage: Scene, found: Campaign, seed: int, seconds: float) -> None:
    document = stage.service.client.get("/openapi.json").json()
    asker = Asker(document, stage.service.url, known=stage.known, tally=found.asked)
    found.operations = asker.operations

    end, part = time.monotonic() + seconds, min(SLICE_SECONDS, seconds / len(ROLES))
    for number in count():
        dice = Random(f"{seed} {number}")
        for step in _steps(stage, found, asker, dice, is_first=number == 0):
            left = end - time.monotonic()
            if left <= 0:
                return
            step(min(left, part))


def _steps(
    stage: Scene, found: Campaign, asker: Asker, dice: Random, *, is_first: bool
) -> list[Callable[[float], None]]:
    """What one round does; each is told how many seconds it has."""

    def by(role: Role | None) -> Callable[[float], None]:
        seed = dice.getrandbits(32)
        headers = stage.headers(role)
        return lambda part: asker.ask(headers, seed=seed, seconds=part, boundaries=is_first)

    return [
        lambda _: ask_pages(stage, found.asked, dice, PAGES),
        lambda _: ask_streams(stage, found.asked, dice, STREAMS),
        lambda _: send_raw(stage, found.asked, dice, RAW),
        *map(by, ROLES),
    ]


def result_of(found: Campaign, usage: Usage, *, is_whole: bool) -> BenchResult:
    """Return the result; a campaign that is cut short needn't have asked for everything."""
    asked, pushed = found.asked, found.pushed
    both = (asked, pushed)
    bars = {
        "crashes": Bar("==", 0),
        "server_errors": Bar("==", 0),
        "unanswered": Bar("==", 0),
        "schema_violations": Bar("==", 0),
        "step_failures": Bar("==", 0),
    }
    if is_whole:
        bars["operations_untested"] = Bar("==", 0)
    return BenchResult(
        id="fuzz",
        version=__version__,
        machine=describe(),
        corpus={
            "name": "requests made from the OpenAPI document, and bodies with something wrong",
            "hash": f"seed {SEED}",
            "operations": len(found.operations),
        },
        measures={
            "crashes": float(not found.is_alive),
            "server_errors": sum(one.errors for one in both),
            "unanswered": sum(one.statuses[0] for one in both),
            "schema_violations": sum(asked.violations.values()),
            "step_failures": found.step_failures,
            "operations_untested": len(found.operations - asked.operations),
            "requests": asked.statuses.total(),
            "bodies": pushed.statuses.total(),
            **{
                f"answers_{first}xx": sum(one.of_class(first) for one in both) for first in _CLASSES
            },
            "memory_peak_mib": round(found.peak_bytes / (1 << 20), 1),
        },
        bars=bars,
        cpu_seconds=usage.cpu_seconds,
        wall_seconds=usage.wall_seconds,
        peak_rss_bytes=usage.peak_rss_bytes,
        notes={
            "statuses": {
                name: {str(status): many for status, many in sorted(one.statuses.items())}
                for name, one in (("asked", asked), ("pushed", pushed))
            },
            "violations": dict(asked.violations),
            "examples": [*asked.examples, *pushed.examples],
            "complaints": found.complaints,
        },
    )


_CLASSES = (2, 3, 4, 5)
