"""What a judge says of a recorded attempt: with the ticks that a replay gives, and with all."""

from __future__ import annotations

from recording import judging
from relume.advice import Advice
from relume.serve.backtest.replay import ticked
from relume.serve.backtest.sources import Unit
from relume.serve.backtest.timeline import unit_landings
from relume.serve.live.judge import Judge


class Eager(Judge):
    """Wants a tick each second, as a live run has them."""

    def next_change(self, event_time: int) -> int | None:
        return event_time


def advice_of(unit: Unit, kind: type[Judge]) -> list[Advice]:
    """Return all Advice on a unit by a judge of this kind."""
    judge = kind(judging().analyzer, judging().settings)
    landings = ticked(unit_landings(unit, "UTC", {}), judge, "lab")
    return [advice for landing in landings for advice in judge.take(landing)]
