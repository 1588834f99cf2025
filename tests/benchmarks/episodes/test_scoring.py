"""What counts as right, and how stories are ranked."""

from __future__ import annotations

from dataclasses import replace

import pytest

from relume.benchmarks.episodes.label import Forms, Label
from relume.benchmarks.episodes.scoring import Answer, by_story, culprit_is_right, score

FAULT = Label(
    episode="gpu-known-00",
    story="gpu",
    forms=Forms.KNOWN,
    kinds=("crash",),
    domains=("hardware",),
    node="cn07",
    rank=13,
    roots=(("dmesg-cn07.log", 4), ("slurm-1.out", 9)),
    harmless=frozenset({"cn07", "10.0.0.7", "rank 13", "rank 12"}),
    excludable=frozenset({"cn07"}),
    nodes=4,
    ranks=32,
)
MISTAKE = replace(FAULT, domains=("workload",), excludable=frozenset())
NOBODY = replace(
    FAULT, node=None, rank=None, excludable=frozenset(), harmless=frozenset({"rank 0", "cn01"})
)


@pytest.mark.parametrize(
    ("label", "answer", "right"),
    [
        (FAULT, Answer(node="cn07"), True),
        (FAULT, Answer(node="CN07.cluster.example", rank=12), True),
        (FAULT, Answer(node="10.0.0.7"), True),
        (FAULT, Answer(rank=13), False),
        (FAULT, Answer(), False),
        (FAULT, Answer(node="cn07", rank=5), False),
        (FAULT, Answer(node="cn08"), False),
        (MISTAKE, Answer(rank=13), True),
        (MISTAKE, Answer(node="cn07"), True),
        (MISTAKE, Answer(), False),
        (NOBODY, Answer(), True),
        (NOBODY, Answer(rank=0), True),
        (NOBODY, Answer(node="cn01", rank=0), True),
        (NOBODY, Answer(node="cn07"), False),
        (replace(FAULT, node=None), Answer(rank=13), True),
        (replace(FAULT, node=None), Answer(), False),
    ],
)
def test_who_is_named_rightly(label: Label, answer: Answer, right: bool) -> None:  # noqa: FBT001
    assert culprit_is_right(label, answer) is right


def test_any_of_the_lines_is_right_in_its_own_file() -> None:
    counted = score(
        [
            (FAULT, Answer(root=("slurm-1.out", 9))),
            (FAULT, Answer(root=("slurm-1.out", 4))),
            (replace(FAULT, roots=()), Answer(root=None)),
        ]
    )
    tally = counted.tallies["root_line"]
    assert (tally.right, tally.total) == (1, 2)


def test_exclusions_of_others_and_on_workload_are_counted_apart() -> None:
    counted = score(
        [
            (FAULT, Answer(excluded=("cn07",))),
            (FAULT, Answer(excluded=("cn08",))),
            (MISTAKE, Answer(excluded=("cn07",))),
            (NOBODY, Answer(excluded=("cn01",))),
        ]
    )
    assert len(counted.workload_excluded) == 1
    assert len(counted.others_excluded) == 2
    assert counted.nobody == 1


def test_the_worst_story_comes_first_and_wrong_exclusions_before_all() -> None:
    good = replace(FAULT, story="good")
    bad = replace(FAULT, story="bad", forms=Forms.OTHER)
    excluding = replace(MISTAKE, story="excluding")
    answer = Answer("cn07", 13, ("slurm-1.out", 9), "crash", "hardware")
    rows = by_story(
        [
            (good, answer),
            (bad, Answer()),
            (excluding, replace(answer, excluded=("cn07",))),
        ]
    )
    assert [row["story"] for row in rows] == ["excluding", "bad", "good"]
    assert (rows[1]["forms"], rows[1]["n"], rows[1]["culprit_node"], rows[1]["with_root"]) == (
        "held out",
        1,
        0,
        1,
    )
