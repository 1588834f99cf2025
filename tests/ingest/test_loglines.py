"""Lines to events: what content says wins over what the file's name says."""

from __future__ import annotations

import pytest

from relume.errors import InputError
from relume.events import LogLine
from relume.ingest.loglines import LineParser

NEW_YEAR_2026 = 1_767_225_600


def parse(text: str, file: str = "job.log", *, modified: float | None = None) -> LogLine:
    return LineParser(file, modified=modified).parse(text, line=4, offset=99)


def test_all_that_a_line_says() -> None:
    text = "3: [default1]:[rank9]: gpu-a01:41:52 [2] NCCL WARN closed"
    parser = LineParser("job.log", stream="stderr", attempt="c/7@1.0")
    assert parser.parse(text, line=4, offset=99) == LogLine(
        text=text,
        line=4,
        offset=99,
        file="job.log",
        message_start=text.index("NCCL"),
        stream="stderr",
        attempt="c/7@1.0",
        node="gpu-a01",
        rank=9,
        local_rank=1,
        task=3,
        gpu="2",
    )


def test_a_line_without_prefixes_says_nothing() -> None:
    line = parse("loss 1")
    assert (line.message, line.node, line.rank, line.event_time) == ("loss 1", None, None, None)


def test_the_name_of_the_file_fills_in() -> None:
    assert parse("loss 1", "rank_3.log").rank == 3
    assert parse("[rank4]: loss 1", "rank_3.log").rank == 4
    assert parse("x", "run/attempt_0/2/stderr.log").local_rank == 2
    assert parse("[default5]:x", "run/attempt_0/2/stderr.log").local_rank == 5
    assert parse("[ 1.000001] usb", "dmesg-gpu-a01.log").node == "gpu-a01"
    assert parse("Jan 02 03:04:05 gpu-b02 kernel: usb", "dmesg-gpu-a01.log").node == "gpu-b02"


@pytest.mark.parametrize(
    ("text", "file", "rank"),
    [
        ("[E ProcessGroupNCCL.cpp:458] [Rank 2] x", "job.log", 2),
        ("[rank9]:[E ProcessGroupNCCL.cpp:458] [Rank 2] x", "job.log", 9),
        ("[E ProcessGroupNCCL.cpp:458] [Rank 2] x", "rank_9.log", 9),
    ],
)
def test_a_group_rank_stands_in_only_where_no_global_one_is_known(
    text: str, file: str, rank: int
) -> None:
    assert parse(text, file).rank == rank


def test_times() -> None:
    assert parse("2026-01-01 00:00:01 x").event_time == (NEW_YEAR_2026 + 1) * 10**6
    assert parse("Jan 01 00:00:01 x").event_time is None
    assert (
        parse("Jan 01 00:00:01 x", modified=NEW_YEAR_2026 + 99).event_time
        == (NEW_YEAR_2026 + 1) * 10**6
    )


def test_the_time_since_boot_is_no_time_of_day() -> None:
    assert parse("[12345.678901] usb", modified=NEW_YEAR_2026).event_time is None


def test_mlperf_lines_carry_their_time_inside() -> None:
    text = '0: :::MLLOG {"namespace": "", "time_ms": 1767225600123, "key": "run_start"}'
    assert parse(text).event_time == NEW_YEAR_2026 * 10**6 + 123_000
    assert parse(':::MLLOG {"namespace": ""}').event_time is None
    assert parse('x {"time_ms": 1767225600123}').event_time is None


def test_the_zone_is_checked_at_once() -> None:
    with pytest.raises(InputError, match="unknown time zone"):
        LineParser("job.log", zone="Mars/Olympus")
