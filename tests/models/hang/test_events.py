"""The hang detector over any events: ticks that may be left out, and states that go on."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from relume.models.hang.detector import HangDetector
from relume.models.hang.known import MICROSECONDS

EVENTS = st.lists(
    st.tuples(
        st.integers(0, 400), st.sampled_from(["step", "talk", "checkpoint", "tick", "excuse"])
    ),
    max_size=40,
)


def happen(detector: HangDetector, event: str, now: int) -> None:
    if event == "step":
        detector.progress(now)
    elif event == "talk":
        detector.talk(now)
    elif event == "excuse":
        detector.excuse(now)
    elif event == "tick":
        detector.advance(now)
    else:
        detector.enter(event)


@given(EVENTS)
def test_ticks_only_when_something_may_change_find_the_same(
    events: list[tuple[int, str]],
) -> None:
    every, told = HangDetector(), HangDetector()
    every.start(0)
    told.start(0)
    now, found, sparse = 0, [], []
    for seconds, event in events:
        for second in range(now + 1, now + seconds + 1):
            found += [(second, one) for one in every.advance(second * MICROSECONDS)]
            due = told.next_change()
            if due is not None and due <= second * MICROSECONDS:
                sparse += [(second, one) for one in told.advance(second * MICROSECONDS)]
        now += seconds
        for detector in (every, told):
            happen(detector, event, now * MICROSECONDS)
    assert found == sparse
    assert every == told


@given(EVENTS, st.integers(0, 40))
def test_what_is_restored_goes_on_like_the_original(
    events: list[tuple[int, str]], cut: int
) -> None:
    detectors = [HangDetector(), HangDetector()]
    now = 0
    for number, (seconds, event) in enumerate(events):
        if number == cut:
            detectors[0] = HangDetector.restore(detectors[0].save())
        now += seconds * MICROSECONDS
        for detector in detectors:
            happen(detector, event, now)
    assert detectors[0] == detectors[1]
