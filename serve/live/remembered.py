"""What a session knows that neither lake nor ledger tells at once; a restart goes on from it."""

from __future__ import annotations

from collections import deque
from dataclasses import dataclass

from relume.models.templates.history import TemplateHistory
from relume.serve.live.judged import Judged


@dataclass(frozen=True, slots=True, kw_only=True)
class Remembered:
    """As of a commit, when all that it led to is in the ledger.

    Attributes
    ----------
    sequence
        The commit.
    now
        The session's time (UTC microseconds).
    judged
        What its judge knows.
    history
        What healthy attempts print.
    began
        The commit with which each watched attempt began.
    commits
        Number and time of the last minutes' commits.
    complete, restored
        Attempts of which the ledger has been told that their logs are read up, and that they came
        further than those before.
    """

    sequence: int
    now: int
    judged: Judged
    history: TemplateHistory
    began: dict[str, int]
    commits: deque[tuple[int, int]]
    complete: set[str]
    restored: set[str]
