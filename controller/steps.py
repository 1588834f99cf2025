"""What a plan consists of."""

from __future__ import annotations

from dataclasses import dataclass

from relume.advice import Advice, Disposition
from relume.controller.facts import Action


@dataclass(frozen=True, slots=True, kw_only=True)
class Step:
    """One command to Slurm.

    `attempt` is the one that it is about, `job_id` what the command names. `nodes` are the whole
    list for EXCLUDE, `asked` those of them that the Advice names; `text` is the new AdminComment
    for MARK.
    """

    action: Action
    job_id: str
    attempt: str
    reason: str
    advice_id: str | None = None
    nodes: tuple[str, ...] = ()
    asked: tuple[str, ...] = ()
    text: str | None = None

    @property
    def identity(self) -> tuple[Action, str, str, str | None]:
        """What must be planned once more, just before it is done, on the newest word of Slurm."""
        return self.action, self.job_id, self.attempt, self.advice_id


@dataclass(frozen=True, slots=True, kw_only=True)
class Close:
    """Advice that came to its end: to be reported."""

    advice: Advice
    disposition: Disposition
    reason: str | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class Wait:
    """Advice that can't go on yet, and what it waits for."""

    advice: Advice
    reason: str


Item = Step | Close | Wait
