from __future__ import annotations

from dataclasses import replace

import pytest

from labelling import LABEL, VERDICT
from relume.benchmarks.demo.corpus import Label
from relume.benchmarks.demo.scoring import score
from relume.verdict import Domain, Kind, Locator, Verdict

QUESTIONS = {"kind", "root_line", "culprit", "domain"}


def wrong(label: Label, verdict: Verdict) -> set[str]:
    return {name for name, attempts in score([label], [verdict])[1].items() if attempts}


def test_a_right_verdict_is_right_in_everything() -> None:
    measures, wrong_attempts = score([LABEL], [VERDICT])
    assert all(
        isinstance(m, dict) and m["value"] == 1 for n, m in measures.items() if n in QUESTIONS
    )
    assert (measures["healthy_called_failure"], measures["exclusions_on_workload"]) == (0, 0)
    assert not any(wrong_attempts.values())


@pytest.mark.parametrize(
    ("verdict", "name"),
    [
        (replace(VERDICT, kind=Kind.HANG), "kind"),
        (replace(VERDICT, domain=Domain.NETWORK), "domain"),
        (replace(VERDICT, root_line=8), "root_line"),
        (replace(VERDICT, root_file="logs/megatron-lost/kernel-a.log"), "root_line"),
        (replace(VERDICT, root_line=None, root_file=None), "root_line"),
        (replace(VERDICT, culprit=Locator(node="gpu-a01")), "culprit"),
        (replace(VERDICT, culprit=Locator(node="gpu-a01", gpu="4")), "culprit"),
        (replace(VERDICT, culprit=Locator()), "culprit"),
    ],
)
def test_each_wrong_answer_is_wrong_in_its_question_alone(verdict: Verdict, name: str) -> None:
    assert wrong(LABEL, verdict) == {name}


def test_a_rank_of_the_label_is_the_rank_of_the_verdict() -> None:
    label = replace(LABEL, culprit={"rank": 11})
    assert wrong(label, VERDICT) == set()
    assert wrong(label, replace(VERDICT, culprit=Locator(rank=1))) == {"culprit"}


def test_questions_without_a_truth_do_not_count() -> None:
    label = replace(LABEL, kind="benign", root_file=None, root_line=None, culprit={})
    verdict = replace(VERDICT, kind=Kind.BENIGN, domain=Domain.UNKNOWN)
    measures, _ = score([label], [verdict])
    nothing = {"value": 0.0, "low": 0.0, "high": 1.0}
    assert [measures[n] for n in ("root_line", "culprit", "domain")] == [nothing] * 3


@pytest.mark.parametrize("kind", [Kind.CRASH, Kind.HANG, Kind.STRAGGLER])
def test_a_failure_claimed_on_a_calm_attempt_is_a_false_alarm(kind: Kind) -> None:
    label = Label("calm", "megatron", "healthy", "benign", "unknown")
    assert wrong(label, replace(VERDICT, kind=kind)) == {"kind", "healthy"}
    assert wrong(label, replace(VERDICT, kind=Kind.UNKNOWN)) == {"kind"}


def test_excluding_nodes_for_a_fault_of_the_workload_is_counted() -> None:
    label = replace(LABEL, domain="workload")
    verdict = replace(VERDICT, domain=Domain.WORKLOAD)
    assert score([label], [verdict])[0]["exclusions_on_workload"] == 1
    assert score([label], [replace(verdict, exclude_nodes=())])[0]["exclusions_on_workload"] == 0


def test_every_label_needs_a_verdict() -> None:
    with pytest.raises(ValueError, match="shorter"):
        score([LABEL], [])
