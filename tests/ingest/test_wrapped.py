"""Lines of loggers and shippers: where the message stands, and who wrote it."""

from __future__ import annotations

import json

import pytest
from hypothesis import given
from hypothesis import strategies as st

from relume.ingest.loglines import LineParser
from relume.ingest.wrapped import MAX_CHARACTERS, unwrap

LOST = "RuntimeError: peer is lost"
TIME = 1_767_323_045_000_000
"""2026-01-02 03:04:05 UTC."""


@pytest.mark.parametrize(
    ("line", "node", "rank", "local_rank", "time"),
    [
        (
            '{"time": "2026-01-02T03:04:05Z", "host": "a100-03", "rank": 3, "message": "%s"}',
            *("a100-03", 3, None, TIME),
        ),
        ('{"ts":1767323045.0,"level":"error","msg":"%s","procid":"17"}', None, 17, None, TIME),
        ('{"log":"%s\\n","stream":"stderr","time":"2026-01-02T03:04:05.0Z"}', *[None] * 3, TIME),
        (
            '{"_HOSTNAME":"gpu-a01","__REALTIME_TIMESTAMP":"1767323045000000","MESSAGE":"%s"}',
            *("gpu-a01", None, None, TIME),
        ),
        ('{"labels":{"host":"c7n12"},"line":"%s"}', "c7n12", None, None, None),
        (
            '{"kubernetes":{"host":"c7n12","pod_name":"x-1"},"log":"%s","SLURM_LOCALID":"2"}',
            *("c7n12", None, 2, None),
        ),
        ('time=2026-01-02T03:04:05Z rank=3 local_rank=1 msg="%s"', None, 3, 1, TIME),
        ('level=error hostname=c7n12 message="%s" lr=0.1', "c7n12", None, None, None),
        ('2026-01-02T03:04:05Z {host="c7n12", rank="3"} %s', "c7n12", 3, None, TIME),
        ('{host="c7n12"} {"rank": 3, "msg": "%s"}', "c7n12", 3, None, None),
        ('3: {"msg": "[rank7]: %s"}', None, 7, None, None),
        ("<34>1 2026-01-02T03:04:05Z c7n12 train 77 - - %s", "c7n12", None, None, TIME),
        ('<34>1 2026-01-02T03:04:05Z c7n12 t - - [a@1 b="c"] %s', "c7n12", None, None, TIME),
        ("c7n12/12> %s", "c7n12", 12, None, None),
        ("(r0003/64) %s", None, 3, None, None),
        ("[r3/64] %s", None, 3, None, None),
        ("[3]<stderr>:%s", None, 3, None, None),
        ("[pod/trainer-3/pytorch] %s", None, 3, None, None),
        ("trainer-3  | %s", None, 3, None, None),
    ],
)
def test_the_message_and_its_writer_are_found(
    line: str, node: str | None, rank: int | None, local_rank: int | None, time: int | None
) -> None:
    found = LineParser("x.log").parse(line % LOST, 0, 0)
    assert found.message.startswith(LOST)
    assert (found.node, found.rank, found.local_rank) == (node, rank, local_rank)
    assert found.event_time == time


@pytest.mark.parametrize(
    "line",
    [
        '{"step": 7, "loss": 2.5, "rank": 3}',  # nobody's words
        "lr=0.1 loss=2.5 step=7",
        'msg="alone"',
        "{}",
        '{"message": 7}',
        "{not json at all",
        "a = b",
    ],
)
def test_what_holds_no_message_stays_as_it_is(line: str) -> None:
    assert unwrap(line, 0) is None
    assert LineParser("x.log").parse(line, 0, 0).message == line


def test_what_a_message_quotes_is_nobody_s_word() -> None:
    inner = json.dumps({"host": "gpu-b99", "rank": 9, "time": "2020-01-01T00:00:00Z"})
    found = LineParser("x.log").parse(json.dumps({"msg": f"got {inner}", "rank": 3}), 0, 0)
    assert (found.rank, found.node, found.event_time) == (3, None, None)


def test_a_traceback_in_one_line_begins_with_what_was_raised() -> None:
    raised = 'Traceback (most recent call last):\n  File "a.py", line 1, in f\n    x()\n' + LOST
    for text in (raised, f"step failed\n{raised}\n"):
        found = LineParser("x.log").parse(json.dumps({"message": text}), 0, 0)
        assert found.message.startswith(LOST)


def test_a_line_without_an_end_costs_what_others_do() -> None:
    line = '{"rank": 3, "msg": "' + "x" * 10_000_000
    found = unwrap(line, 0)
    assert found is not None
    assert found.fields == {"rank": "3"}
    assert unwrap('{"a":"' + "x" * MAX_CHARACTERS + '", "msg": "late"}', 0) is None


@given(
    st.text(max_size=80), st.integers(0, 9999), st.text(st.characters(codec="ascii"), max_size=9)
)
def test_any_message_of_a_json_logger_is_found(message: str, rank: int, other: str) -> None:
    line = json.dumps({"extra": other, "rank": rank, "msg": message})
    found = unwrap(line, 0)
    assert found is not None
    assert found.fields["rank"] == str(rank)
    assert json.loads(f'"{line[found.start :].rpartition(chr(34))[0]}"') == message or (
        "Traceback" in message
    )


@given(st.text(st.sampled_from('{}"\\:=, \n0aé'), max_size=60), st.integers(0, 5))
def test_nothing_raises(text: str, start: int) -> None:
    unwrap(text, start)
    LineParser("x.log").parse(text, 0, 0)
