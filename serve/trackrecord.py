"""How likely an Advice is right, learned from what became of earlier ones and from people's labels.

It stands beside the Advice, and changes nothing.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Sequence
from dataclasses import dataclass

from relume.advice import Advice
from relume.models.streaming.alarms import AlarmJudge


@dataclass(frozen=True, slots=True)
class TrackRecord:
    """What earlier Advice tells of one.

    Attributes
    ----------
    right, wrong
        Earlier Advice of the same rule that was right, and wrong.
    estimate
        How likely this one is right, from 0 to 1; null before enough is known of any.
    learned
        From so many.
    """

    right: int
    wrong: int
    estimate: float | None
    learned: int


def track_record(advice: Advice, earlier: Iterable[tuple[Advice, bool]]) -> TrackRecord:
    """Return what earlier Advice, each with whether it was right, tells of one; oldest first."""
    judge = AlarmJudge()
    rules: defaultdict[str | None, list[int]] = defaultdict(lambda: [0, 0])
    for one, was_right in earlier:
        judge.learn(_features(one, rules[one.rule]), was_right=was_right)
        rules[one.rule][was_right] += 1
    wrong, right = rules[advice.rule]
    estimate = judge.probability(_features(advice, rules[advice.rule]))
    return TrackRecord(right, wrong, estimate, judge.right + judge.wrong)


def _features(advice: Advice, rule: Sequence[int]) -> dict[str, float]:
    """What is known of it when it is written; `rule` counts how often its rule was wrong, right."""
    wrong, right = rule
    return {
        "confidence": advice.confidence,
        "evidence": float(len(advice.evidence)),
        "missing_evidence": float(len(advice.missing_evidence)),
        "settled": float(advice.settled),
        "rule_share": (right + 1) / (right + wrong + 2),  # a half for a rule that is new
    }
