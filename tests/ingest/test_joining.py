"""Lines of nodes find the attempts that were there, as each attempt's own diagnosis would say."""

from __future__ import annotations

from dataclasses import replace

import pytest
from hypothesis import given
from hypothesis import strategies as st

from making import make_episode, make_hit, make_signature
from relume.events import LogLine
from relume.ingest.joining import NodeTimes, Stay
from relume.models.diagnosis import own
from relume.models.diagnosis.episode import SchedulerFacts
from relume.slurm.nodes import short_name

SECOND = 1_000_000
HOUR = 3600 * SECOND
RULE = make_signature("lost")

stays = st.lists(
    st.builds(
        lambda name, nodes, start, length: Stay(
            name,
            tuple(sorted(nodes)),
            start,
            None if start is None or length is None else start + length,
        ),
        st.text("abc", min_size=1, max_size=3),
        st.sets(st.sampled_from(["n1", "n2", "n3"]), max_size=3),
        st.none() | st.integers(0, 400).map(lambda n: n * SECOND),
        st.none() | st.integers(0, 200).map(lambda n: n * SECOND),
    ),
    max_size=10,
    unique_by=lambda stay: stay.attempt,
)


@given(stays=stays, node=st.sampled_from(["n1", "N2.cluster", "n9"]), second=st.integers(0, 700))
def test_it_joins_what_each_attempt_alone_would_keep(
    stays: list[Stay], node: str, second: int
) -> None:
    time = second * SECOND
    line = make_hit(RULE, 1, node=node, stream="kernel")
    hit = replace(line, line=replace(line.line, event_time=time))
    expected = set()
    for stay in stays:
        if stay.start is None or not stay.nodes:
            continue
        episode = make_episode(hit)
        episode.scheduler = SchedulerFacts(
            "FAILED", nodes=stay.nodes, start=stay.start, end=stay.end
        )
        kept, _ = own.own_evidence(episode)
        expected |= {stay.attempt for _ in kept.all_hits()}
    assert set(NodeTimes(stays).at(node, time)) == expected


@given(stays=stays)
def test_the_order_of_the_attempts_changes_nothing(stays: list[Stay]) -> None:
    first, again = NodeTimes(stays), NodeTimes(reversed(stays))
    for second in range(0, 700, 50):
        assert first.at("n1", second * SECOND) == again.at("n1", second * SECOND)


def test_attempts_that_share_a_node_are_all_concerned() -> None:
    times = NodeTimes(
        [
            Stay("long", ("n1",), 0, 10 * HOUR),
            *(Stay(f"short {n}", ("n1",), n * HOUR, n * HOUR + HOUR // 2) for n in range(10)),
            Stay("open", ("n1", "n2"), 5 * HOUR),
            Stay("unknown", ("n1",), None, 10 * HOUR),
        ]
    )
    assert times.at("n1", 5 * HOUR + 60 * SECOND) == ("long", "short 5", "open")
    assert times.at("n1", 20 * HOUR) == ("open",)
    assert times.at("n2", HOUR) == ()
    assert times.nodes == {"n1", "n2"}


@pytest.mark.parametrize(("second", "found"), [(98, 1), (97, 0), (100, 1), (260, 1), (261, 0)])
def test_edges(second: int, found: int) -> None:
    times = NodeTimes([Stay("a", ("n1",), 100 * SECOND, 200 * SECOND)])
    assert len(times.at("n1", second * SECOND)) == found


def test_what_has_no_node_or_no_time_concerns_nobody() -> None:
    times = NodeTimes([Stay("a", ("n1",), 0)])
    assert times.at(None, 5) == times.at("n1", None) == times.at("", 5) == ()


def test_lines_come_with_each_attempt_they_concern() -> None:
    times = NodeTimes([Stay("a", ("n1",), 0), Stay("b", ("n1", "n2"), 0)])
    lines = [
        LogLine("x", 0, 0, "f", node="n1", event_time=5),
        LogLine("y", 1, 0, "f", node="n2", event_time=5),
        LogLine("z", 2, 0, "f", event_time=5),
    ]
    found = [(attempt, line.text) for attempt, line in times.join(lines)]
    assert found == [("a", "x"), ("b", "x"), ("b", "y")]


def test_addresses_are_no_names_with_a_domain() -> None:
    assert short_name("10.1.2.3") != short_name("10.4.5.6")
