"""Circles that wait for others, too, and rings of which some ranks left no dump."""

from __future__ import annotations

import pytest

from recorders import SECOND, START, dump, group, pair, work
from relume.dumps import RankDump
from relume.events import Collective
from relume.models.collectives.finding import CollectiveFinding, Pattern
from relume.models.collectives.judge import judge

DONE = tuple(work(n, "completed") for n in range(1, 7))
WORLD = range(8)


def judged(*dumps: RankDump) -> CollectiveFinding:
    found = judge(dumps)
    assert found is not None
    return found


def in_ring(place: int, *, shift: int = -1, size: int = 4) -> RankDump:
    """Return a rank that receives from the one `shift` places off, then sends on."""
    called = START + (40 + (place * 3) % size) * SECOND
    before, after = (place + shift) % size, (place - shift) % size
    return dump(
        place,
        *DONE,
        pair(1, f"recv {place}<-{before}", enqueued_time=called),
        pair(2, f"send {place}->{after}", enqueued_time=called + 1),
        groups=[group(range(size))],
    )


@pytest.mark.parametrize("shift", [-1, 1])
@pytest.mark.parametrize("gone", [1, 2, 3])
def test_who_left_no_dump_closes_a_ring_of_receives(shift: int, gone: int) -> None:
    found = judged(*(in_ring(place, shift=shift) for place in range(4) if place != gone))
    assert (found.pattern, found.culprits) == (Pattern.CYCLE, (0,))
    assert found.suspects == (0, 1, 2, 3)
    assert found.confidence < 0.6  # the one without a dump may have waited first


def test_a_line_that_waits_for_its_start_is_no_ring() -> None:
    """Nobody shows that the last sends to the first: that one is just not there."""
    line = [
        dump(place, *DONE, pair(1, f"recv {place}<-{place - 1}"), groups=[group(range(4))])
        for place in (1, 2, 3)
    ]
    found = judged(*line)
    assert (found.pattern, found.culprits) == (Pattern.NO_DUMP, (0,))


def test_two_of_a_pair_are_no_ring() -> None:
    found = judged(in_ring(0, size=2))
    assert (found.pattern, found.culprits) == (Pattern.NO_DUMP, (1,))


@pytest.mark.parametrize(("behind", "usual"), [(3, 5), (2, 4)])
def test_a_circle_stays_closed_whatever_those_without_a_dump_do(behind: int, usual: int) -> None:
    """Of (2, 3), 2 waits in number 5 of their own group, 3 in everybody's, as all others do.

    Rank 3 left its number 5 out, where the other pairs have called 5; where they have called 4,
    rank 2 left everybody's out. Rank 7 left no dump.
    """

    def of(rank: int, *works: Collective) -> RankDump:
        own = group((rank // 2 * 2, rank // 2 * 2 + 1), f"t{rank // 2}", description="TP")
        return dump(rank, *DONE, *works, groups=[group(WORLD), own])

    others = [of(r, work(usual, "completed", group=f"t{r // 2}"), work(7)) for r in (0, 1, 4, 5, 6)]
    two = of(2, work(4, "completed", group="t1"), work(5, group="t1"), work(7))
    three = of(3, work(4, "completed", group="t1"), work(7))
    found = judged(*others, two, three)
    assert (found.pattern, found.culprits) == (Pattern.CYCLE, (behind,))
