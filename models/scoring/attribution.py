"""Whether the right cause, domain, node and rank were named (metrics section 6).

Asked of incidents that were found and whose label knows the answer. What counts is what was said
last when no more evidence was waited for: before that, and with nothing said, it is an abstention.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Collection, Sequence
from dataclasses import dataclass, field
from typing import TypeVar

from relume.dataset import Incident
from relume.models.scoring.alarm import Alarm
from relume.models.scoring.answers import Answers
from relume.models.scoring.intervals import Proportion
from relume.models.scoring.matching import Found, Matching, Told
from relume.verdict import Domain

TOP = 5

Name = TypeVar("Name", str, int)


@dataclass(slots=True)
class Classes:
    """Answers that are a class: which was said (null: none) of which."""

    pairs: Counter[tuple[str, str | None]] = field(default_factory=Counter)
    answers: Answers = field(default_factory=Answers)

    def add(self, label: str, said: str | None, confidence: float) -> None:
        """Count one."""
        self.pairs[label, said] += 1
        if said is None:
            self.answers.abstain()
        else:
            self.answers.add(confidence, right=said == label)

    def macro_f1(self) -> float | None:
        """Return the mean F1 over all classes that are a label or were said; null of nothing."""
        labels: Counter[str] = Counter()
        said: Counter[str] = Counter()
        for (label, answer), count in self.pairs.items():
            labels[label] += count
            if answer is not None:
                said[answer] += count
        names = sorted(labels.keys() | said.keys())
        scores = [2 * self.pairs[name, name] / (labels[name] + said[name]) for name in names]
        return sum(scores) / len(scores) if scores else None


@dataclass(slots=True)
class Suspects:
    """Suspects of one sort (nodes or ranks), the likeliest first, against the culprits."""

    first: Answers = field(default_factory=Answers)
    among_first: int = 0
    exact: int = 0

    def add(self, suspects: Sequence[Name], culprits: Collection[Name], confidence: float) -> None:
        """Count one incident; any of its culprits is right."""
        if suspects:
            self.first.add(confidence, right=suspects[0] in culprits)
        else:
            self.first.abstain()
        self.among_first += not set(suspects[:TOP]).isdisjoint(culprits)
        self.exact += set(suspects) == set(culprits)

    @property
    def top_1(self) -> Proportion:
        """A culprit is the first suspect."""
        return self.first.accuracy

    @property
    def top_5(self) -> Proportion:
        """A culprit is among the first five."""
        return Proportion(self.among_first, self.first.total)

    @property
    def exact_set(self) -> Proportion:
        """The suspects are the culprits, all of them and nobody else."""
        return Proportion(self.exact, self.first.total)


@dataclass(slots=True)
class Exclusions:
    """Nodes that would have been taken away.

    Attributes
    ----------
    lists
        Exclusion lists of which it is known who is innocent; one that was issued again for the same
        incident counts once.
    innocent
        Innocent nodes in them.
    unjudged
        Lists for incidents whose culprit nodes nobody knows.
    on_workload, workload
        Incidents that the workload itself caused: with an exclusion, and all. Found or not.
    """

    lists: int = 0
    innocent: int = 0
    unjudged: int = 0
    on_workload: int = 0
    workload: int = 0

    @property
    def over_exclusion(self) -> float | None:
        """Mean number of innocent nodes in a list; null without one."""
        return self.innocent / self.lists if self.lists else None

    @property
    def wrong(self) -> Proportion:
        """Exclusions issued for incidents of the workload, of those."""
        return Proportion(self.on_workload, self.workload)


@dataclass(slots=True)
class Attribution:
    """All that section 6 asks of a replay. Decisions and durability need more than one."""

    cause: Classes = field(default_factory=Classes)
    domain: Classes = field(default_factory=Classes)
    nodes: Suspects = field(default_factory=Suspects)
    ranks: Suspects = field(default_factory=Suspects)
    exclusions: Exclusions = field(default_factory=Exclusions)

    def add(self, matching: Matching) -> None:
        """Count one attempt. Transient incidents ask nothing, but exclude as much as others."""
        for found in matching.found:
            self._ask(found)
        everything = [*matching.found, *matching.transient]
        incidents = [one.incident for one in everything]
        for incident in (*incidents, *matching.missed, *matching.transient_missed):
            self.exclusions.workload += incident.domain is Domain.WORKLOAD
        for found in everything:
            self._exclude(found)
        for told in matching.told:
            self._exclude(told)
        for group in matching.false_alarms:
            self._exclude(Told(None, (group,)))

    def _ask(self, found: Found) -> None:
        incident = found.incident
        said = found.settled or Alarm(attempt=incident.attempt, kind=incident.kind)
        if incident.cause is not None:
            self.cause.add(incident.cause, said.cause, said.confidence)
        if incident.domain not in {None, Domain.UNKNOWN}:
            answer = None if said.domain is Domain.UNKNOWN else said.domain
            self.domain.add(str(incident.domain), answer, said.confidence)
        if incident.culprit_nodes:
            self.nodes.add(said.nodes, incident.culprit_nodes, said.confidence)
        if incident.culprit_ranks:
            self.ranks.add(said.ranks, incident.culprit_ranks, said.confidence)

    def _exclude(self, said: Found | Told) -> None:
        lists, incident = excluded(said.alarms), said.incident
        is_workload = incident is not None and incident.domain is Domain.WORKLOAD
        self.exclusions.on_workload += bool(lists) and is_workload
        for nodes in lists:
            innocents = innocent_of(incident, nodes)
            if innocents is None:
                self.exclusions.unjudged += 1
            else:
                self.exclusions.lists += 1
                self.exclusions.innocent += innocents


def excluded(alarms: Sequence[Alarm]) -> set[frozenset[str]]:
    """Return the exclusion lists of alarms, each once."""
    return {frozenset(one.excluded_nodes) for one in alarms if one.excluded_nodes}


def innocent_of(incident: Incident | None, nodes: frozenset[str]) -> int | None:
    """Return how many of the excluded nodes are innocent; null when nobody knows the culprits.

    Without an incident, or with one of the workload, all of them are.
    """
    if incident is None or incident.domain is Domain.WORKLOAD:
        return len(nodes)
    if not incident.culprit_nodes:
        return None
    return len(nodes - set(incident.culprit_nodes))
