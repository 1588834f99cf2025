from __future__ import annotations

import itertools

from hypothesis import given
from hypothesis import strategies as st

from relume.ingest.metrics.spans import DAY, Span, uncovered_days

TIMES = st.integers(0, 5 * DAY)
SPANS = st.tuples(TIMES, TIMES).map(lambda pair: (min(pair), max(pair)))


@given(SPANS, st.lists(SPANS, max_size=5))
def test_what_is_not_covered_is_found_once_within_days(span: Span, covered: list[Span]) -> None:
    found = uncovered_days(span, covered)
    edges = {edge for pair in (*covered, span, *found) for edge in pair}
    edges |= {day * DAY for day in range(6)}
    marks = sorted(edges)
    for start, end in itertools.pairwise(marks):
        inside = [one for one in found if one[0] <= start and end <= one[1]]
        is_asked = span[0] <= start and end <= span[1]
        is_known = any(one[0] <= start and end <= one[1] for one in covered)
        assert len(inside) == int(is_asked and not is_known)
    assert all(start // DAY == (end - 1) // DAY for start, end in found)
    assert found == sorted(found)
