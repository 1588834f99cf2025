"""Connections whose client takes nothing are ended, those that are only slow are not."""

from __future__ import annotations

import asyncio

import pytest
from uvicorn.protocols.http.flow_control import FlowControl
from uvicorn.protocols.http.httptools_impl import HttpToolsProtocol

from relume.serve.live.server import MOVED_BYTES, STALLED_SECONDS, Stalled


class Wire(asyncio.Transport):
    """What is left of an answer on its way to a client."""

    def __init__(self, size: int) -> None:
        super().__init__()
        self.size, self.closing, self.aborted = size, False, False

    def get_write_buffer_size(self) -> int:
        return self.size

    def is_closing(self) -> bool:
        return self.closing

    def abort(self) -> None:
        self.aborted = True


def connection(wire: Wire, *, is_paused: bool = True) -> HttpToolsProtocol:
    made = HttpToolsProtocol.__new__(HttpToolsProtocol)  # without a loop: nothing comes
    made.transport, made.flow = wire, FlowControl(wire)
    made.client = ("127.0.0.1", 1)
    if is_paused:
        made.flow.pause_writing()
    return made


def test_who_takes_nothing_for_half_a_minute_is_cut_off(caplog: pytest.LogCaptureFixture) -> None:
    stalled, wire = Stalled(), Wire(100_000)
    every = {connection(wire), object()}
    for now in (0.0, 10.0, STALLED_SECONDS - 1):
        stalled.cut_off(every, now)
        assert not wire.aborted
    stalled.cut_off(every, STALLED_SECONDS)
    assert wire.aborted
    assert "takes nothing of its answer is cut off: ('127.0.0.1', 1)" in caplog.text


def test_who_is_slow_but_takes_some_is_not() -> None:
    stalled, wire = Stalled(), Wire(1_000_000)
    every = {connection(wire)}
    for step in range(20):
        stalled.cut_off(every, step * (STALLED_SECONDS - 1))
        wire.size -= MOVED_BYTES
    assert not wire.aborted


@pytest.mark.parametrize(("is_paused", "closing"), [(False, False), (False, True)])
def test_little_that_waits_counts_only_when_the_connection_ends(
    *, is_paused: bool, closing: bool
) -> None:
    stalled, wire = Stalled(), Wire(10)
    wire.closing = closing
    every = {connection(wire, is_paused=is_paused)}
    stalled.cut_off(every, 0.0)
    stalled.cut_off(every, STALLED_SECONDS)
    assert wire.aborted is closing


def test_what_was_taken_meanwhile_is_forgotten() -> None:
    stalled, wire = Stalled(), Wire(100_000)
    every = {connection(wire)}
    stalled.cut_off(every, 0.0)
    wire.size = 0
    stalled.cut_off(every, 20.0)
    wire.size = 100_000
    stalled.cut_off(every, 40.0)
    assert not wire.aborted
