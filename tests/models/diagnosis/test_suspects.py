"""Many lines accuse together whom each alone leaves open."""

from __future__ import annotations

import pytest

from relume.models.diagnosis.suspects import Pair, accused, in_common
from relume.verdict import Locator


@pytest.mark.parametrize(
    ("pairs", "name"),
    [
        ([("a", "z"), ("b", "z"), ("c", "z")], "z"),
        ([("z", "a"), ("z", "b")], "z"),
        ([("a", "z"), ("b", "z"), ("z", "c")], "z"),
        ([("a", "z")], None),
        ([("a", "z"), ("a", "z")], None),
        ([("a", "b"), ("b", "a")], None),
        ([("a", "x"), ("b", "y"), ("c", "z")], None),
        ([("a", "z"), ("b", "z"), ("c", "y"), ("d", "x")], None),
        ([], None),
    ],
)
def test_the_node_of_nearly_all_pairs_is_accused(
    pairs: list[tuple[str, str]], name: str | None
) -> None:
    assert accused([Pair(*pair) for pair in pairs]) == name


def test_what_places_have_in_common() -> None:
    places = [Locator("n1", 0, 0, "0"), Locator("n1", 1, 1, "1")]
    assert in_common(places) == Locator("n1")
    assert in_common([places[0]]) == places[0]
    assert in_common([Locator("n1"), Locator("n2")]) == Locator()
    assert in_common([]) == Locator()
