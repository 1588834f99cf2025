"""Equal objects have equal digests, others have others."""

from __future__ import annotations

import re
from dataclasses import dataclass, field

import numpy as np

from relume.serve.live.state.digest import digest_of


@dataclass
class Node:
    name: str
    next: Node | None = None
    parts: list[int] = field(default_factory=list)


def test_sharing_and_the_order_of_sets_change_nothing() -> None:
    part = [1, 2]
    assert digest_of([part, part]) == digest_of([[1, 2], [1, 2]])
    assert digest_of({"b", "a", "c"}) == digest_of({"c", "a", "b"})


def test_the_order_of_a_dict_counts() -> None:
    assert digest_of({"a": 1, "b": 2}) != digest_of({"b": 2, "a": 1})


def test_whatever_differs_is_seen() -> None:
    values: list[object] = [
        *(None, 0, 0.0, -0.0, False, "", b"", (), [], {}, set(), frozenset()),
        *(Node("a"), Node("b"), Node("a", Node("b")), Node("a", parts=[1]), Node, str),
        *(np.zeros(1), np.zeros(2), np.zeros((1, 1)), np.zeros(1, np.int64), np.float64(0)),
        *(re.compile("a"), re.compile("b"), re.compile("a", re.IGNORECASE)),
    ]
    digests = [digest_of(value) for value in values]
    assert len(set(digests)) == len(values)
    assert digests == [digest_of(value) for value in values]


def test_an_object_that_holds_itself_has_a_digest() -> None:
    one, other = Node("a"), Node("a")
    one.next, other.next = one, other
    assert digest_of(one) == digest_of(other)


def test_what_is_known_counts_by_its_name() -> None:
    one, other = Node("a"), Node("b")
    assert digest_of([one], {id(one): "x"}) == digest_of([other], {id(other): "x"})
