"""What every store behind `Ledger` must do, whatever database it is."""

from __future__ import annotations

import dataclasses
import json
import subprocess
import sys
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor

import pytest
from hypothesis import given
from hypothesis import strategies as st

import ledger_worker
from advising import ATTEMPT, CREATED, EXPIRES, make_advice, make_attempt
from mariadb_server import MariaDB
from relume.advice import Advice, Disposition, Operation, Reconciliation, Scope, advice_id
from relume.errors import InputError
from relume.serve.ledger import (
    Access,
    AdviceConflictError,
    AttemptOutcome,
    FinalDispositionError,
    Landed,
    Lease,
    LeaseHeldError,
    Ledger,
    Milestone,
    MilestoneRecord,
    NotFoundError,
    StaleFencingTokenError,
    SupersededError,
    sqlite_url,
)
from relume.serve.ledger.leases import take, wanted
from relume.serve.ledger.store import Store
from relume.verdict import Evidence

NOW = CREATED + 1
CONVERGED = Reconciliation(Disposition.CONVERGED, "runs again", 1)
OTHER = "lab/124@1767323045.0"
AWAY = "far/123@1767323045.0"


MARIADB = pytest.param("mariadb", marks=pytest.mark.needs_server("mariadb"))


@dataclasses.dataclass(frozen=True)
class Place:
    """Where ledgers of one kind of database are made; `server` is null for files."""

    new: Callable[[], str]
    server: MariaDB | None = None

    @property
    def access(self) -> Access:
        """How they are entered."""
        return Access() if self.server is None else self.server.access

    def open(self, url: str | None = None) -> Ledger:
        """Open a ledger, a new one when null."""
        return Ledger.open(url or self.new(), self.access)


