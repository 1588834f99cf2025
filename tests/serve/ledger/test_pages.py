"""Lists a page at a time: in their order, by what is wanted, whatever is written meanwhile."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

from advising import ATTEMPT, CREATED, make_advice, make_attempt
from relume.advice import Scope
from relume.errors import InputError
from relume.serve.ledger import Closing, LabelRecord, Ledger, Milestone, sqlite_url
from relume.serve.ledger.pages import Key, Page, Wanted

ANY = Wanted()
Lister = Callable[[Ledger, Wanted, Key | None, int], Page[Any]]
LISTS: tuple[Lister, ...] = (
    Ledger.page_attempts,
    Ledger.page_advice,
    Ledger.page_incidents,
    Ledger.page_audit,
    Ledger.page_labels,
    Ledger.page_milestones,
)


@pytest.fixture(params=["file", pytest.param("server", marks=pytest.mark.needs_server("mariadb"))])
def ledger(request: pytest.FixtureRequest, tmp_path: Path) -> Iterator[Ledger]:
    """An empty ledger in a file, and one on a server."""
    if request.param == "server":
        yield request.getfixturevalue("served")
        return
    with Ledger.open(sqlite_url(tmp_path / "ledger.db")) as found:
        yield found


def named(number: int, count: int = 0, cluster: str = "lab") -> str:
    return f"{cluster}/{number}@{1767323045 + number}.{count}"


def write(ledger: Ledger, number: int, cluster: str = "lab") -> None:
    """Write one of everything about an attempt; all but the attempts at one time."""
    attempt = named(number, cluster=cluster)
    advice = make_advice(attempt=attempt)
    ledger.put_attempt(make_attempt(attempt=attempt, run=f"run {number}", ended=number % 2 == 0))
    ledger.put_advice(advice)
    said = LabelRecord(advice_id=advice.advice_id, right=True, who=f"w{number}", at=CREATED)
    ledger.put_label(said)
    ledger.put_milestone(attempt, Milestone.FINISHED, event_time=CREATED)


def pages(ledger: Ledger, lister: Lister, limit: int, wanted: Wanted = ANY) -> list[list[Any]]:
    """All pages, from the first to the last."""
    found, key = [], None
    while True:
        page = lister(ledger, wanted, key, limit)
        found.append(list(page.records))
        if page.end is None:
            return found
        key = page.end


@pytest.mark.parametrize("lister", LISTS, ids=lambda one: one.__name__)
def test_pages_together_are_the_whole_list(ledger: Ledger, lister: Lister) -> None:
    assert pages(ledger, lister, 3) == [[]]
    for number in (3, 1, 7, 2, 5, 4, 6):
        write(ledger, number)
    [whole] = pages(ledger, lister, 100)
    assert len(whole) == 7
    for limit in (1, 3, 7):
        found = pages(ledger, lister, limit)
        assert [one for page in found for one in page] == whole
        assert [len(page) for page in found[:-1]] == [limit] * (len(found) - 1)
        assert 0 < len(found[-1]) <= limit


@pytest.mark.parametrize("lister", LISTS, ids=lambda one: one.__name__)
def test_what_is_written_meanwhile_neither_doubles_nor_hides(
    ledger: Ledger, lister: Lister
) -> None:
    for number in (2, 4, 6, 8):
        write(ledger, number)
    [whole] = pages(ledger, lister, 100)
    first = lister(ledger, ANY, None, 2)
    for number in (1, 3, 5, 7, 9):
        write(ledger, number)
    rest = lister(ledger, ANY, first.end, 100)
    seen = [*first.records, *rest.records]
    assert [one for one in seen if one in whole] == whole
    assert len(seen) == len({repr(one) for one in seen})


def test_attempts_are_in_the_order_of_their_jobs_and_restarts(ledger: Ledger) -> None:
    names = [named(7), named(7, 2), named(7, 10), named(8)]
    for name in reversed(names):
        ledger.put_attempt(make_attempt(attempt=name))
    found = [one.attempt for page in pages(ledger, Ledger.page_attempts, 1) for one in page]
    assert found == names


def test_lists_are_chosen_from(ledger: Ledger) -> None:
    for number in range(1, 5):
        write(ledger, number)
    write(ledger, 9, cluster="other")

    def attempts(**wanted: Any) -> list[str]:
        page = ledger.page_attempts(Wanted(**wanted), None, 100)
        return [one.attempt for one in page.records]

    other = named(9, cluster="other")
    assert attempts(cluster="other") == [other]
    assert attempts(job_id="3") == [named(3)]
    assert attempts(run="run 2") == [named(2)]
    assert attempts(active=True) == [named(1), named(3), other]
    assert attempts(active=False, cluster="lab") == [named(2), named(4)]
    begin = (1767323045 + 2) * 1_000_000
    assert attempts(since=begin, until=begin + 1_000_000) == [named(2)]
    for lister in (Ledger.page_advice, Ledger.page_incidents, Ledger.page_labels):
        assert len(lister(ledger, Wanted(cluster="lab"), None, 100).records) == 4
        assert len(lister(ledger, Wanted(attempt="3-0"), None, 100).records) == 1
        assert lister(ledger, Wanted(attempt="77-0"), None, 100).records == ()
        assert lister(ledger, Wanted(since=CREATED + 1), None, 100).records == ()
        assert len(lister(ledger, Wanted(until=CREATED + 1), None, 100).records) == 5
    [reached] = ledger.page_milestones(Wanted(attempt=other), None, 100).records
    assert reached.attempt == other
    assert ledger.page_milestones(Wanted(attempt="77-0"), None, 100).records == ()


def test_what_is_about_the_nodes_of_an_attempt_is_about_it(ledger: Ledger) -> None:
    ledger.put_advice(make_advice())
    ledger.put_advice(make_advice(scope=Scope.NODE, exclude_nodes=("n1",)))
    ledger.put_advice(make_advice(attempt=f"{ATTEMPT[:-1]}1"))
    for lister in (Ledger.page_advice, Ledger.page_incidents):
        assert len(lister(ledger, Wanted(attempt=ATTEMPT), None, 100).records) == 2


def test_incidents_come_with_their_advice_and_by_whether_they_go_on(ledger: Ledger) -> None:
    for number in (1, 2):
        write(ledger, number)
    over = make_advice(attempt=named(1))
    ledger.note(Closing(advice_id=over.advice_id, at=CREATED, ending="it went on"))
    [closed] = ledger.page_incidents(Wanted(active=False), None, 9).records
    assert (closed.advice, closed.ending) == ((over.advice_id,), "it went on")
    assert len(ledger.page_incidents(Wanted(active=True), None, 9).records) == 1


def test_the_audit_is_chosen_from(ledger: Ledger) -> None:
    for number in (1, 2):
        write(ledger, number)
    ledger.take_lease("lab", "me", 30, CREATED + 5)
    for wanted, count in (
        (Wanted(who="w2"), 1),
        (Wanted(what="label"), 2),
        (Wanted(about="lab", what="lease"), 1),
        (Wanted(since=CREATED + 1), 1),
        (Wanted(who="nobody"), 0),
    ):
        assert len(ledger.page_audit(wanted, None, 9).records) == count


def test_an_attempt_that_is_no_name_is_refused(ledger: Ledger) -> None:
    with pytest.raises(InputError):
        ledger.page_advice(Wanted(attempt="x/y"), None, 9)


def test_leases_tell_when_their_holder_was_seen(ledger: Ledger) -> None:
    ledger.take_lease("b", "me", 30, CREATED)
    ledger.take_lease("b", "me", 30, CREATED + 7)
    ledger.take_lease("a", "you", 30, CREATED)
    found = [(one.cluster, one.holder, one.seen_at) for one in ledger.leases()]
    assert found == [("a", "you", CREATED), ("b", "me", CREATED + 7)]
