"""All that a judge knows by now, apart from the judge: what a restart must bring back."""

from __future__ import annotations

from dataclasses import dataclass

from relume.identity import AttemptId
from relume.ingest.lake.batches import Parsers
from relume.models.family.attempt import AttemptGaps, FamilyKey
from relume.models.policy.view import PastAttempt
from relume.serve.live.aftermath import Aftermath
from relume.serve.live.fleet import Fleet
from relume.serve.live.history import RunKey
from relume.serve.live.recent import RecentLines
from relume.serve.live.stays import Stays
from relume.serve.live.watch import AttemptWatch


@dataclass(slots=True, kw_only=True)
class Judged:
    """The attempts that are watched, and what is remembered beside them; see `Judge`.

    Attributes
    ----------
    runs, left
        How attempts of a run ended, and what they leave to their family.
    over
        Attempts that aren't watched any more.
    of_run
        Those that are, by run.
    parsers
        Who reads the lines of each log; null before there are any.
    now
        The newest time that landed (UTC microseconds).
    """

    watches: dict[str, AttemptWatch]
    aftermath: Aftermath
    runs: dict[RunKey, dict[AttemptId, PastAttempt]]
    left: dict[FamilyKey, dict[str, AttemptGaps]]
    recent: RecentLines
    unclaimed: RecentLines
    stays: Stays
    fleets: dict[str, Fleet]
    over: dict[str, None]
    of_run: dict[RunKey, set[str]]
    parsers: Parsers | None
    now: int
