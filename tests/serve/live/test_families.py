"""Families in a live run: learned when an attempt is over, kept over restarts, equal to a replay."""

from __future__ import annotations

import pytest

from living import Live
from relume.advice import comparable
from relume.models.family.attempt import AttemptGaps, FamilyKey
from relume.models.family.gaps import PhaseGaps
from relume.models.family.prior import MAX_MEMBERS
from relume.serve.live.families import MAX_FAMILIES, Families
from relume.slurm.job import SlurmJob

KEY = FamilyKey("lab", "ada", "train")
JOB = "lab/1@1"


def left(number: int, known_at: int = 5) -> AttemptGaps:
    phases = {"train": PhaseGaps(10, 2.0, 10, [1.0])}
    return AttemptGaps(attempt=f"lab/{number}@1.0", known_at=known_at, lines=11, phases=phases)


def test_an_attempt_knows_only_what_was_over_before_it_began() -> None:
    families = Families(lambda _key, _time: [left(1, 5), left(2, 9)])
    families.put(KEY, left(3, 7))
    assert [one.attempt for one in families.before(KEY, 7, JOB).members] == ["lab/1@1.0"]
    known = [one.attempt for one in families.before(KEY, 10, JOB).members]
    assert known == ["lab/1@1.0", "lab/3@1.0", "lab/2@1.0"]
    assert families.before(KEY._replace(user="bob"), 7, JOB).members == [left(1, 5)]


def test_families_are_bounded() -> None:
    families = Families(lambda _key, _time: ())
    for number in range(3 * MAX_MEMBERS):
        families.put(KEY, left(number, number))
    assert len(families.before(KEY, 10**9, JOB).members) == MAX_MEMBERS
    for number in range(MAX_FAMILIES):
        families.put(KEY._replace(name=str(number)), left(number))
    assert families.before(KEY, 10**9, JOB).members == []


def test_the_ledger_gives_the_last_ones_before_a_time(live: Live) -> None:
    for number in range(2 * MAX_MEMBERS):
        live.ledger.put_gaps(KEY, left(number, number))
    live.ledger.put_gaps(KEY._replace(user="bob"), left(1000, 1))
    live.ledger.put_gaps(KEY, left(0, 0))  # told again: it replaces what was told
    found = live.ledger.gaps_before(KEY, MAX_MEMBERS + 3)
    assert [one.known_at for one in found] == list(range(MAX_MEMBERS + 2, 2, -1))
    assert found[0] == left(MAX_MEMBERS + 2, MAX_MEMBERS + 2)


def trains(live: Live, job: SlurmJob, steps: int) -> None:
    live.tell(job)
    for _ in range(0, steps, 10):
        live.train(10)
        live.tell(job)


@pytest.mark.parametrize("restarts_at", [None, "between", "within"])
def test_the_next_attempt_is_judged_by_what_the_one_before_showed(
    live: Live, restarts_at: str | None
) -> None:
    live.clock.advance(2)
    live.write("starting", mode="w")
    trains(live, live.job(name="train"), 200)
    live.tell(live.end_of(0, "COMPLETED", name="train", exit_code=0))
    live.tick(700)  # it is read up, and not watched any more
    if restarts_at == "between":
        live.restart()
    live.write("starting", mode="w")
    again = live.runs(1, name="train")
    trains(live, again, 100)
    if restarts_at == "within":
        live.restart()
        live.tell(again)
    for _ in range(8):
        live.tick(10)
        live.tell(again)
    live.tick(10)
    assert live.decided() == []
    live.tick(3)
    assert [operation for _, _, operation, _ in live.decided()] == ["RESTART"]
    assert [comparable(one) for one in live.written()] == live.replayed()
