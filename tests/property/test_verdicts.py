"""What must not matter: names of hosts, numbers of ranks, clocks, colours, repeats, a healthy past."""

from __future__ import annotations

import random
import re

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from relume.serve.offline import Analyzer
from relume.verdict import Verdict
from stories import STORIES

ANALYZER = Analyzer()
HEALTHY = [
    f" iteration {n:8d}/  500000 | consumed samples: {n * 512:12d} | elapsed time per iteration "
    f"(ms): {5100 + n % 7}.1 | learning rate: 1.0E-04 | global batch size:   512 | lm loss: "
    "2.1E+00 | loss scale: 1.0 | number of skipped iterations:   0 | number of nan iterations:   0 |"
    for n in range(100, 300)
]
FAILURES = sorted(name for name, story in STORIES.items() if story.kind in {"crash", "hang"})
CLOCKLESS = [name for name in FAILURES if not STORIES[name].log.startswith("\n2026-")]
HOST = re.compile(r"\bgpu-(?=[a-z]\d\d\b)")


def lines_of(name: str) -> list[str]:
    return STORIES[name].log.strip("\n").split("\n")


def diagnose(lines: list[str]) -> Verdict:
    return ANALYZER.diagnose_lines("story", lines)


def said(verdict: Verdict) -> tuple[object, ...]:
    return verdict.kind, verdict.cause, verdict.domain, verdict.culprit, verdict.operation


PLAIN = {name: diagnose(lines_of(name)) for name in STORIES}


@pytest.mark.parametrize("name", FAILURES)
def test_a_healthy_past_moves_the_root_line_and_nothing_else(name: str) -> None:
    spliced = diagnose([*HEALTHY, *lines_of(name)])
    assert said(spliced) == said(PLAIN[name])
    assert PLAIN[name].root_line is not None
    assert spliced.root_line == (PLAIN[name].root_line or 0) + len(HEALTHY)


@pytest.mark.parametrize("name", sorted(STORIES))
def test_other_host_names_are_named_alike(name: str) -> None:
    renamed = diagnose([HOST.sub("dgx-h100-", line) for line in lines_of(name)])
    plain = PLAIN[name]
    assert renamed.kind is plain.kind
    assert renamed.root_line == plain.root_line
    assert (renamed.culprit.node or "") == HOST.sub("dgx-h100-", plain.culprit.node or "")
    assert renamed.exclude_nodes == tuple(HOST.sub("dgx-h100-", n) for n in plain.exclude_nodes)


@pytest.mark.parametrize("name", sorted(STORIES))
def test_colours_and_carriage_returns_change_nothing(name: str) -> None:
    coloured = [f"\x1b[1;31m{line}\x1b[0m\r" for line in lines_of(name)]
    assert said(diagnose(coloured)) == said(PLAIN[name])


@pytest.mark.parametrize("name", CLOCKLESS)
def test_a_clock_that_tells_no_order_changes_nothing(name: str) -> None:
    stamped = [f"2026-03-02 10:20:30 {line}" for line in lines_of(name)]
    assert said(diagnose(stamped)) == said(PLAIN[name])


@pytest.mark.parametrize("name", FAILURES)
def test_the_same_lines_from_a_second_reader_change_nothing(name: str) -> None:
    """A log that was collected twice: every line stands there two times."""
    doubled = [line for line in lines_of(name) for _ in range(2)]
    assert said(diagnose(doubled)) == said(PLAIN[name])


@settings(max_examples=40)
@given(st.sampled_from(FAILURES), st.randoms(use_true_random=False))
def test_the_interleaving_of_ranks_changes_nothing(name: str, rng: random.Random) -> None:
    lines = lines_of(name)
    ranks = [m.group(1) if (m := re.match(r"\[rank(\d+)\]", line)) else None for line in lines]
    queues: dict[str | None, list[str]] = {}
    for rank, line in zip(ranks, lines, strict=True):
        queues.setdefault(rank, []).append(line)
    mixed: list[str] = []
    while any(queues.values()):
        mixed.append(queues[rng.choice([r for r, q in queues.items() if q])].pop(0))
    verdict = diagnose(mixed)
    assert said(verdict) == said(PLAIN[name])


@given(st.lists(st.text(max_size=200), max_size=30))
def test_any_text_gets_a_verdict(lines: list[str]) -> None:
    verdict = diagnose(lines)
    assert 0.0 <= verdict.confidence <= 1.0
    assert verdict.root_line is None or 0 <= verdict.root_line < len(lines)
