"""What a job's comment may ask for."""

from __future__ import annotations

import json
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from relume.models.policy.view import JobWishes
from relume.models.policy.wishes import read_wishes

JSON = st.recursive(
    st.none() | st.booleans() | st.integers() | st.text(),
    lambda inner: st.lists(inner) | st.dictionaries(st.text(), inner),
    max_leaves=8,
)


@pytest.mark.parametrize("value", [-1, "3", True, 2.5, None, [1]])
def test_what_is_no_count_is_the_sites_limit(value: Any) -> None:
    comment = json.dumps({"relume": {"max_restarts": value}})
    assert read_wishes(comment).max_restarts is None


def test_a_time_limit_counts_only_when_asked_for() -> None:
    assert not read_wishes('{"relume": {}}').restart_on_time_limit
    assert read_wishes('{"relume": {"restart_on_time_limit": true}}').restart_on_time_limit


@given(
    st.text()
    | JSON.map(json.dumps)
    | st.dictionaries(st.sampled_from(["relume", "APS"]), JSON).map(json.dumps)
)
def test_no_comment_is_an_error(comment: str) -> None:
    assert isinstance(read_wishes(comment), JobWishes)
