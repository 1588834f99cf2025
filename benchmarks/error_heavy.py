"""Bench `error-heavy`: lines that no rule knows, mined into templates and diagnosed."""

from __future__ import annotations

import random
import statistics
import tempfile
from collections.abc import Callable, Iterator
from functools import partial
from hashlib import sha256
from itertools import islice
from pathlib import Path

from relume import __version__
from relume.benchmarks.machine import (
    Usage,
    describe,
    measured,
    reference_rate,
    too_slow,
)
from relume.benchmarks.result import Bar, BenchResult
from relume.ingest.attempts import find_attempts
from relume.models.templates.drain import Drain
from relume.serve.offline import Analyzer

LINES = 200_000
TEMPLATES = 200
ROUNDS = 5
SEED = 5
BLOCK_BYTES = 1 << 20
_BARS = {
    "within_200_templates_lines_per_cpu_second": Bar(">=", 200_000),
    "all_distinct_lines_per_cpu_second": Bar(">=", 20_000),
    "all_distinct_of_one_kind_lines_per_cpu_second": Bar(">=", 20_000),
    "templates_found": Bar("<=", TEMPLATES),
}
_LETTERS = "abcdefghijklmnopqrstuvwxyz"
_TEXT = (
    "cannot failed lost refused broken stale missing invalid unexpected aborted buffer "
    "queue shard replica loader socket stream handle tensor bucket mailbox window while "
    "after before during from of for reading writing sending opening closing waiting "
)
_WORDS = tuple(_TEXT.split())


def run(data: Path | None, *, quick: bool = False) -> BenchResult:
    """Mine generated error lines; `quick` takes a tenth of them, once. Takes no `data`."""
    del data  # made here
    lines, rounds = (LINES // 10, 1) if quick else (LINES, ROUNDS)
    makers = {
        "within_200_templates": within_templates,
        "all_distinct": all_distinct,
        "all_distinct_of_one_kind": all_distinct_of_one_kind,
    }
    made = {name: "\n".join(islice(make(), lines)).encode() for name, make in makers.items()}
    rates, found, last = {}, 0, Usage(0, 0, 0)
    for name, text in made.items():
        usages = [measured(partial(_mine, text)) for _ in range(rounds)]
        rates[f"{name}_lines_per_cpu_second"] = _rate([one for _, one in usages], lines)
        found, last = found or len(usages[-1][0]), usages[-1][1]
    diagnosed = _diagnosed(made, lines, rounds)
    reference = reference_rate()
    return BenchResult(
        id="error-heavy",
        version=__version__,
        machine=describe(),
        corpus={
            "name": "generated error lines",
            "hash": sha256(b"\0".join(made.values())).hexdigest()[:16],
            "lines": lines,
        },
        measures={
            **rates,
            "templates_found": found,
            **diagnosed,
            "reference_memchr_mb_per_cpu_second": round(reference),
        },
        bars=dict(_BARS),
        cpu_seconds=last.cpu_seconds,
        wall_seconds=last.wall_seconds,
        peak_rss_bytes=last.peak_rss_bytes,
        void=too_slow(reference),
    )


def within_templates() -> Iterator[str]:
    """Yield lines of 200 templates, with values of every kind; nearly no two are the same."""
    draw = random.Random(SEED)
    values = _values(draw)
    templates = [_template(draw, len(values)) for _ in range(TEMPLATES)]
    while True:
        head = f"[rank{draw.randrange(1024)}]: {_clock(draw)} ERROR"
        words = draw.choice(templates)
        yield " ".join([head, *(w if isinstance(w, str) else values[w]() for w in words)])


def all_distinct() -> Iterator[str]:
    """Yield lines that have nothing in common."""
    draw = random.Random(SEED)
    while True:
        yield " ".join(_word(draw) for _ in range(14))


def all_distinct_of_one_kind() -> Iterator[str]:
    """Yield lines that begin alike and have nothing else in common: all of one leaf."""
    draw = random.Random(SEED)
    while True:
        yield f"{_clock(draw)} ERROR worker " + " ".join(_word(draw) for _ in range(10))


def _template(draw: random.Random, values: int) -> list[str | int]:
    """Words, and of one to three places the kind of value that stands there."""
    words: list[str | int] = [draw.choice(_WORDS) for _ in range(draw.randrange(6, 14))]
    for place in draw.sample(range(len(words)), draw.randrange(1, 4)):
        words[place] = draw.randrange(values)
    return words


def _values(draw: random.Random) -> list[Callable[[], str]]:
    def bits(count: int) -> str:
        return f"{draw.getrandbits(count):0{count // 4}x}"

    return [
        lambda: str(draw.randrange(100_000)),
        lambda: f"{draw.uniform(0, 100):.4f}",
        lambda: f"0x{bits(48)}",
        lambda: f"{bits(32)}-{bits(16)}-{bits(16)}-{bits(16)}-{bits(48)}",
        lambda: f"/scratch/run_{draw.randrange(999)}/step{draw.randrange(9999)}.pt",
        lambda: f"node{draw.randrange(512):03d}",
        lambda: f"10.0.{draw.randrange(256)}.{draw.randrange(256)}:{draw.randrange(65536)}",
        lambda: f"rank{draw.randrange(1024)}",
    ]


def _clock(draw: random.Random) -> str:
    hour, minute, second = draw.randrange(24), draw.randrange(60), draw.randrange(60)
    return f"2026-03-02 {hour:02d}:{minute:02d}:{second:02d},{draw.randrange(1000):03d}"


def _word(draw: random.Random) -> str:
    return "".join(draw.choices(_LETTERS, k=6))


def _mine(text: bytes) -> Drain:
    drain = Drain()
    start = 0
    while start < len(text):
        end = text.rfind(b"\n", start, start + BLOCK_BYTES) + 1
        end = len(text) if len(text) - start <= BLOCK_BYTES or not end else end
        drain.add_lines(text[start:end])
        start = end
    return drain


def _diagnosed(made: dict[str, bytes], lines: int, rounds: int) -> dict[str, int]:
    """The same lines through all of `diagnose`."""
    analyzer, rates = Analyzer(), {}
    with tempfile.TemporaryDirectory() as work:
        for name, text in made.items():
            path = Path(work) / f"{name}.log"
            path.write_bytes(text)
            attempts = list(find_attempts([path]))
            diagnose = partial(analyzer.diagnose_all, attempts)
            usages = [measured(diagnose)[1] for _ in range(rounds)]
            rates[f"diagnosed_{name}_lines_per_cpu_second"] = _rate(usages, lines)
    return rates


def _rate(usages: list[Usage], lines: int) -> int:
    return round(statistics.median(lines / usage.cpu_seconds for usage in usages))
