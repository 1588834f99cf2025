"""What each rule is worth: its own alarms, right and wrong ones, and its exclusions."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field

from relume.dataset import Incident
from relume.models.scoring.alarm import Alarm
from relume.models.scoring.attempt import SECOND
from relume.models.scoring.attribution import excluded, innocent_of
from relume.models.scoring.intervals import Proportion
from relume.models.scoring.matching import AlarmGroup, Matching
from relume.models.scoring.spread import percentile

NO_RULE = "(none)"
"""Name of what was raised without a rule. What only the scheduler told is no alarm of a rule's, and
counted here by its exclusions alone."""


@dataclass(slots=True)
class RuleScore:
    """Track record of one rule.

    Attributes
    ----------
    alarms
        Times it was the first to raise an alarm; those de-duplicated are not among them.
    true_positives, false_positives, repeats, transient, ignored
        What they were.
    latencies
        Seconds from the onset to its true alarms.
    exclusions, wrong_exclusions
        Lists of nodes that it would have taken away, and those with an innocent node in them. A
        list for an incident whose culprits nobody knows is not known to be wrong.
    """

    alarms: int = 0
    true_positives: int = 0
    false_positives: int = 0
    repeats: int = 0
    transient: int = 0
    ignored: int = 0
    latencies: list[float] = field(default_factory=list)
    exclusions: int = 0
    wrong_exclusions: int = 0

    @property
    def precision(self) -> Proportion:
        """True alarms of the true and the false ones."""
        return Proportion(self.true_positives, self.true_positives + self.false_positives)

    @property
    def median_latency(self) -> float | None:
        """Median of `latencies`; null without one."""
        return percentile(sorted(self.latencies), 0.5)


@dataclass(slots=True)
class Scoreboard:
    """The track records of all rules that raised an alarm."""

    rules: dict[str, RuleScore] = field(default_factory=dict)

    def add(self, matching: Matching) -> None:
        """Count one attempt."""
        for found in matching.found:
            score = self._raised(found.alarm)
            score.true_positives += 1
            time = found.alarm.first.time
            if time is not None and found.incident.onset is not None:
                score.latencies.append((time - found.incident.onset) / SECOND)
        for found in matching.transient:
            self._raised(found.alarm).transient += 1
        for found in (*matching.found, *matching.transient):
            for group in found.repeats:
                self._raised(group).repeats += 1
            self._excluded(found.alarms, found.incident)
        for told in matching.told:
            self._excluded(told.alarms, told.incident)
        for group in matching.false_alarms:
            self._raised(group).false_positives += 1
            self._excluded(group.alarms, None)
        for group in matching.ignored:
            self._raised(group).ignored += 1

    def _raised(self, group: AlarmGroup) -> RuleScore:
        score = self._of(group.first.rule)
        score.alarms += 1
        return score

    def _excluded(self, alarms: Sequence[Alarm], incident: Incident | None) -> None:
        for rule in {one.rule for one in alarms if one.excluded_nodes}:
            score = self._of(rule)
            for nodes in excluded([one for one in alarms if one.rule == rule]):
                score.exclusions += 1
                score.wrong_exclusions += bool(innocent_of(incident, nodes))

    def _of(self, rule: str | None) -> RuleScore:
        return self.rules.setdefault(rule or NO_RULE, RuleScore())
