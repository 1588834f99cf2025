"""Bench `pushed-equals-offline`: pushed telemetry, judged anew, gives the Advice of the live run.

Agents push recorded attempts over HTTP at 1 to 1000 times their speed, while `relume serve` is
killed again and again; what isn't acknowledged they send again. Then the lake is replayed from the
first landing to the last, and the lines in it are counted.
"""

from __future__ import annotations

import random
import shutil
import sys
import tempfile
import threading
import time
from collections.abc import Sequence
from itertools import count
from pathlib import Path

from relume import __version__
from relume.benchmarks.corpora import failure_cases
from relume.benchmarks.corpora.failure_cases import Corpus
from relume.benchmarks.loop.replayed import unlike_replay
from relume.benchmarks.loop.watch import AdviceWatch, Seen
from relume.benchmarks.machine import describe, measured
from relume.benchmarks.pushed.agents import Sent, push_all
from relume.benchmarks.pushed.stories import STEPS, endings, story
from relume.benchmarks.result import Bar, BenchResult
from relume.benchmarks.serving import ServiceProcess
from relume.clock import MICROSECONDS_PER_SECOND, SystemClock
from relume.ingest.lake import LakeReader, LineBatch
from relume.serve.api import Role
from relume.serve.live.entrance import MADE

KILLS = 20
SPEEDS = (1.0, 30.0, 1000.0)
SIDE_BY_SIDE = 8
"""Attempts that run at once."""
KILL_SECONDS = (1.0, 5.0)
"""From one start to the next kill."""
SETTLE_SECONDS = 2.0
SEED = 20260303
_SETTINGS = {"serve": {"settle_seconds": SETTLE_SECONDS, "state_seconds": 10.0, "log_roots": []}}


def run(data: Path | None = None, *, quick: bool = False) -> BenchResult:
    """Run it on the failure cases below `data`; on made-up attempts without them."""
    corpus = None if data is None else failure_cases.load(data)
    folder = Path(tempfile.mkdtemp(prefix="relume-pushed-"))
    kills = 2 if quick else KILLS
    found, usage = measured(lambda: _find(folder, corpus, kills))
    seen, sent, attempts, (landed, doubled), differences = found
    result = BenchResult(
        id="pushed-equals-offline",
        version=__version__,
        machine=describe(),
        corpus={
            "name": "made-up attempts" if corpus is None else f"{corpus.name}, pushed",
            "hash": f"seed {SEED}" if corpus is None else corpus.hash,
            "attempts": attempts,
        },
        measures={
            "kills_of_serve": kills,
            "speeds": len(SPEEDS),
            "pushes_sent_again": sent.again,
            "lines_acknowledged": sent.lines,
            "lines_lost": sent.lines - landed,
            "lines_doubled": doubled,
            "attempts_with_advice": len({one.advice.attempt for one in seen}),
            "generations_compared": len(seen),
            "generations_that_differ": len(differences),
        },
        bars={
            "kills_of_serve": Bar(">=", kills),
            "lines_lost": Bar("==", 0),
            "lines_doubled": Bar("==", 0),
            "attempts_with_advice": Bar(">=", attempts // 2),
            "generations_that_differ": Bar("==", 0),
        },
        cpu_seconds=usage.cpu_seconds,
        wall_seconds=usage.wall_seconds,
        peak_rss_bytes=usage.peak_rss_bytes,
        notes={"differences": differences},
    )
    if result.passed:
        shutil.rmtree(folder)
    else:
        sys.stderr.write(f"relume: what the service said is in {folder}\n")
    return result


_Found = tuple[tuple[Seen, ...], Sent, int, tuple[int, int], list[str]]


def _find(folder: Path, corpus: Corpus | None, kills: int) -> _Found:
    ends = endings(() if corpus is None else corpus.cases)
    with ServiceProcess(folder, _SETTINGS) as service, AdviceWatch(service.ledger) as watch:
        sent, attempts = _push_during(service, ends, kills)
        service.wait_for("/healthz")
        time.sleep(3 * SETTLE_SECONDS)  # what was said last may yet be settled
        service.stop()
        seen = watch.seen()
        live = [one.advice for one in seen]
        differences = unlike_replay(service.configuration, service.lake, live)
        return seen, sent, attempts, lines_in(service.lake), differences


def _push_during(
    service: ServiceProcess, ends: Sequence[Sequence[str]], kills: int
) -> tuple[Sent, int]:
    """Push round after round until the service was killed so often; return what was sent."""
    token = (service.data / MADE[Role.INGEST]).read_text(encoding="ascii").strip()
    killer = threading.Thread(target=_kill, args=(service, kills), daemon=True)
    killer.start()
    sent, attempts = Sent(), 0
    for number in count():
        if number >= len(SPEEDS) and not killer.is_alive():
            break
        began = SystemClock().now() - (STEPS + 3) * MICROSECONDS_PER_SECOND
        jobs = range(attempts + 1, attempts + 1 + SIDE_BY_SIDE)
        stories = [story(job, began, ends[job % len(ends)]) for job in jobs]
        sent += push_all(service.url, token, stories, SPEEDS[number % len(SPEEDS)])
        attempts += SIDE_BY_SIDE
    killer.join()
    return sent, attempts


def _kill(service: ServiceProcess, kills: int) -> None:
    moments = random.Random(SEED)
    for _ in range(kills):
        time.sleep(moments.uniform(*KILL_SECONDS))
        service.kill()
        service.start()


def lines_in(lake: Path) -> tuple[int, int]:
    """Return how many lines of jobs a lake holds, and how many of them twice."""
    lines, known = 0, set[tuple[object, ...]]()
    for landing in LakeReader(lake).landings():
        if not isinstance(landing, LineBatch):
            continue
        rows = landing.block.data.split(b"\n")[:-1]
        told = landing.event_times
        times = [None] * len(rows) if told is None else told.tolist()
        lines += len(rows)
        file = landing.block.file
        known.update((file, time, text) for time, text in zip(times, rows, strict=True))
    return len(known), lines - len(known)
