"""Alarms of a service: Advice that says that something failed, with whether that was right."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass

from relume.advice import Advice
from relume.models.worth.outcomes import Label
from relume.serve.ledger import OutcomeRecord, Standing
from relume.serve.ledger.labels import BY_ITSELF
from relume.verdict import Kind

ALARMING = frozenset({Kind.CRASH, Kind.HANG, Kind.STRAGGLER, Kind.NUMERIC})
"""What Advice says that is an alarm: a suspicion is none, nor is what ended well."""


@dataclass(frozen=True, slots=True)
class Alarm:
    """What one rule said of one subject: all generations together are one alarm.

    Attributes
    ----------
    advice
        Its generations, oldest first; the first one raised it.
    label, by
        Whether it was right, and who or what says so: the newest word of a person about any of the
        generations, else what became of it. Null: nobody knows.
    why
        In the words of who says so; null for none.
    outcome
        What became of it by itself; null where that isn't known.
    """

    advice: tuple[Advice, ...]
    label: Label | None
    by: str | None
    why: str | None
    outcome: OutcomeRecord | None

    @property
    def raised(self) -> Advice:
        """The Advice that raised it."""
        return self.advice[0]

    @property
    def last(self) -> Advice:
        """What was said in the end."""
        return self.advice[-1]

    @property
    def is_labelled(self) -> bool:
        """Whether it is known to be right or wrong."""
        return self.label in {Label.TRUE, Label.FALSE}

    @property
    def by_person(self) -> bool:
        """Whether a person says so."""
        return self.label is not None and self.by != BY_ITSELF


def alarms_of(told: Iterable[tuple[Advice, Standing]]) -> list[Alarm]:
    """Return the alarms among Advice (oldest first), in the order in which they were raised.

    Further Advice of the same rule and kind about the same subject belongs to the first: its
    repeats are neither right nor wrong again (metrics section 2).
    """
    groups: dict[tuple[str, str | None, Kind], list[tuple[Advice, Standing]]] = {}
    for advice, standing in told:
        if advice.kind in ALARMING:
            key = (advice.subject, advice.rule, advice.kind)
            groups.setdefault(key, []).append((advice, standing))
    return [_alarm(rows) for rows in groups.values()]


def _alarm(rows: list[tuple[Advice, Standing]]) -> Alarm:
    outcome = next((told.outcome for _, told in rows if told.outcome is not None), None)
    said = [label for _, told in rows for label in told.labels]
    label = by = why = None
    if said:
        newest = max(said, key=lambda one: one.at)
        label, by, why = Label.TRUE if newest.right else Label.FALSE, newest.who, newest.why
    elif outcome is not None:
        label, by, why = outcome.label, BY_ITSELF, outcome.reason
    return Alarm(tuple(advice for advice, _ in rows), label, by, why, outcome)
