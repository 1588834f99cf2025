"""How well answers agree with the labels of episodes, which are exact."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from typing import Any

from relume.benchmarks.episodes.label import Forms, Label, Place
from relume.benchmarks.log_baselines import Guess
from relume.benchmarks.scoring import Tally
from relume.slurm.nodes import short_name
from relume.verdict import Verdict

QUESTIONS = ("culprit_node", "root_line", "kind", "domain")
GROUPS = {Forms.KNOWN: "known", Forms.OTHER: "held out", Forms.UNSEEN: "unseen"}


@dataclass(frozen=True, slots=True)
class Answer:
    """What somebody says of an episode; files by their names in it."""

    node: str | None = None
    rank: int | None = None
    root: Place | None = None
    kind: str | None = None
    domain: str | None = None
    excluded: tuple[str, ...] = ()
    confidence: float = 0.0


def answer_of(verdict: Verdict, folder: str) -> Answer:
    """Return the answer that a verdict on the files below `folder` gives."""
    file = (verdict.root_file or "").removeprefix(folder).lstrip("/")
    return Answer(
        verdict.culprit.node,
        verdict.culprit.rank,
        None if verdict.root_line is None else (file, verdict.root_line),
        verdict.kind.value,
        verdict.domain.value,
        verdict.exclude_nodes,
        verdict.confidence,
    )


def answer_of_guess(guess: Guess) -> Answer:
    """Return what a baseline says."""
    root = (guess.file, guess.line) if guess.file is not None and guess.line is not None else None
    return Answer(guess.node, guess.rank, root)


def culprit_is_right(label: Label, answer: Answer) -> bool:
    """Whether the answer names the culprit, or nobody where the lines tell nobody.

    A node that failed must be named itself; for a mistake of the job, which has a place but no
    guilty node, its rank is enough. Where nobody is to be named, naming the place is harmless.
    """
    node = None if answer.node is None else short_name(answer.node)
    named = {node} if node else set()
    if answer.rank is not None:
        named.add(f"rank {answer.rank}")
    if not named <= label.harmless:
        return False
    if label.node is None and label.rank is None:
        return True
    if label.node is not None and not label.is_workload:
        return node is not None
    return bool(named)


def root_is_right(label: Label, answer: Answer) -> bool:
    """Whether the line is one of those that name the cause."""
    return answer.root in label.roots


@dataclass(slots=True)
class Score:
    """All that is counted over a set of episodes."""

    tallies: dict[str, Tally] = field(default_factory=lambda: {q: Tally() for q in QUESTIONS})
    workload_excluded: list[str] = field(default_factory=list)
    others_excluded: list[str] = field(default_factory=list)
    named_for_nobody: list[str] = field(default_factory=list)
    nobody: int = 0
    confidence: list[tuple[float, bool]] = field(default_factory=list)
    """How sure each answer is, and whether its kind is right."""

    def add(self, label: Label, answer: Answer) -> None:
        """Count the answer to one episode."""
        judged = judge(label, answer)
        for question, right in judged.items():
            self.tallies[question].add(label.episode, right=right)
        self.confidence.append((answer.confidence, judged["kind"]))
        if label.is_workload and answer.excluded:
            self.workload_excluded.append(label.episode)
        elif not set(answer.excluded) <= label.excludable:
            self.others_excluded.append(label.episode)
        if label.node is None and label.rank is None:
            self.nobody += 1
            if not culprit_is_right(label, answer):
                self.named_for_nobody.append(label.episode)


def judge(label: Label, answer: Answer) -> dict[str, bool]:
    """Say of each question that the label answers whether the answer is right."""
    judged = {"culprit_node": culprit_is_right(label, answer)}
    if label.roots:
        judged["root_line"] = root_is_right(label, answer)
    judged["kind"] = answer.kind in label.kinds
    judged["domain"] = answer.domain in label.domains
    return judged


def score(pairs: Iterable[tuple[Label, Answer]]) -> Score:
    """Count all answers."""
    result = Score()
    for label, answer in pairs:
        result.add(label, answer)
    return result


def by_story(pairs: Sequence[tuple[Label, Answer]]) -> list[dict[str, Any]]:
    """Return a row for each story and form, the worst first: how many, and how many are right."""
    groups: dict[tuple[str, Forms], list[tuple[Label, Answer]]] = {}
    for label, answer in pairs:
        groups.setdefault((label.story, label.forms), []).append((label, answer))
    rows = []
    for (story, forms), group in groups.items():
        counted = score(group)
        row: dict[str, Any] = {"story": story, "forms": GROUPS[forms]}
        row |= {"n": len(group)}
        row |= {question: counted.tallies[question].right for question in QUESTIONS}
        row["with_root"] = counted.tallies["root_line"].total
        row["excluded_wrongly"] = len(counted.workload_excluded) + len(counted.others_excluded)
        rows.append(row)
    return sorted(rows, key=_badness)


def _badness(row: dict[str, Any]) -> tuple[int, int, str, str]:
    wrong = row["n"] - row["culprit_node"] + row["with_root"] - row["root_line"]
    return -row["excluded_wrongly"], -wrong, row["story"], row["forms"]
