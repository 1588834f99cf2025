"""Ranks in prefixes that nobody knows: the place that takes as many values as there are ranks."""

from __future__ import annotations

import pytest

from relume.models.ranks.slots import learn, ranks_of_names

FORMS = [
    "[{}]: {}",
    "<{}> {}",
    "w{} | {}",
    "unit-{}/main {}",
    "ran {} of nothing: {}",
    "03.02.2026 10:11:12 Rango {} ERROR: {}",
]
WORDS = ["ConnectionError: lost", "KeyError: 3", "Timeout after 600 s", "step 1201 failed"]


@pytest.mark.parametrize("form", FORMS)
def test_the_number_that_differs_between_processes_is_the_rank(form: str) -> None:
    lines = [form.format(rank, WORDS[rank % 4]) for rank in range(8)]
    slots = learn(lines)
    assert [slots.rank_of(line) for line in lines] == list(range(8))
    assert slots.rank_of("a line of somebody else 3") is None


@pytest.mark.parametrize(
    "lines",
    [
        ["[1]: a", "[2]: b"],
        [f"step {step}: lost" for step in range(8)],
        [f"pid {1000 + 37 * number} lost" for number in range(8)],
        [f"10:11:{second:02d} lost" for second in range(8)],
        [f"version 1.{number} lost" for number in range(8)],
        [f"gpu {gpu} lost" for gpu in range(8)],
    ],
)
def test_other_numbers_are_no_ranks(lines: list[str]) -> None:
    slots = learn(lines)
    assert {slots.rank_of(line) for line in lines} == {None}


def test_a_number_outside_the_world_is_no_rank() -> None:
    lines = [f"[{number}]: lost" for number in range(8)]
    assert learn(lines, world_size=8).rank_of(lines[3]) == 3
    assert learn(lines, world_size=4).rank_of(lines[3]) is None


def test_a_number_in_some_messages_is_no_rival_of_the_one_in_all_prefixes() -> None:
    lines = [f"<{rank}> KeyError: lost" for rank in range(6)]
    lines += [f"<2> table.c: row {row} is odd" for row in range(3)]
    assert learn(lines, world_size=6).rank_of("<4> anything") == 4


def test_the_local_rank_of_torchrun_is_no_rank() -> None:
    lines = [f"[default{rank}]:KeyError: lost" for rank in range(4)]
    assert learn(lines, world_size=8).rank_of(lines[3]) is None


@pytest.mark.parametrize(
    ("names", "ranks"),
    [
        (["a/w-0.txt", "a/w-1.txt", "a/w-2.txt"], [0, 1, 2]),
        (["r.977.0.txt", "r.977.1.txt", "r.977.2.txt", "r.977.txt"], [0, 1, 2, None]),
        (["n7/0.txt", "n7/1.txt", "n8/2.txt", "head.log"], [0, 1, 2, None]),
        (["n7/0.txt", "n7/1.txt", "n8/0.txt", "n8/1.txt"], [None] * 4),
        (["job.log"], [None]),
        ([], []),
    ],
)
def test_the_rank_in_names_of_logs(names: list[str], ranks: list[int | None]) -> None:
    known = ranks_of_names(names)
    assert [known.get(name) for name in names] == ranks
