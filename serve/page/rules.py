"""The page of rules: how right each one was, and the false alarms one by one."""

from __future__ import annotations

from dataclasses import dataclass, replace

from relume.errors import InputError
from relume.serve.page.jobs import shown_evidence
from relume.serve.reports.falsepositives import FalsePositive
from relume.serve.reports.kept import KeptRecord
from relume.serve.reports.scoreboard import Scoreboard

DAY = 86_400_000_000
DAYS = (1, 7, 30, 90)
"""Times that can be asked for, in days up to now."""
MAX_FALSE = 20


@dataclass(frozen=True, slots=True)
class RulesPage:
    """What was said in the last `days`, and whether it was right.

    Attributes
    ----------
    board
        By rule, by kind, in total.
    false_total, false_alarms
        How many false alarms are known; the newest of them.
    """

    days: int
    board: Scoreboard
    false_total: int
    false_alarms: list[FalsePositive]


def rules_page(kept: KeptRecord, now: int, days: int = 30) -> RulesPage:
    """Count what became of Advice.

    Raises
    ------
    InputError
        For a number of days that isn't offered.
    """
    if days not in DAYS:
        raise InputError("days", found=str(days), expected=f"one of {', '.join(map(str, DAYS))}")
    since = max(0, now - days * DAY)
    found = kept.rightness(since, now, most_false=MAX_FALSE)
    return RulesPage(
        days=days,
        board=found.board,
        false_total=found.false_total,
        false_alarms=[
            replace(one, advice=replace(one.advice, evidence=tuple(shown_evidence(one.advice)[:1])))
            for one in found.false_alarms
        ],
    )
