from __future__ import annotations

from typing import Any

import pytest

from labelling import make_answer, make_case
from relume.benchmarks.corpora.failure_cases import Case
from relume.benchmarks.scoring import Score, Tally, kind_is_right, score

WATCHDOG = ("[Rank 3] Watchdog caught collective operation timeout: WorkNCCL(SeqNum=7)",)
UNDECIDED = frozenset({"benign", "hang", "unknown"})


def scored(case: Case, **answer: Any) -> Score:
    return score([case], {case.id: make_answer(**answer)})


def counts(tally: Tally) -> tuple[int, int]:
    return tally.right, tally.total


def test_tally_keeps_the_ids_of_wrong_answers() -> None:
    tally = Tally()
    assert tally.interval() == {"value": 0.0, "low": 0.0, "high": 1.0}
    for number in range(10):
        tally.add(f"case {number}", right=number != 4)
    assert tally.wrong == ["case 4"]
    assert tally.interval() == {"value": 0.9, "low": 0.5958, "high": 0.9821}


@pytest.mark.parametrize(
    ("accepted", "text", "said", "right"),
    [
        ({"crash"}, (), "crash", True),
        ({"crash"}, (), "unknown", False),
        ({"crash", "unknown"}, (), "unknown", True),
        ({"hang"}, (), "crash", False),
        ({"hang"}, WATCHDOG, "crash", True),
        ({"crash"}, WATCHDOG, "hang", True),
        ({"straggler"}, WATCHDOG, "hang", False),
        ({"hang"}, WATCHDOG, "straggler", False),
        ({"benign"}, WATCHDOG, "hang", False),
        ({"hang"}, WATCHDOG, "benign", False),
    ],
)
def test_kind_is_right_when_accepted_or_the_other_word_for_a_watchdog_abort(
    accepted: set[str], text: tuple[str, ...], said: str, *, right: bool
) -> None:
    case = make_case(accept_kind=frozenset(accepted), text=("step 5", *text))
    assert kind_is_right(case, said) is right
    result = scored(case, kind=said, confidence=0.7)
    assert counts(result.kind) == (int(right), 1)
    assert result.confidence == [(0.7, right)]


@pytest.mark.parametrize(
    ("accepted", "said", "right"),
    [
        ((2,), 2, True),
        ((2,), 3, False),
        ((2,), None, False),
        ((2, 4), 4, True),
        ((2, None), None, True),
        ((2, None), 0, False),
    ],
)
def test_root_line_is_right_when_accepted(
    accepted: tuple[int | None, ...], said: int | None, *, right: bool
) -> None:
    result = scored(make_case(root_line=2, accept_line=accepted), root_cause_line=said)
    assert counts(result.root_line) == (int(right), 1)


def test_root_line_counts_only_where_there_is_one() -> None:
    case = make_case(root_line=None, accept_line=(None,))
    assert counts(scored(case, root_cause_line=3).root_line) == (0, 0)


def test_root_line_leaves_out_excerpts_that_end_undecided() -> None:
    undecided = make_case(kind="hang", accept_kind=UNDECIDED)
    assert counts(scored(undecided, root_cause_line=9).root_line) == (0, 0)
    only_benign = make_case(kind="benign", accept_kind=frozenset({"benign", "unknown"}))
    assert counts(scored(only_benign, root_cause_line=9).root_line) == (0, 1)


def test_an_undecided_excerpt_can_be_judged_rightly_but_not_missed() -> None:
    case = make_case(accept_kind=frozenset({"benign", "crash"}))
    assert counts(scored(case, kind="crash").kind) == (1, 1)
    assert counts(scored(case, kind="unknown").kind) == (0, 0)


@pytest.mark.parametrize(
    ("named", "right"),
    [
        ({"node": "node031", "gpu": "3"}, True),
        ({"gpu": "3"}, True),
        ({"node": "node032", "gpu": "3"}, False),
        ({"node": "node031", "gpu": "4"}, False),
        ({"rank": 3}, False),
    ],
)
def test_a_culprit_that_contradicts_its_label_is_wrong(
    named: dict[str, Any], *, right: bool
) -> None:
    score = scored(make_case(culprit="node031 gpu 3"), culprit=named)
    assert bool(score.culprit_wrong) is not right


