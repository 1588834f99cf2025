"""A lake that a live service landed, replayed as it was: by its own ticks, all attempts at once."""

from __future__ import annotations

from collections import defaultdict

from relume.events import SchedulerEvent
from relume.ingest.lake import LakeReader
from relume.serve.backtest.lakes import entry_of
from relume.serve.backtest.replay import Findings, Look, Note, Replayed
from relume.serve.backtest.sources import AttemptSource, Unit
from relume.serve.live.watch import WatchSettings
from relume.serve.offline import Analyzer

UNIT = "live"
"""Name of the one unit: what a service saw at one time can't be replayed apart."""


def replay_live(  # noqa: PLR0913 - what is replayed how, each by its name
    reader: LakeReader,
    analyzer: Analyzer,
    settings: WatchSettings,
    zone: str,
    *,
    look: Look | None = None,
    note: Note | None = None,
) -> tuple[Unit, dict[str, Replayed]]:
    """Replay the whole lake; return its attempts, and what came of each.

    With the rules and settings of the live run its Advice is that of the run
    (`relume.advice.comparable`). Holds what a service holds, and the scheduler's words and the
    findings of all attempts; `look` looks at the judge before each landing, `note` is told what
    comes of it.

    Raises
    ------
    LakeError
        When the lake can't be read.
    """
    found = Findings(analyzer, settings, zone, look=look, note=note)
    told: defaultdict[str, list[SchedulerEvent]] = defaultdict(list)
    now = 0
    for landing in reader.landings():
        now = getattr(landing, "observed_at", None) or now
        if isinstance(landing, SchedulerEvent):
            _note(told[landing.attempt], landing)
        found.take(landing)
    results = found.finish()
    entries = [entry_of(attempt, events) for attempt, events in told.items()]
    for entry in entries:
        extent = results[entry.attempt].extent
        extent.start = entry.start or told[entry.attempt][0].event_time or 0
        extent.end, extent.is_timed = max(entry.end or now, extent.start), True
        extent.logs = 1
    return Unit(name=UNIT, attempts=tuple(AttemptSource(entry=e) for e in entries)), results


def _note(events: list[SchedulerEvent], event: SchedulerEvent) -> None:
    """Keep the first and the last of what is told in one state: snapshots repeat it."""
    if len(events) > 1 and events[-1].state == events[-2].state == event.state:
        events[-1] = event
    else:
        events.append(event)
