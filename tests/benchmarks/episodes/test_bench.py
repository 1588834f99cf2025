"""The bench measures what its bars ask for, ours and the baselines on the same episodes."""

from __future__ import annotations

from pathlib import Path

import pytest

from relume.benchmarks.episodes.bench import Answers, digest_of, result_of
from relume.benchmarks.episodes.generate import find
from relume.benchmarks.machine import Usage
from relume.benchmarks.result import read, store

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


def test_the_result_holds_halves_baselines_and_the_table(answers: Answers, tmp_path: Path) -> None:
    result = result_of(answers, Usage(1.0, 1.0, 1), "episodes")
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


def test_a_changed_label_changes_the_digest() -> None:
    episode = find(NAMES[0])
    assert digest_of(episode) == digest_of(find(NAMES[0])) != digest_of(find(NAMES[1]))
