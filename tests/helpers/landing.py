"""A process that tails one file into a lake until it is killed."""

from __future__ import annotations

from multiprocessing.connection import Connection
from pathlib import Path

from relume.events import Tick
from relume.ingest.lake import LakeWriter, LineBatch
from relume.ingest.tail import Tailer
from relume.ingest.tailing.position import TailPosition

SOURCE = "job 12"


def land_forever(log: Path, lake: Path, step_bytes: int, told: Connection) -> None:
    """Commit `step_bytes` at a time, with a tick before and after, and tell of each commit.

    At the end of the file wait for a word: ``"go"`` looks again, ``"finish"`` ends.
    """
    writer = LakeWriter(lake)
    landed = writer.positions.get(SOURCE)
    tailer = Tailer(log, TailPosition.from_text(landed) if landed else None)
    word = "go"
    while True:
        result = tailer.poll(step_bytes) if word == "go" else tailer.finish(step_bytes)
        time = result.position.offset
        writer.append([Tick(event_time=time)])
        writer.append(LineBatch(block=block, observed_at=time) for block in result.blocks)
        writer.append([Tick(event_time=time)])
        writer.commit({SOURCE: result.position.to_text()})
        told.send(time)
        if result.ended:
            return
        if not result.lag_bytes:
            word = told.recv()
