"""The pace of one attempt being watched: what the straggler detector is told, and what it finds."""

from __future__ import annotations

import logging
from collections.abc import Callable, Mapping
from dataclasses import replace
from typing import TYPE_CHECKING, TypeAlias

from relume.advice import Operation
from relume.models.straggler.levels import Level
from relume.models.straggler.settings import StragglerSettings
from relume.reasons import Reason, ReasonCode
from relume.serve.progress import Progress
from relume.verdict import Kind, Locator, Measurement, Retry, Verdict

if TYPE_CHECKING:
    from relume.models.straggler.book import RankBook
    from relume.models.straggler.detector import Slowdown, StragglerDetector
    from relume.models.straggler.evidence import Condition

log = logging.getLogger(__name__)
SLOW_STEPS_RULE, SUSPECTED_SLOW_STEPS_RULE = "slow_steps", "slow_steps_suspected"
SLOWDOWN = "sustained_slowdown"
"""Cause of a slowdown of which nobody can tell more."""
NO_RANKS = "times of each rank's own work: they would tell who is slow"
SLOW_RATIO, EFFECT_SETTING = "slow_ratio", "straggler.effect_ratio"
_CONFIDENCE, _SUSPICION_CONFIDENCE = 0.9, 0.4


Conditions: TypeAlias = Callable[[int, int], "Mapping[str, Condition]"]


class Pace:
    """Feeds the straggler detector of one attempt and words what it finds. Bounded state.

    A job that is slow and runs is observed, whoever is to blame: nothing is done about it.

    Parameters
    ----------
    settings
        Thresholds.
    suspicions
        Whether what the fast mode suspects is said too.
    conditions
        Asked for what metrics say of its nodes since one time and as of another; by node.
    """

    def __init__(
        self,
        attempt: str,
        progress: Progress,
        settings: StragglerSettings,
        *,
        suspicions: bool = False,
        conditions: Conditions = lambda _since, _now: {},
    ) -> None:
        self._attempt, self._settings, self._suspicions = attempt, settings, suspicions
        self._progress, self._conditions = progress, conditions
        self._detector: StragglerDetector | None = None
        self._book: RankBook | None = None
        self._told: tuple[int, int] | None = None
        self._failed = False
        progress.step_times()  # from now on they are kept

    def note_lines(self, event_time: int) -> None:
        """Take what the lines that came last, by `event_time`, say of the pace."""
        steps = self._progress.step_times()
        if not steps or self._failed:
            return
        try:
            detector, book = self._parts()
            for printer, step in steps:
                if printer.rank is not None:
                    book.take(printer.rank, step)
            detector.take_all(
                (printer, step if step.time is not None else replace(step, time=event_time))
                for printer, step in steps
            )
        except Exception:  # a defect of ours must not cost the job its Advice
            log.exception("%s: its pace can't be judged", self._attempt)
            self._failed = True

    @property
    def detector(self) -> StragglerDetector | None:
        """Who judges the pace, for explanations, which only look; null before the first step."""
        return self._detector

    @property
    def has_news(self) -> bool:
        """Whether there is a slowdown that wasn't told yet."""
        return self._news() is not None

    def finding(self, verdict: Verdict, now: int) -> Verdict | None:
        """Return the verdict on a slowdown as of `now`, once for each level; null for none.

        `verdict` is what the lines say else.
        """
        slow = self._news()
        if slow is None:
            return None
        self._told = _told_as(slow)
        return self._verdict(verdict, slow, now)

    def _news(self) -> Slowdown | None:
        """Return what is slow at present, as far as it is to be told and wasn't yet."""
        slow = None if self._detector is None or self._failed else self._detector.slowdown
        if slow is None or _told_as(slow) == self._told:
            return None

        return slow if slow.level >= Level.ACTIONABLE or self._suspicions else None

    def _verdict(self, verdict: Verdict, slow: Slowdown, now: int) -> Verdict:
        from relume.models.straggler.evidence import Blame, Evidence  # noqa: PLC0415
        from relume.models.straggler.who import who  # noqa: PLC0415

        ranks = self._book.since(slow.since.step) if self._book is not None else None
        since = now if slow.since.time is None else slow.since.time
        answer = who(Evidence.of(slow, ranks=ranks, conditions=self._conditions(since, now)))
        is_sure = slow.level is Level.ACTIONABLE
        missing = (NO_RANKS,) if answer.blame is Blame.UNKNOWN else ()
        return replace(
            verdict,
            kind=Kind.STRAGGLER,
            cause=answer.cause or SLOWDOWN,
            domain=answer.domain,
            root_line=slow.since.line,
            root_file=slow.since.file,
            culprit=Locator(
                node=next(iter(answer.nodes), None), rank=next(iter(answer.ranks), None)
            ),
            retry=Retry.UNCLEAR,
            operation=Operation.OBSERVE,
            confidence=_CONFIDENCE if is_sure else _SUSPICION_CONFIDENCE,
            rule=SLOW_STEPS_RULE if is_sure else SUSPECTED_SLOW_STEPS_RULE,
            exclude_nodes=(),
            missing_evidence=(*verdict.missing_evidence, *missing),
            reasons=(*verdict.reasons, *(_reason(words) for words in (slow.reason, *answer.why))),
            measured=Measurement(
                SLOW_RATIO,
                slow.ratio,
                1.0 + self._settings.effect,
                slow.since.time,
                EFFECT_SETTING,
            ),
        )

    def _parts(self) -> tuple[StragglerDetector, RankBook]:
        """Return the detector, made when the first step shows: numba takes a second to load."""
        if self._detector is None or self._book is None:
            from relume.models.straggler.book import RankBook  # noqa: PLC0415
            from relume.models.straggler.detector import StragglerDetector  # noqa: PLC0415

            self._detector = StragglerDetector(self._settings, self._attempt)
            self._book = RankBook()
        return self._detector, self._book


def _reason(words: str) -> Reason:
    return Reason(ReasonCode.SLOW_STEPS, detail=words)


def _told_as(slow: Slowdown) -> tuple[int, int]:
    return slow.since.step, int(slow.level)
