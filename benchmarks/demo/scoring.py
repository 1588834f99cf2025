"""How well the verdicts on the demo corpus agree with its labels, which are exact."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

from relume.benchmarks.demo.corpus import Label
from relume.benchmarks.result import Measure
from relume.benchmarks.scoring import Tally
from relume.verdict import Verdict

_QUESTIONS = ("kind", "root_line", "culprit", "domain")


def score(
    labels: Sequence[Label], verdicts: Sequence[Verdict]
) -> tuple[dict[str, Measure], dict[str, list[str]]]:
    """Return the measures and, for each, the attempts that were judged wrongly.

    A root line counts where a line shows the cause, a culprit where somebody is to blame, a domain
    for crashes and hangs.
    """
    tallies = {name: Tally() for name in _QUESTIONS}
    healthy: list[str] = []
    excluded: list[str] = []
    for label, verdict in zip(labels, verdicts, strict=True):
        for name, right in _answers(label, verdict).items():
            tallies[name].add(label.attempt, right=right)
        if label.kind == "benign" and verdict.kind.is_failure:
            healthy.append(label.attempt)
        if label.domain == "workload" and verdict.exclude_nodes:
            excluded.append(label.attempt)
    measures: dict[str, Measure] = {name: tally.interval() for name, tally in tallies.items()}
    measures["healthy_called_failure"] = len(healthy)
    measures["exclusions_on_workload"] = len(excluded)
    wrong = {name: tally.wrong for name, tally in tallies.items()}
    return measures, wrong | {"healthy": healthy, "excluded": excluded}


def _answers(label: Label, verdict: Verdict) -> dict[str, bool]:
    """Whether each question that the label answers was answered alike."""
    answers = {"kind": verdict.kind.value == label.kind}
    if label.root_line is not None:
        found = (Path(verdict.root_file or "").name, verdict.root_line)
        answers["root_line"] = found == (label.root_file, label.root_line)
    if label.culprit:
        answers["culprit"] = all(
            str(getattr(verdict.culprit, key)) == str(value) for key, value in label.culprit.items()
        )
    if label.kind in {"crash", "hang"}:
        answers["domain"] = verdict.domain.value == label.domain
    return answers