def test_domain_counts_over_failures_of_a_known_domain() -> None:
    either = frozenset({"hardware", "network"})
    case = make_case(fault_domain="infrastructure", accept_domain=either)
    assert counts(scored(case, domain="network").domain) == (1, 1)
    assert counts(scored(case, domain="workload").domain) == (0, 1)
    nobody_knows = make_case(fault_domain="unknown", accept_domain=frozenset({"unknown"}))
    assert counts(scored(nobody_knows, domain="workload").domain) == (0, 0)
    assert counts(scored(make_case(kind="benign"), domain="hardware").domain) == (0, 0)


@pytest.mark.parametrize(
    ("label", "named"),
    [
        ("rank 7", {"rank": 7}),
        ("local_rank 4", {"local_rank": 4}),
        ("node031", {"node": "node031"}),
        ("node031 gpu 3", {"node": "node031", "gpu": "3"}),
        ("node031 gpu 3", {"gpu": "3"}),
        ("10.1.4.23", {"node": "10.1.4.23"}),
        ("PCI 0000:1a:00", {"gpu": "0000:1a:00"}),
        ("GPU6", {"gpu": "6"}),
        ("mlx5_7", {"nic": "mlx5_7"}),
    ],
)
def test_culprit_is_right_when_the_label_is_named(label: str, named: dict[str, Any]) -> None:
    result = scored(make_case(culprit=label), culprit=named)
    assert counts(result.culprit) == (1, 1)
    assert result.culprit_wrong == []


def test_culprit_accepts_further_names() -> None:
    case = make_case(culprit="rank 7", culprit_also=frozenset({"node062"}))
    assert counts(scored(case, culprit={"node": "node062"}).culprit) == (1, 1)


@pytest.mark.parametrize("optional", [False, True])
def test_a_wrong_name_is_wrong_and_counted_apart_always(*, optional: bool) -> None:
    case = make_case(culprit="rank 7", culprit_optional=optional)
    result = scored(case, culprit={"rank": 3})
    assert counts(result.culprit) == (0, 1)
    assert result.culprit_wrong == ["case"]


def test_naming_nobody_is_a_miss_unless_that_is_right_too() -> None:
    miss = scored(make_case(culprit="rank 7"))
    assert counts(miss.culprit) == (0, 1)
    assert miss.culprit_wrong == []
    assert counts(scored(make_case(culprit="rank 7", culprit_optional=True)).culprit) == (0, 0)


def test_a_name_without_a_label_is_no_share_but_a_count_of_its_own() -> None:
    case = make_case(culprit=None, culprit_also=frozenset({"node017"}))
    named = scored(case, culprit={"node": "node018"})
    assert (named.unlabelled, named.culprit_unlabelled) == (1, ["case"])
    assert counts(named.culprit) == (0, 0)
    assert scored(case, culprit={"node": "node017"}).culprit_unlabelled == []
    assert scored(case).culprit_unlabelled == []


@pytest.mark.parametrize("said", ["crash", "hang", "straggler"])
def test_a_failure_claimed_on_a_benign_case_is_a_false_alarm(said: str) -> None:
    assert scored(make_case(kind="benign"), kind=said).benign_called_failure == ["case"]
    either = make_case(kind="benign", accept_kind=frozenset({"benign", said}))
    assert scored(either, kind=said).benign_called_failure == []


@pytest.mark.parametrize("said", ["benign", "unknown", "numeric"])
def test_what_claims_no_failure_is_no_false_alarm(said: str) -> None:
    result = scored(make_case(kind="benign"), kind=said)
    assert (result.benign, result.benign_called_failure) == (1, [])
    assert scored(make_case(kind="crash"), kind="hang").benign_called_failure == []


def test_excluding_nodes_for_a_fault_of_the_workload_is_counted() -> None:
    excluding = {"exclude_nodes": ["node001"]}
    result = scored(make_case(), **excluding)
    assert (result.workload, result.workload_excluded) == (1, ["case"])
    assert scored(make_case()).workload_excluded == []
    assert scored(make_case(fault_domain="infrastructure"), **excluding).workload_excluded == []


def test_score_takes_the_answer_of_each_case_by_its_id() -> None:
    cases = [make_case(id="a"), make_case(id="b", kind="hang")]
    answers = {"b": make_answer(kind="crash"), "a": make_answer(), "c": make_answer()}
    result = score(cases, answers)
    assert counts(result.kind) == (1, 2)
    assert result.kind.wrong == ["b"]
