"""A feeder: text in, assessment out, the way the service wires progress together."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable
from datetime import UTC, datetime

import pytest

from relume.features.progress.assess import ProgressAssessment, assess
from relume.features.progress.markers import parse_marker
from relume.features.progress.parse import parse_progress
from relume.features.progress.tracker import ProgressTracker

Feed = Callable[[Iterable[str]], ProgressAssessment]

_CLOCK = re.compile(r"(\d{4}-\d\d-\d\d) (\d\d:\d\d:\d\d)")


def read_clock(line: str) -> int | None:
    found = _CLOCK.search(line)
    if found is None:
        return None
    moment = datetime.fromisoformat(f"{found[1]}T{found[2]}").replace(tzinfo=UTC)
    return int(moment.timestamp() * 1e6)


def feed_tracker(lines: Iterable[str], file: str = "log") -> ProgressTracker:
    tracker = ProgressTracker()
    for number, line in enumerate(lines):
        event_time = read_clock(line)
        marker = parse_marker(line)
        if marker is not None:
            tracker.add_marker(marker, line=number, file=file, event_time=event_time)
        point = parse_progress(line)
        if point is not None:
            tracker.add_point(point, line=number, file=file, event_time=event_time)
        elif event_time is not None:
            tracker.add_clocked_line(event_time, number)
    return tracker


@pytest.fixture
def feed() -> Feed:
    return lambda lines: assess(feed_tracker(lines))
