"""Endings that are alike are one family, whatever their values and their order."""

from __future__ import annotations

import random

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from relume.models.templates import clusters
from relume.models.templates.clusters import cluster, ending_words

KINDS = (
    ("vault: seal {n} of pool {n} is broken", "closing the day"),
    ("ERROR keeper {n} went home early", "closing the day"),
    ("shard {n}: checksum differs after copy",),
)


def endings(draw: random.Random, count: int) -> tuple[list[tuple[str, ...]], list[int]]:
    chosen = [draw.randrange(len(KINDS)) for _ in range(count)]
    texts = [[line.format(n=draw.randrange(9999)) for line in KINDS[kind]] for kind in chosen]
    return [ending_words(lines) for lines in texts], chosen


@given(st.integers(0, 99))
@settings(max_examples=20)
def test_each_kind_is_a_family_numbered_as_they_come(seed: int) -> None:
    words, kinds = endings(random.Random(seed), 40)
    numbers = cluster(words)
    assert numbers[0] == 0
    first: dict[int, int] = {}
    for kind in kinds:
        first.setdefault(kind, len(first))
    assert numbers == [first[kind] for kind in kinds]


def test_an_ending_with_other_words_between_is_still_of_its_family() -> None:
    words = [
        ending_words(["vault: seal 4 of pool 3 is broken", "closing the day"]),
        ending_words(["vault: seal 9 of pool 1 is broken", "closing the day", "lights out"]),
        ending_words(["shard 3: checksum differs after copy"]),
    ]
    assert cluster(words) == [0, 0, 1]


@pytest.mark.parametrize("count", [0, 1, 2])
def test_few_or_empty_endings(count: int) -> None:
    assert cluster([()] * count) == [0] * count
    assert cluster([(), ending_words(["seal 4"])]) == [0, 1]


def test_beyond_the_bound_an_ending_joins_the_closest_family(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(clusters, "MAX_DISTINCT", 2)
    texts = ["seal is broken", "seal is broken", "keeper went home", "keeper went home"]
    more = ["seal is broken today", "the bell tolls"]
    assert cluster([ending_words([text]) for text in texts + more]) == [0, 0, 1, 1, 0, 2]


@given(st.lists(st.lists(st.text(max_size=12), max_size=4), max_size=12))
@settings(max_examples=30)
def test_any_text_can_be_put_into_families(texts: list[list[str]]) -> None:
    words = [ending_words(lines) for lines in texts]
    numbers = cluster(words)
    assert numbers == cluster(words)
    assert sorted(set(numbers)) == list(range(len(set(numbers))))