@pytest.fixture(scope="module", params=["sqlite", MARIADB])
def place(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> Place:
    """Return where new ledgers are made."""
    if request.param == "sqlite":
        return Place(lambda: sqlite_url(tmp_path_factory.mktemp("ledger") / "ledger.db"))
    server: MariaDB = request.getfixturevalue("mariadb_server")
    return Place(server.url, server)


@pytest.fixture(scope="module")
def shared(place: Place) -> Iterator[Ledger]:
    """One ledger for the module: a server takes a second to make one."""
    with place.open() as opened:
        yield opened


@pytest.fixture
def ledger(place: Place, shared: Ledger) -> Iterator[Ledger]:
    """An empty ledger."""
    if place.server is None:
        with place.open() as opened:
            yield opened
    else:
        place.server.empty()
        yield shared


@pytest.fixture
def token(ledger: Ledger) -> int:
    """The fencing token of the controller of cluster lab."""
    return ledger.take_lease("lab", "a", 30, NOW).fencing_token


def ids(listed: list[Advice]) -> list[str]:
    return [advice.advice_id for advice in listed]


# --- Advice ---


def test_what_was_written_is_read_back_whole(ledger: Ledger) -> None:
    excluding = make_advice(
        operation=Operation.RESTART_EXCLUDING,
        exclude_nodes=("node3", "node4"),
        evidence=(Evidence("x", "root", "a b.log", 0, "“quoted” \x00 \ud7ff 🚀", None),),
        cause=None,
        rule=None,
        confidence=0.1 + 0.2,
    )
    assert ledger.put_advice(excluding)
    assert ledger.get(excluding.advice_id) == excluding
    assert ledger.newest(ATTEMPT) == excluding
    assert ledger.active(NOW) == [excluding]


def test_nothing_is_known_of_what_was_never_written(ledger: Ledger) -> None:
    assert ledger.get(advice_id(ATTEMPT, 1)) is None
    assert ledger.newest(ATTEMPT) is None
    assert ledger.active(NOW) == []


def test_the_same_decision_again_writes_nothing(ledger: Ledger) -> None:
    first = make_advice()
    again = make_advice(created_at=CREATED + 5, decided_at=CREATED + 5, expires_at=EXPIRES + 5)
    assert ledger.put_advice(first)
    assert not ledger.put_advice(first)
    assert not ledger.put_advice(again)
    assert ledger.get(first.advice_id) == first


def test_the_same_generation_with_another_content_is_refused(ledger: Ledger) -> None:
    ledger.put_advice(make_advice())
    with pytest.raises(AdviceConflictError, match="another operation, cause than"):
        ledger.put_advice(make_advice(operation=Operation.STOP, cause="oom"))
    assert ledger.newest(ATTEMPT) == make_advice()


def test_an_older_generation_is_not_written_behind_a_newer_one(ledger: Ledger) -> None:
    ledger.put_advice(make_advice(generation=2))
    with pytest.raises(SupersededError, match="found generation 2"):
        ledger.put_advice(make_advice(generation=1))
    assert ledger.get(advice_id(ATTEMPT, 1)) is None


def test_a_new_decision_begins_pending(ledger: Ledger) -> None:
    ledger.put_advice(make_advice(reconciliation=CONVERGED))
    assert ledger.active(NOW) == [make_advice()]


def test_a_changed_mind_leaves_the_first_one_as_it_was(ledger: Ledger) -> None:
    first = make_advice(settled=False, decided_at=None)
    second = make_advice(generation=2, supersedes=first.advice_id)
    ledger.put_advice(first)
    ledger.put_advice(second)
    assert ledger.active(NOW) == [second]
    assert ledger.newest(ATTEMPT) == second
    assert ledger.get(first.advice_id) == first


def test_advice_that_has_expired_is_not_active(ledger: Ledger) -> None:
    ledger.put_advice(make_advice())
    assert ids(ledger.active(EXPIRES - 1)) == [advice_id(ATTEMPT, 1)]
    assert ledger.active(EXPIRES) == []


def test_an_older_generation_does_not_come_back(ledger: Ledger, token: int) -> None:
    ledger.put_advice(make_advice(expires_at=EXPIRES + 100))
    ledger.put_advice(make_advice(generation=2))
    assert ledger.active(EXPIRES) == []
    report = dataclasses.replace(CONVERGED, observed_generation=2)
    ledger.reconcile(advice_id(ATTEMPT, 2), report, token, NOW)
    assert ledger.active(NOW) == []


def test_active_advice_is_of_one_cluster_and_oldest_first(ledger: Ledger) -> None:
    for attempt, age in ((ATTEMPT, 2), (OTHER, 1), (AWAY, 3)):
        ledger.put_advice(make_advice(attempt=attempt, created_at=CREATED - age))
    assert [advice.attempt for advice in ledger.active(NOW)] == [AWAY, ATTEMPT, OTHER]
    assert [advice.attempt for advice in ledger.active(NOW, "lab")] == [ATTEMPT, OTHER]
    assert ledger.active(NOW, "nowhere") == []


# --- reconciliation ---


def test_a_report_moves_only_the_reconciliation(ledger: Ledger, token: int) -> None:
    advice = make_advice()
    ledger.put_advice(advice)
    reported = ledger.reconcile(advice.advice_id, CONVERGED, token, NOW)
    assert reported == dataclasses.replace(advice, reconciliation=CONVERGED)
    assert ledger.get(advice.advice_id) == reported
    assert ledger.active(NOW) == []


def test_a_pending_report_keeps_the_advice_active(ledger: Ledger, token: int) -> None:
    ledger.put_advice(make_advice())
    pending = Reconciliation(Disposition.PENDING, "waits for the log", 1)
    ledger.reconcile(advice_id(ATTEMPT, 1), pending, token, NOW)
    assert [advice.reconciliation for advice in ledger.active(NOW)] == [pending]


def test_a_report_may_come_twice(ledger: Ledger, token: int) -> None:
    ledger.put_advice(make_advice())
    first = ledger.reconcile(advice_id(ATTEMPT, 1), CONVERGED, token, NOW)
    assert ledger.reconcile(advice_id(ATTEMPT, 1), CONVERGED, token, NOW) == first


@pytest.mark.parametrize("after", [Disposition.PENDING, Disposition.ABANDONED])
def test_an_end_is_final(ledger: Ledger, token: int, after: Disposition) -> None:
    ledger.put_advice(make_advice())
    ledger.reconcile(advice_id(ATTEMPT, 1), CONVERGED, token, NOW)
    with pytest.raises(FinalDispositionError, match=f"found {after} after CONVERGED"):
        ledger.reconcile(advice_id(ATTEMPT, 1), Reconciliation(after, "no", 1), token, NOW)
    assert ledger.get(advice_id(ATTEMPT, 1)) == make_advice(reconciliation=CONVERGED)


def test_a_report_about_an_older_generation_is_ignored(ledger: Ledger, token: int) -> None:
    ledger.put_advice(make_advice())
    ledger.put_advice(make_advice(generation=2))
    with pytest.raises(SupersededError, match="expected one about generation 2"):
        ledger.reconcile(advice_id(ATTEMPT, 1), CONVERGED, token, NOW)
    with pytest.raises(SupersededError, match="found a report about generation 1"):
        ledger.reconcile(advice_id(ATTEMPT, 2), CONVERGED, token, NOW)
    assert ids(ledger.active(NOW)) == [advice_id(ATTEMPT, 2)]
    assert ledger.get(advice_id(ATTEMPT, 1)) == make_advice()


@pytest.mark.parametrize("observed", [None, 2])
def test_a_report_names_a_generation_that_exists(
    ledger: Ledger, token: int, observed: int | None
) -> None:
    ledger.put_advice(make_advice())
    report = dataclasses.replace(CONVERGED, observed_generation=observed)
    with pytest.raises(InputError, match="observed_generation"):
        ledger.reconcile(advice_id(ATTEMPT, 1), report, token, NOW)
    assert ledger.active(NOW) == [make_advice()]


def test_a_report_about_nothing_is_refused(ledger: Ledger, token: int) -> None:
    with pytest.raises(NotFoundError, match="no such Advice"):
        ledger.reconcile(advice_id(ATTEMPT, 1), CONVERGED, token, NOW)


def test_a_report_with_another_token_changes_nothing(ledger: Ledger, token: int) -> None:
    ledger.put_advice(make_advice())
    for wrong in (token - 1, token + 1):
        with pytest.raises(StaleFencingTokenError):
            ledger.reconcile(advice_id(ATTEMPT, 1), CONVERGED, wrong, NOW)
    assert ledger.active(NOW) == [make_advice()]


def test_a_token_counts_for_its_own_cluster(ledger: Ledger, token: int) -> None:
    ledger.put_advice(make_advice(attempt=AWAY))
    with pytest.raises(StaleFencingTokenError, match="a lease of that cluster"):
        ledger.reconcile(advice_id(AWAY, 1), CONVERGED, token, NOW)


def test_a_lost_lease_ends_the_reports_of_its_holder(ledger: Ledger, token: int) -> None:
    ledger.put_advice(make_advice())
    ledger.take_lease("lab", "b", 30, NOW + 31_000_000)
    with pytest.raises(StaleFencingTokenError, match="stop acting"):
        ledger.reconcile(advice_id(ATTEMPT, 1), CONVERGED, token, NOW)


# --- leases ---


def test_the_first_holder_gets_token_one(ledger: Ledger) -> None:
    assert ledger.get_lease("lab") is None
    lease = ledger.take_lease("lab", "a", 30, NOW)
    assert lease == Lease("lab", "a", 1, NOW + 30_000_000, seen_at=NOW)
    assert ledger.get_lease("lab") == lease


def test_a_renewal_keeps_the_token_even_when_late(ledger: Ledger) -> None:
    ledger.take_lease("lab", "a", 30, NOW)
    later = NOW + 3_600_000_000
    renewed = Lease("lab", "a", 1, later + 30_000_000, seen_at=later)
    assert ledger.take_lease("lab", "a", 30, later) == renewed


def test_a_living_lease_is_not_given_away(ledger: Ledger) -> None:
    lease = ledger.take_lease("lab", "a", 30, NOW)
    with pytest.raises(LeaseHeldError, match="the lease of a, alive until"):
        ledger.take_lease("lab", "b", 30, lease.expires_at - 1)
    assert ledger.get_lease("lab") == lease


def test_a_lease_that_ran_out_goes_to_the_next_with_the_next_token(ledger: Ledger) -> None:
    lease = ledger.take_lease("lab", "a", 30, NOW)
    taken = ledger.take_lease("lab", "b", 30, lease.expires_at)
    assert (taken.holder, taken.fencing_token) == ("b", 2)
    ledger.check_fence("lab", 2)
    with pytest.raises(StaleFencingTokenError):
        ledger.check_fence("lab", 1)
    with pytest.raises(LeaseHeldError):
        ledger.take_lease("lab", "a", 30, lease.expires_at)


def test_clusters_have_leases_of_their_own(ledger: Ledger) -> None:
    ledger.take_lease("lab", "a", 30, NOW)
    assert ledger.take_lease("far", "b", 30, NOW).fencing_token == 1


@pytest.mark.parametrize(("cluster", "holder", "ttl"), [("", "a", 1), ("l", "", 1), ("l", "a", 0)])
def test_a_lease_needs_names_and_time(ledger: Ledger, cluster: str, holder: str, ttl: int) -> None:
    with pytest.raises(InputError, match="time to live above 0"):
        ledger.take_lease(cluster, holder, ttl, NOW)


def test_of_many_who_want_the_lease_at_once_one_gets_it(ledger: Ledger) -> None:
    def want(holder: str) -> int:
        try:
            return ledger.take_lease("lab", holder, 30, NOW).fencing_token
        except LeaseHeldError:
            return 0

    with ThreadPoolExecutor(8) as pool:
        tokens = sorted(pool.map(want, map(str, range(16))))
    assert tokens == [0] * 15 + [1]


STEP = st.tuples(st.sampled_from("abc"), st.integers(0, 40), st.integers(1, 20))


@given(steps=st.lists(STEP, max_size=20))
def test_tokens_only_grow_and_no_two_holders_share_one(
    fence: Store, steps: list[tuple[str, int, int]]
) -> None:
    now, last = NOW, 0
    owners: dict[int, str] = {}
    with fence.writing() as connection:
        for holder, pause, ttl in steps:
            now += pause * 1_000_000
            try:
                lease = take(connection, wanted("lab", holder, ttl, now), now)
            except LeaseHeldError:
                continue
            assert lease.fencing_token >= last
            assert owners.setdefault(lease.fencing_token, holder) == holder
            last = lease.fencing_token
        assert sorted(owners) == list(range(1, last + 1))
        connection.rollback()


@pytest.fixture(scope="module")
def fence(place: Place) -> Iterator[Store]:
    """A database without leases, before and after each example."""
    store = Store.open(place.new(), place.access)
    yield store
    store.close()


# --- attempts ---


def test_an_attempt_is_read_back_whole(ledger: Ledger) -> None:
    record = make_attempt(landed=Landed(10, complete=True, fsynced=True), first_step=1, last_step=9)
    ledger.put_attempt(record)
    assert ledger.get_attempt(ATTEMPT) == record
    assert ledger.attempts() == [record]


def test_a_later_record_replaces_the_earlier_one(ledger: Ledger) -> None:
    ledger.put_attempt(make_attempt())
    ledger.put_attempt(make_attempt(state="FAILED", ended=True, run="sonnet"))
    assert [one.state for one in ledger.attempts()] == ["FAILED"]
    assert (ledger.tries("opus"), len(ledger.tries("sonnet"))) == ([], 1)


def test_attempts_that_go_on_and_those_that_have_ended(ledger: Ledger) -> None:
    going, over = make_attempt(attempt=OTHER), make_attempt(ended=True)
    ledger.put_attempts([going, over])
    assert ledger.attempts() == [over, going]
    assert ledger.attempts(active=True) == [going]
    assert ledger.attempts(active=False) == [over]


def test_of_several_attempts_all_are_written_or_none(ledger: Ledger) -> None:
    with pytest.raises(InputError, match="identity"):
        ledger.put_attempts([make_attempt(), make_attempt(attempt="123")])
    assert ledger.attempts() == []


def test_the_short_form_means_the_newest_job_with_that_id(ledger: Ledger) -> None:
    reused = make_attempt(attempt="lab/123@1767999999.0")
    task = make_attempt(attempt="lab/123_4@1767323045.2")
    ledger.put_attempts(
        [make_attempt(), make_attempt(attempt="lab/123@1767323045.1"), reused, task]
    )
    assert ledger.get_attempt("123-0") == reused
    assert ledger.get_attempt("123-1") is None  # of an older job
    assert ledger.get_attempt("123_4-2") == task
    assert ledger.get_attempt("99-0") is None
    assert ledger.get_attempt(ATTEMPT) == make_attempt()
    with pytest.raises(InputError, match="job_id-restart_count"):
        ledger.get_attempt("newest")
    with pytest.raises(InputError, match="first_submit_epoch"):
        ledger.get_attempt("lab/newest")


def test_the_newest_attempt_of_a_job_id(ledger: Ledger) -> None:
    names = ["lab/123@9.9", ATTEMPT, "lab/123@1767323045.10", "lab/123@1767323045.9", AWAY]
    ledger.put_attempts([make_attempt(attempt=name) for name in names])
    newest = ledger.newest_attempt("lab", "123")
    assert newest is not None
    assert newest.attempt == "lab/123@1767323045.10"
    assert ledger.newest_attempt("lab", "12") is None


def test_tries_are_the_attempts_of_a_run_with_their_newest_advice(
    ledger: Ledger, token: int
) -> None:
    second = "lab/123@1767323045.1"
    ledger.put_attempts(
        [
            make_attempt(attempt=second, fingerprint="f2"),
            make_attempt(ended=True, fingerprint="f1", first_step=3, last_step=7),
            make_attempt(attempt=OTHER, run="another"),
        ]
    )
    ledger.put_advice(make_advice(settled=False, decided_at=None, operation=Operation.HOLD))
    ledger.put_advice(make_advice(generation=2))
    first = AttemptOutcome(
        attempt=ATTEMPT,
        user=None,
        ended=True,
        fingerprint="f1",
        first_step=3,
        last_step=7,
        operation=Operation.RESTART,
        settled=True,
        disposition=Disposition.PENDING,
    )
    assert ledger.tries("opus") == [
        first,
        AttemptOutcome(second, None, False, "f2", None, None, None, None, None),  # noqa: FBT003
    ]
    report = dataclasses.replace(CONVERGED, observed_generation=2)
    ledger.reconcile(advice_id(ATTEMPT, 2), report, token, NOW)
    converged = dataclasses.replace(first, disposition=Disposition.CONVERGED)
    assert ledger.tries("opus")[0] == converged


def test_tries_of_an_unknown_run_are_none(ledger: Ledger) -> None:
    assert ledger.tries("opus") == []


# --- milestones ---


def test_the_first_report_of_a_milestone_stands(ledger: Ledger) -> None:
    assert ledger.put_milestone(ATTEMPT, Milestone.FINISHED, event_time=9)
    assert not ledger.put_milestone(ATTEMPT, Milestone.FINISHED, event_time=10)
    assert ledger.milestones(ATTEMPT) == [MilestoneRecord(ATTEMPT, Milestone.FINISHED, None, 9)]


def test_milestones_come_in_the_order_of_their_times(ledger: Ledger) -> None:
    ledger.put_advice(make_advice())
    cause = advice_id(ATTEMPT, 1)
    ledger.put_milestone(ATTEMPT, Milestone.PROGRESS_RESTORED, event_time=20, advice_id=cause)
    ledger.put_milestone(ATTEMPT, Milestone.ALLOCATION_RESTARTED, event_time=10)
    ledger.put_milestone(OTHER, Milestone.FINISHED, event_time=5)
    assert [(one.event_time, one.advice_id) for one in ledger.milestones(ATTEMPT)] == [
        (10, None),
        (20, cause),
    ]


def test_a_milestone_of_unknown_advice_or_attempt_is_refused(ledger: Ledger) -> None:
    with pytest.raises(NotFoundError):
        ledger.put_milestone(ATTEMPT, Milestone.FINISHED, event_time=1, advice_id="x")
    with pytest.raises(InputError, match="identity"):
        ledger.put_milestone("123-0", Milestone.FINISHED, event_time=1)
    assert ledger.milestones(ATTEMPT) == []


# --- cursors ---


def test_the_last_position_of_each_source_counts(ledger: Ledger) -> None:
    ledger.put_cursor("a", "1")
    ledger.put_cursors({"a": "2", "b": '{"offset": 5}'})
    assert ledger.get_cursor("a") == "2"
    assert ledger.get_cursor("c") is None
    assert ledger.cursors() == {"a": "2", "b": '{"offset": 5}'}


def test_a_dropped_source_is_new_again(ledger: Ledger) -> None:
    ledger.put_cursors({"a": "1", "b": "2"})
    ledger.drop_cursors(["a", "never seen"])
    assert ledger.get_cursor("a") is None
    assert ledger.cursors() == {"b": "2"}


# --- the ledger itself ---


def test_everything_is_there_after_opening_again(place: Place) -> None:
    name = place.new()
    with place.open(name) as ledger:
        ledger.put_advice(make_advice())
        ledger.put_attempt(make_attempt())
        ledger.put_cursor("a", "1")
        ledger.put_milestone(ATTEMPT, Milestone.FINISHED, event_time=1)
        token = ledger.take_lease("lab", "a", 30, NOW).fencing_token
        ledger.reconcile(advice_id(ATTEMPT, 1), CONVERGED, token, NOW)
    with place.open(name) as ledger:
        ledger.ping()
        assert ledger.get(advice_id(ATTEMPT, 1)) == make_advice(reconciliation=CONVERGED)
        assert ledger.attempts() == [make_attempt()]
        assert ledger.cursors() == {"a": "1"}
        assert len(ledger.milestones(ATTEMPT)) == 1
        ledger.check_fence("lab", token)


def test_many_threads_write_and_read_at_once(ledger: Ledger) -> None:
    def work(number: int) -> bool:
        attempt = f"lab/{number}@1767323045.0"
        written = ledger.put_advice(make_advice(attempt=attempt))
        return written and ledger.newest(attempt) is not None

    with ThreadPoolExecutor(8) as pool:
        assert all(pool.map(work, range(40)))
    assert len(ledger.active(NOW)) == 40


def test_many_may_open_a_new_ledger_at_once(place: Place) -> None:
    name = place.new()

    def work(number: int) -> bool:
        with place.open(name) as ledger:
            return ledger.put_advice(make_advice(attempt=f"lab/{number}@1767323045.0"))

    with ThreadPoolExecutor(6) as pool:
        assert all(pool.map(work, range(12)))


def test_processes_write_at_once_and_nothing_is_lost_or_doubled(place: Place) -> None:
    url, names = place.new(), ("a", "b", "c")
    password = str(place.access.password_file or "")
    started = [
        subprocess.Popen(
            [sys.executable, ledger_worker.__file__, url, password, name],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            text=True,
        )
        for name in names
    ]
    for one in started:
        assert one.stdin is not None
        one.stdin.write("go\n")
        one.stdin.flush()
    told = [json.loads(one.communicate()[0]) for one in started]
    rounds = ledger_worker.ROUNDS
    assert sum(new for new, _ in told) == rounds
    tokens = [token for _, mine in told for token in set(mine)]
    assert sorted(tokens) == list(range(1, len(tokens) + 1))  # no two had the same one
    with place.open(url) as ledger:
        assert len(ledger.active(NOW)) == rounds
        for number in range(rounds):
            labels = ledger.standing(ledger_worker.advice_of(number).advice_id).labels
            assert sorted(one.who for one in labels) == list(names)
        assert ledger.cursors() | {"shared": "a"} == {
            "shared": "a",
            **dict.fromkeys(names, str(rounds - 1)),
        }
        verified = ledger.verify()
        assert verified.broken is None
        assert verified.rows == rounds * len(names) + len(tokens)


def test_other_scopes_are_kept(ledger: Ledger) -> None:
    advice = make_advice(scope=Scope.NODE, operation=Operation.OBSERVE, exclude_nodes=("node3",))
    ledger.put_advice(advice)
    assert ledger.active(NOW) == [advice]
