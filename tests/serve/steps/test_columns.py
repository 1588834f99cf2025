"""Numbers of many lines are read as Python reads each."""

from __future__ import annotations

import re

import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from relume.serve.steps.columns import Columns
from relume.serve.steps.learning import Form

WRITTEN = st.from_regex(
    re.compile(r"-?\d{1,18}(\.\d{1,9})?([eE][+-]?\d{1,2})?", re.ASCII), fullmatch=True
)


@given(written=st.lists(WRITTEN, min_size=1, max_size=5), again=st.integers(1, 3))
def test_a_loss_is_the_float_that_is_written(written: list[str], again: int) -> None:
    lines = [f"loss {number} at" for number in written]
    forms = [Form(loss=list(range(5, 5 + len(number)))) for number in written]
    columns = Columns(forms, [line.encode() for line in lines])
    data = "\n".join(lines * again).encode()
    starts = np.cumsum([0, *(len(line) + 1 for line in lines * again)])[:-1]
    which = np.array(list(range(len(lines))) * again)
    found = columns.losses.read(np.frombuffer(data, np.uint8), starts, which)
    assert [repr(one) for one in found.tolist()] == [repr(float(n)) for n in written * again]
