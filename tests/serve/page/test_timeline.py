"""The course of an attempt, read from a real lake: whole, bounded, and a little at a time."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

from advising import make_attempt
from paging import Site
from relume.clock import ManualClock, to_iso
from relume.ingest.blocks import Block
from relume.ingest.lake import LakeWriter, LineBatch
from relume.serve.page import timeline
from relume.serve.page.timeline import MAX_LAST, Timelines

SECOND = 1_000_000
RECORD = make_attempt(start_time=1_767_323_046_000_000)
OTHER = "lab/9@1767323045.0"
START = 1_767_323_100_000_000


def step(number: int, *, rank: int = 0, at: int | None = None) -> str:
    when = to_iso(START + SECOND * (number if at is None else at))[:23].replace("T", " ")
    return f"[rank{rank}] {when} iter {number}: loss 3.9, time 1000.00ms"


def batch(*lines: str, attempt: str = RECORD.attempt, stream: str = "stdout") -> LineBatch:
    data = "".join(f"{line}\n" for line in lines).encode()
    return LineBatch(
        block=Block(data, "train.out", 0, raw_offset=0, line_offset=0),
        attempt=attempt,
        stream=stream,
        observed_at=START + 9 * SECOND,
    )


@pytest.fixture
def lake(site: Site) -> Iterator[LakeWriter]:
    with LakeWriter(site.lake, clock=ManualClock(START)) as writer:
        yield writer


def courses(site: Site) -> Timelines:
    return Timelines(site.lake, "UTC", site.clock)


def test_steps_silences_and_ranks(site: Site, lake: LakeWriter) -> None:
    lines = [step(n, rank=rank) for n in (0, 1, 2, 40) for rank in (0, 3)]
    lake.append([batch(*lines), batch("[rank7] warming up"), batch(step(99), attempt=OTHER)])
    lake.append([batch("not of the job", stream="kernel")])
    lake.commit()
    course = courses(site).of(RECORD)
    assert course.is_whole
    assert course.missing == []
    assert course.lines == 9
    assert [value for _, value in course.steps] == [0, 0, 1, 1, 2, 2, 40, 40]
    assert max(course.gaps, key=lambda point: point[1]) == (START + 40 * SECOND, 38.0)
    assert {value for _, value in course.step_seconds} == {1.0}
    told = [(one.rank, one.step, one.lines) for one in course.ranks]
    assert told == [(0, 40, 4), (3, 40, 4), (7, None, 1)]
    assert course.last[-1] == (START + 9 * SECOND, 7, "[rank7] warming up")


def test_what_comes_later_is_added(site: Site, lake: LakeWriter) -> None:
    timelines = courses(site)
    for number in range(2 * MAX_LAST + 2):
        lake.append([batch(step(number))])
        lake.commit()
        assert timelines.of(RECORD).lines == number + 1
    assert len(timelines.of(RECORD).last) == MAX_LAST


def test_it_stops_in_time_and_goes_on(site: Site, lake: LakeWriter) -> None:
    for number in range(3):
        lake.append([batch(step(number))])
        lake.commit()

    class Slow(ManualClock):
        """Each look at it takes a second."""

        def steady(self) -> int:
            self.advance(1)
            return super().steady()

    timelines = Timelines(site.lake, "UTC", Slow(START))
    first = timelines.of(RECORD)
    assert not first.is_whole
    assert first.missing == ["the rest of its lines: they are being read"]
    assert first.lines == 0


def test_only_the_newest_rows_are_looked_at(
    site: Site, lake: LakeWriter, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(timeline, "MAX_ROWS", 2)
    for number in range(5):
        lake.append([batch(step(number))])
        lake.commit()
    course = courses(site).of(RECORD)
    assert [value for _, value in course.steps] == [3, 4]
    assert course.missing == ["the first 3 rows: only the newest are looked at"]


def test_bounds_hold(site: Site, lake: LakeWriter, monkeypatch: pytest.MonkeyPatch) -> None:
    for name in ("MAX_TRACKS", "MAX_RANKS", "MAX_COMMITS"):
        monkeypatch.setattr(timeline, name, 1)
    lake.append([batch(step(0), step(1, rank=1), "x" * 5000)])
    lake.commit()
    lake.append([batch(step(2), attempt=OTHER)])
    lake.commit()
    timelines = courses(site)
    timelines.of(make_attempt(attempt=OTHER))
    assert timelines.of(RECORD).ranks == []  # only the newest commit is looked through
    monkeypatch.setattr(timeline, "MAX_COMMITS", 9)
    course = courses(site).of(RECORD)
    assert [one.rank for one in course.ranks] == [0]
    assert course.last[-1][2].endswith("3,000 characters more")


def test_segments_that_were_pruned_are_passed_over(site: Site, lake: LakeWriter) -> None:
    lake.append([batch(step(0))])
    lake.commit()
    for path in Path(site.lake).rglob("*.parquet"):
        path.unlink()
    course = courses(site).of(RECORD)
    assert (course.is_whole, course.lines) == (True, 0)


def test_without_a_lake_it_says_why(site: Site) -> None:
    course = courses(site).of(RECORD)
    assert not course.is_whole
    assert "lake" in course.missing[0]


def test_the_page_shows_it_as_tables(site: Site, lake: LakeWriter) -> None:
    site.ledger.put_attempt(RECORD)
    lake.append([batch(*(step(number, rank=number % 2) for number in range(150)))])
    lake.commit()
    page = site.page("/jobs/123-0?part=timeline")
    assert "The last 100 of 150 points." in page.text
    assert "iter 149: loss 3.9" in page.text
    twin = site.twin("/jobs/123-0?part=timeline")
    assert twin["steps"][-1] == [START + 149 * SECOND, 149]
    assert [one["rank"] for one in twin["ranks"]] == [0, 1]
