"""Bench `fuzz` with tiny sizes: a real service, asked and pushed a little of everything."""

from __future__ import annotations

import json
import sys
from collections.abc import Iterator
from itertools import islice
from pathlib import Path
from random import Random
from typing import Any

import pytest

from relume.benchmarks.fuzz import bench
from relume.benchmarks.fuzz.addresses import ask_pages, ask_streams
from relume.benchmarks.fuzz.bodies import Push, good_pushes
from relume.benchmarks.fuzz.described import ENDLESS, Asker
from relume.benchmarks.fuzz.mutations import CHANGES, mutated
from relume.benchmarks.fuzz.pushing import OVERSIZE_EVERY, bodies, push_bodies
from relume.benchmarks.fuzz.raw import send_raw
from relume.benchmarks.fuzz.scene import Scene, scene
from relume.benchmarks.fuzz.tally import MAX_EXAMPLES, Tally
from relume.benchmarks.machine import Usage
from relume.clock import SystemClock
from relume.errors import UnreachableError
from relume.serve.api import Role
from relume.serve.api.access import MAX_PUSH_BYTES

USAGE = Usage(cpu_seconds=1.0, wall_seconds=2.0, peak_rss_bytes=3)
ATTEMPT = "lab/7@1767323045.0"


@pytest.fixture(scope="module")
def stage(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Scene]:
    with scene(tmp_path_factory.mktemp("service")) as opened:
        yield opened


@pytest.fixture(scope="module")
def document(stage: Scene) -> dict[str, Any]:
    found: dict[str, Any] = stage.service.client.get("/openapi.json").json()
    return found


def test_every_good_push_is_taken(stage: Scene) -> None:
    for push in good_pushes(stage.known["attempt"][0], SystemClock().now()):
        headers = push.all_headers() | stage.headers(push.role)
        answer = stage.service.client.post(push.route, content=push.packed(), headers=headers)
        assert answer.status_code in {200, 204}, (push.route, push.content_type, answer.text)
        assert "refused" not in answer.text or answer.json()["refused"] == 0, answer.text


def test_bad_ones_are_survived(stage: Scene) -> None:
    found = bench.Campaign()
    push_bodies(stage, found.pushed, seed=3, until=lambda number: number >= 25)
    ask_pages(stage, found.asked, Random(1), 10)
    ask_streams(stage, found.asked, Random(2), 5)
    asked = found.asked.statuses.total()
    send_raw(stage, found.asked, Random(3), 10)
    bench.settle(stage, found)
    assert (found.pushed.statuses.total(), asked) == (75, 15)
    result = bench.result_of(found, USAGE, is_whole=False)
    assert result.passed, result.notes
    assert result.measures["bodies"] == 75
    assert found.peak_bytes > 1 << 20


@pytest.mark.parametrize("role", [Role.CONTROL, None])
def test_answers_are_held_against_the_document(
    stage: Scene, document: dict[str, Any], role: Role | None
) -> None:
    tally = Tally()
    asker = Asker(document, stage.service.url, known=stage.known, tally=tally)
    assert f"GET {ENDLESS}" not in asker.operations
    for path in ("/v1/advice/{advice_id}/approve", "/v1/attempts/{attempt}"):
        asker.ask(stage.headers(role), seed=1, seconds=1, only=path, boundaries=False)
    assert tally.operations <= asker.operations
    assert (tally.errors, tally.violations) == (0, {})
    seen = {200, 409} if role is Role.CONTROL else {401}
    assert seen & tally.statuses.keys(), tally.statuses


def test_an_answer_that_the_document_does_not_allow_is_told(
    stage: Scene, document: dict[str, Any]
) -> None:
    wrong = json.loads(json.dumps(document))
    wrong["components"]["schemas"]["Alive"]["required"] = ["missing"]
    tally = Tally()
    asker = Asker(wrong, stage.service.url, known={}, tally=tally)
    asker.ask({}, seed=1, seconds=1, only="/healthz", boundaries=False)
    assert tally.violations["response_schema_conformance"] > 0
    assert "missing" in "".join(tally.examples)


def test_a_service_that_is_gone_gives_no_answers(tmp_path: Path) -> None:
    found = bench.Campaign()
    with scene(tmp_path) as stage:
        stage.service.kill()
        push_bodies(stage, found.pushed, seed=1, until=lambda number: number >= 1)
        ask_pages(stage, found.asked, Random(1), 1)
        bench.settle(stage, found)
    result = bench.result_of(found, USAGE, is_whole=False)
    assert (result.measures["crashes"], result.measures["unanswered"]) == (1.0, 4)
    assert not result.passed


def test_a_short_campaign_ends_and_passes() -> None:
    result = bench.run(minutes=0.02)
    assert result.passed, result.notes
    assert "operations_untested" not in result.bars


def test_a_whole_campaign_asks_for_everything() -> None:
    found = bench.Campaign()
    found.operations, found.is_alive = {"GET /a", "GET /b"}, True
    found.asked.operations.add("GET /a")
    result = bench.result_of(found, USAGE, is_whole=True)
    assert (result.measures["operations_untested"], result.passed) == (1, False)


def test_without_schemathesis_it_is_named(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "schemathesis", None)
    with pytest.raises(UnreachableError, match=r"schemathesis.*make env"):
        bench.run(minutes=0.01)


def test_a_seed_gives_the_same_bodies_again() -> None:
    good = good_pushes(ATTEMPT, 1_767_323_045_000_000)
    first, again = (list(islice(bodies(Random(5), good), 50)) for _ in range(2))
    assert first == again
    assert len({one.packed() for one in first}) > 25


@pytest.mark.parametrize("change", set(CHANGES), ids=lambda one: one.__name__)
@pytest.mark.parametrize("data", [b"", b'{"a": [1, {"b": null}]}', bytes(range(256))])
def test_a_change_takes_any_bytes(change: Any, data: bytes) -> None:
    for seed in range(20):
        assert isinstance(change(Random(seed), data), bytes)


def test_some_bodies_are_far_too_large() -> None:
    good = [Push("/v1/events", b"{}")]
    sizes = [len(one.data) for one in islice(bodies(Random(1), good), OVERSIZE_EVERY)]
    assert sizes[-1] == MAX_PUSH_BYTES + 1
    assert max(sizes) > sizes[-1]
    assert isinstance(mutated(Random(1), good), Push)


def test_only_the_first_examples_are_kept() -> None:
    tally = Tally()
    for _ in range(MAX_EXAMPLES + 5):
        tally.answered(500, "x")
        tally.violated("schema", "y")
    assert (tally.errors, len(tally.examples), tally.of_class(5)) == (25, MAX_EXAMPLES, 25)
