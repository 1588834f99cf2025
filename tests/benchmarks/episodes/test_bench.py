"""The bench measures what its bars ask for, ours and the baselines on the same episodes."""

from __future__ import annotations

from pathlib import Path

import pytest

from relume.benchmarks.episodes.bench import Answers, digest_of, result_of
from relume.benchmarks.episodes.generate import find
from relume.benchmarks.machine import Usage
from relume.benchmarks.result import BenchResult, read, store

UNSEEN = ("time_limit-unseen-00", "node_lost-unseen-01")
NAMES = ("node_lost-known-00", "bad_sample_on_one_rank-known-01", "time_limit-other-07")


@pytest.fixture(scope="module")
def answers() -> Answers:
    return Answers(find(name) for name in NAMES)


def test_answers_are_to_the_same_episodes(answers: Answers) -> None:
    assert [label.episode for label, _ in answers.ours] == list(NAMES)
    for pairs in answers.baselines.values():
        assert [label.episode for label, _ in pairs] == list(NAMES)


def test_a_lost_node_is_found_by_us_and_in_its_file(answers: Answers) -> None:
    label, answer = answers.ours[0]
    assert answer.node == label.node
    assert answer.root in label.roots


@pytest.fixture(scope="module")
def result(answers: Answers) -> BenchResult:
    new = Answers(find(name) for name in UNSEEN)
    return result_of(answers, new, Usage(1.0, 1.0, 1))


def test_the_result_holds_halves_baselines_and_the_table(
    result: BenchResult, tmp_path: Path
) -> None:
    assert set(result.bars) <= set(result.measures)
    assert {"known_forms_root_line", "held_out_forms_culprit_node"} <= set(result.measures)
    assert {"first_exception_wins_root_line", "last_error_wins_culprit_node"} <= set(
        result.measures
    )
    assert (result.corpus["episodes"], result.corpus["held_out"]) == (3, 1)
    record = read(store(result, tmp_path))
    assert {row["story"] for row in record["notes"]["stories"]} == {
        "node_lost",
        "bad_sample_on_one_rank",
        "time_limit",
    }


def test_unseen_forms_are_counted_apart(answers: Answers, result: BenchResult) -> None:
    assert result.corpus["hash"] == answers.digest
    assert result.corpus["unseen"] == len(UNSEEN)
    wanted = {"culprit_node", "root_line", "kind", "domain", "named_where_nobody_is"}
    wanted |= {"exclusions_on_workload", "exclusions_of_others"}
    assert {f"unseen_{name}" for name in wanted} <= set(result.measures)
    assert {name for name in result.bars if name.startswith("unseen")} == {
        "unseen_exclusions_on_workload"
    }
    assert {row["forms"] for row in result.notes["unseen"]["stories"]} == {"unseen"}
    assert "unseen" not in {row["forms"] for row in result.notes["stories"]}


def test_a_changed_label_changes_the_digest() -> None:
    episode = find(NAMES[0])
    assert digest_of(episode) == digest_of(find(NAMES[0])) != digest_of(find(NAMES[1]))
