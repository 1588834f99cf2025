"""Which attempts are asked for."""

from __future__ import annotations

import pytest

from relume.clock import from_iso
from relume.errors import InputError
from relume.serve.scan.window import Window, parse_span, parse_time
from scanning import attempts

NOON = from_iso("2026-03-02T12:00:00Z")
SECOND = 1_000_000
ROWS = attempts(
    {"JobID": "7"},
    {"JobID": "8_3", "JobIDRaw": "9", "User": "bob", "Partition": "cpu"},
    {"JobID": "10+1", "JobIDRaw": "11", "Start": "2026-03-02T10:00:00", "End": "Unknown"},
)


def picked(**asked: object) -> list[str]:
    return [row.job_id for _, row in Window(**asked).rows(ROWS)]  # type: ignore[arg-type]


@pytest.mark.parametrize(
    ("asked", "expected"),
    [
        ({}, ["7", "8_3", "10+1"]),
        ({"users": frozenset({"bob"})}, ["8_3"]),
        ({"partitions": frozenset({"gpu"})}, ["7", "10+1"]),
        ({"jobs": frozenset({"8"})}, ["8_3"]),
        ({"jobs": frozenset({"8_3", "10"})}, ["8_3", "10+1"]),
        ({"jobs": frozenset({"8_4", "1"})}, []),
        # What still runs reaches into any time after its start.
        ({"since": NOON}, ["10+1"]),
        ({"until": from_iso("2026-03-02T09:00:00Z")}, ["7", "8_3"]),
        ({"since": from_iso("2026-03-02T03:13:25Z")}, ["7", "8_3", "10+1"]),
    ],
)
def test_rows(asked: dict[str, object], expected: list[str]) -> None:
    assert picked(**asked) == expected


@pytest.mark.parametrize(
    ("text", "seconds"),
    [("30s", 30), ("90 min", 5400), ("2h", 7200), ("7d", 604_800), ("1 week", 604_800)],
)
def test_spans(text: str, seconds: int) -> None:
    assert parse_span(text) == seconds * SECOND
    assert parse_time(f"now-{text}", lambda: NOON, "UTC") == NOON - seconds * SECOND


@pytest.mark.parametrize("text", ["", "2", "h", "-2h", "2 years", "1.5h", "9999999d"])
def test_other_spans_are_refused(text: str) -> None:
    with pytest.raises(InputError, match="2h or 7d"):
        parse_span(text)


def test_times_without_a_zone_are_the_clusters() -> None:
    assert parse_time("2026-03-02T13:00:00", lambda: 0, "Europe/Berlin") == NOON
    assert parse_time("2026-03-02", lambda: 0, "UTC") == from_iso("2026-03-02T00:00:00Z")
    assert parse_time("now", lambda: NOON, "UTC") == NOON
    with pytest.raises(InputError, match="ISO 8601"):
        parse_time("yesterday", lambda: NOON, "UTC")
