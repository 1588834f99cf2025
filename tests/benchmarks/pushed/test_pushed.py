"""The bench of pushes: stories, agents that send again, and what it counts."""

from __future__ import annotations

from itertools import count
from pathlib import Path

import numpy as np
import pytest

from bad_server import Visit, serving
from relume.benchmarks.corpora.failure_cases import Case
from relume.benchmarks.pushed import agents, bench
from relume.benchmarks.pushed.agents import push_all
from relume.benchmarks.pushed.stories import EVENTS, LOKI, SIMULATED, Push, endings, story
from relume.errors import UnreachableError
from relume.ingest.eventlines import decode_event
from relume.ingest.lake import LakeWriter, LineBatch
from relume.ingest.push.loki import loki_json
from relume.serve.intake.streams import Course, LandingLines, block_of, landing_lines


def test_a_story_is_what_agents_send() -> None:
    pushes = story(7, 1_767_323_045_000_000, ["one", "two\r\nthree\n"])
    states = [decode_event(push.body.strip()) for push in pushes if push.route == EVENTS]
    assert [getattr(event, "state", None) for event in states] == ["RUNNING", "FAILED"]
    bodies = [loki_json(push.body) for push in pushes if push.route == LOKI]
    lines = [
        line for body in bodies for one in body for line in landing_lines(one).data.splitlines()
    ]
    assert len(lines) == sum(push.lines for push in pushes)
    assert lines[-3:] == [b"one", b"two", b"three"]
    assert [push.seconds for push in pushes] == sorted(push.seconds for push in pushes)


def test_endings_are_recorded_where_there_is_a_recording() -> None:
    nothing = frozenset[str]()
    case = Case("a", "b", "crash", "x", 0, None, ("text",), nothing, (), nothing, False, nothing)  # noqa: FBT003
    assert endings([case]) == (("text",),)
    assert endings([]) == SIMULATED


def test_agents_send_again_until_they_are_answered() -> None:
    number = count()

    def grudge(visit: Visit) -> None:
        visit.answer(429 if next(number) < 2 else 204, b"")

    with serving(grudge) as url:
        sent = push_all(url, "token", [[Push(0.0, LOKI, b"{}", 3)]], 1000.0)
    assert (sent.lines, sent.pushes, sent.again) == (3, 1, 2)


@pytest.mark.parametrize("status", [403, 503])
def test_what_is_never_taken_is_an_error(status: int, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(agents, "PATIENCE_SECONDS", 0.0)
    refuse = lambda visit: visit.answer(status, b"no")  # noqa: E731
    with serving(refuse) as url, pytest.raises(UnreachableError, match=str(status)):
        push_all(url, "token", [[Push(0.0, EVENTS, b"{}")]], 1.0)


def test_lines_of_a_lake_are_counted_once(tmp_path: Path) -> None:
    with LakeWriter(tmp_path) as lake:
        for _ in range(2):
            block = block_of("log", LandingLines(b"a\nb\n", np.array([1, 2])), Course())
            lake.append([LineBatch(block=block, event_times=np.array([1, 2]))])
        lake.commit()
    assert bench.lines_in(tmp_path) == (2, 2)


def test_a_service_that_is_killed_loses_and_doubles_nothing(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(bench, "SPEEDS", (1000.0,))
    monkeypatch.setattr(bench, "SIDE_BY_SIDE", 2)
    monkeypatch.setattr(bench, "KILL_SECONDS", (0.1, 0.2))
    result = bench.run(quick=True)
    assert result.passed, result.measures
    assert result.measures["lines_lost"] == result.measures["lines_doubled"] == 0
