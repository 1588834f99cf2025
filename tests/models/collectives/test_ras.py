"""RAS names who lags; the ranks of a part of the job are not those of the job."""

from __future__ import annotations

from relume.dumps import RasCommunicator, RasLaunched, RasPlace, RasReport
from relume.models.collectives.ras import judge_ras

HERE = RasPlace(rank=1, node="10.0.0.1", gpu="1")


def report(size: int | None, *counts: RasLaunched, **more: object) -> RasReport:
    launched = {"AllReduce": counts} if counts else {}
    comm = RasCommunicator(name="ab", size=size, launched=launched, **more)  # type: ignore[arg-type]
    return RasReport(file="ras", communicators=(comm,))


def lag(number: int, ranks: int, *places: RasPlace) -> RasLaunched:
    return RasLaunched(number=number, ranks=ranks, places=places)


def test_who_has_launched_fewer_lags() -> None:
    found = judge_ras([report(8, lag(4, 1, HERE), lag(5, 7))])
    assert found is not None
    assert (found.places, found.is_dead) == ((HERE,), False)
    assert found.why == ("RAS: rank 1, node 10.0.0.1, GPU 1 has launched 4 AllReduce, 7 others 5",)


def test_the_ranks_of_a_part_are_not_global() -> None:
    found = judge_ras([report(2, lag(4, 1, HERE), lag(5, 2))], world=16)
    assert found is not None
    assert found.places == (RasPlace(node="10.0.0.1", gpu="1"),)


def test_who_is_ahead_or_half_of_them_is_not_named() -> None:
    assert judge_ras([report(8, lag(6, 1, HERE), lag(5, 7))]) is None
    assert judge_ras([report(8, lag(4, 4, HERE), lag(5, 4))]) is None
    assert judge_ras([report(8)]) is None
    assert judge_ras([]) is None


def test_who_does_not_answer_stands_above_who_lags() -> None:
    gone = RasPlace(rank=3, node="10.0.0.2", gpu="3")
    found = judge_ras([report(8, lag(4, 1, HERE), lag(5, 6), unresponsive=(gone,))])
    assert found is not None
    assert (found.places, found.is_dead) == ((gone,), True)


def test_dead_processes_have_a_node_only() -> None:
    found = judge_ras([RasReport(file="ras", dead=(RasPlace(node="10.0.0.2", gpu="3"),))])
    assert found is not None
    assert found.why == ("RAS: node 10.0.0.2, GPU 3 is considered dead",)
