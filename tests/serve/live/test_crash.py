"""Killed before or after any write that lasts, the service makes no other Advice and loses none."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest

from controlling import SECOND, T0
from living import Live
from relume.advice import comparable
from relume.serve.ledger import Ledger
from relume.slurm.job import SlurmJob

FIRST = f"{T0 // SECOND}.0"
EVERY = 4
"""One in so many moments is tried (all of them were, when this was written)."""
MOMENTS = 122
"""More than there are in the story."""


class Killed(BaseException):
    """The process is gone: nothing of ours may catch it."""


@dataclass
class Fuse:
    """Burns at each effect that lasts, before and after it; at the end the process is killed."""

    left: int

    def burn(self) -> None:
        self.left -= 1
        if self.left == 0:
            raise Killed

    def wrapped(self, effect: Callable[..., Any]) -> Callable[..., Any]:
        def call(*arguments: Any, **named: Any) -> Any:
            self.burn()
            result = effect(*arguments, **named)
            self.burn()
            return result

        return call


@contextmanager
def burning(fuse: Fuse) -> Iterator[None]:
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(os, "fsync", fuse.wrapped(os.fsync))
        for name in ("put_advice", "put_attempt", "put_attempts", "put_fleet", "put_milestone"):
            patch.setattr(Ledger, name, fuse.wrapped(getattr(Ledger, name)))
        yield


class Mortal:
    """A live run that starts again after it was killed, and does again what it was at."""

    def __init__(self, live: Live) -> None:
        self.live = live
        self.shown: tuple[SlurmJob, ...] = ()
        self.deaths = 0

    def survive(self, action: Callable[[], object]) -> None:
        for _ in range(3):
            try:
                action()
            except Killed:
                self.deaths += 1
                self.live.restart()
                self.live.session.take(self.live.snapshot(*self.shown))
            else:
                return

    def tell(self, *jobs: SlurmJob) -> None:
        self.shown = jobs
        self.survive(lambda: self.live.session.take(self.live.snapshot(*jobs)))

    def tick(self, times: int = 1) -> None:
        for _ in range(times):
            self.live.clock.advance(1)
            self.survive(self.live.session_step)


def story(mortal: Mortal) -> None:
    live = mortal.live
    live.clock.advance(2)
    live.write("starting", mode="w")
    mortal.tell(live.job())
    for step in range(1, 5):
        live.write(f"iter {step}: loss 3.9, time 1000.00ms")
        mortal.tick()
    live.write("[rank1]: KeyError: 'vocab'")
    mortal.tick()
    mortal.tell(live.held(1))
    mortal.tick(2)
    live.write("starting again", mode="w")
    mortal.tell(live.runs(1))
    mortal.tick(2)
    live.write("iter 5: loss 3.9, time 1000.00ms")
    mortal.tick(2)


@pytest.mark.parametrize("moment", range(1, MOMENTS, EVERY))
def test_a_kill_changes_nothing(tmp_path: Path, moment: int) -> None:
    live = Live(tmp_path)
    mortal = Mortal(live)
    with burning(Fuse(moment)):
        story(mortal)
    assert live.advice() == [(FIRST, 1, "RESTART", False), (FIRST, 2, "RESTART", True)]
    assert [comparable(one) for one in live.written()] == live.replayed()
    assert (live.record(0).last_step, live.record(0).landed.complete) == (4, True)
    assert live.ledger.milestones(live.record(1).attempt) != []
    live.close()


def test_the_story_has_fewer_moments_than_are_tried(tmp_path: Path) -> None:
    live = Live(tmp_path)
    fuse = Fuse(MOMENTS)
    with burning(fuse):
        story(Mortal(live))
    live.close()
    assert 0 < fuse.left < EVERY * 10
