"""The journal: what was written is remembered, after a kill and a restart too."""

from __future__ import annotations

import sqlite3
from collections.abc import Iterator
from pathlib import Path

import pytest

from controlling import KEY, NOW, SECOND, T1, advise, seen
from relume import filesystems
from relume.advice import Advice, Disposition, Operation
from relume.controller.facts import Accepted, Action, Memory, Outcome
from relume.controller.journal import RETENTION, Journal
from relume.controller.limits import DAY
from relume.controller.steps import Step
from relume.errors import ConfigError, UnreachableError
from relume.identity import AttemptId, JobKey

ATTEMPT = f"{KEY}.0"


@pytest.fixture
def journal(fast_path: Path) -> Iterator[Journal]:
    journal = Journal(fast_path / "journal.sqlite")
    yield journal
    journal.close()


def memory(journal: Journal, *advice: Advice, now: int = NOW) -> Memory:
    return journal.memory("lab", ["7"], advice, now)


def step(action: Action = Action.HOLD, attempt: str = ATTEMPT) -> Step:
    return Step(action=action, job_id="7", attempt=attempt, reason="words", advice_id="id")


def test_nothing_is_remembered_at_first(journal: Journal) -> None:
    assert memory(journal) == Memory()


def test_it_knows_since_when_it_remembers(journal: Journal) -> None:
    journal.born(NOW)
    journal.born(NOW + 1)
    assert memory(journal).born_at == NOW


def test_sightings_are_replaced_and_come_in_order(journal: Journal) -> None:
    other = seen(key=JobKey("lab", "7", T1), submit_time=T1)
    for one in (other, seen(1), seen(running_at=None), seen()):
        journal.see(one, NOW)
    journal.see(seen(key=JobKey("lab", "8", T1)), NOW)
    journal.see(seen(key=JobKey("else", "7", T1)), NOW)
    assert memory(journal).sightings == {"7": (seen(), seen(1), other)}


def test_an_intent_counts_before_its_outcome_is_known(journal: Journal) -> None:
    deed_id = journal.intend(step(), ["scontrol", "requeuehold", "7"], NOW)
    (deed,) = memory(journal).deeds[ATTEMPT]
    assert (deed.action, deed.outcome, deed.intended_at) == (Action.HOLD, Outcome.UNKNOWN, NOW)
    assert memory(journal).did(ATTEMPT, Action.HOLD) == deed
    journal.result(deed_id, Outcome.REFUSED, "no", NOW + 1)
    journal.read_back(deed_id, "RUNNING")
    (deed,) = memory(journal).deeds[ATTEMPT]
    assert (deed.outcome, deed.words, deed.reason) == (Outcome.REFUSED, "no", "words")
    assert memory(journal).did(ATTEMPT, Action.HOLD) is None


def test_everything_survives_a_restart(fast_path: Path) -> None:
    path = fast_path / "journal.sqlite"
    first = Journal(path)
    first.see(seen(), NOW)
    first.accept(advise(), NOW)
    first.intend(step(), [], NOW)
    first.milestone("about", b"{}")
    before = memory(first), first.unsent(9)
    # Not closed, as after a kill; another process reads what is on the disk.
    second = Journal(path, read_only=True)
    assert (memory(second), second.unsent(9)) == before
    second.close()
    first.close()
    third = Journal(path)
    assert (memory(third), third.unsent(9)) == before
    third.close()


def test_advice_is_open_until_it_is_finished_and_reported(journal: Journal) -> None:
    advice = advise()
    journal.accept(advice, NOW)
    journal.accept(advice, NOW + 1)
    assert memory(journal).accepted == {advice.advice_id: Accepted(advice, NOW)}
    journal.finish(advice, Disposition.ABANDONED, "x" * 5000, NOW + 2)
    assert memory(journal).accepted == {}
    closed = {advice.advice_id: Accepted(advice, NOW, closed=True)}
    assert memory(journal, advice).accepted == closed
    (message,) = journal.unsent(9)
    assert (message.kind, message.about) == ("reconciliation", advice.advice_id)
    assert len(message.body) < 2100
    journal.sent(message.message_id, "taken", NOW)
    assert journal.unsent(9) == []
    journal.finish(advice, Disposition.CONVERGED, None, NOW + 3)
    assert journal.unsent(9) == [], "what was reported once is not reported again"


def test_a_newer_generation_ends_the_older_ones(journal: Journal) -> None:
    old, new = advise(settled=False), advise(Operation.STOP)
    journal.accept(old, NOW)
    journal.accept(new, NOW)
    assert set(memory(journal).accepted) == {new.advice_id}
    journal.finish(new, Disposition.CONVERGED, None, NOW)
    assert memory(journal).accepted == {}


def test_messages_come_in_order_and_once(journal: Journal) -> None:
    for about in ("b", "a", "b"):
        journal.milestone(about, about.encode())
    assert [one.about for one in journal.unsent(9)] == ["b", "a"]
    assert [one.about for one in journal.unsent(1)] == ["b"]


def test_the_nodes_of_a_run_are_those_of_its_users_jobs(journal: Journal) -> None:
    journal.see(seen(nodes=("node1",)), NOW)
    journal.see(seen(key=JobKey("lab", "6", T1), nodes=("node6",)), NOW)
    journal.see(seen(key=JobKey("lab", "5", T1), nodes=("node5",), user="eve"), NOW)
    journal.see(seen(key=JobKey("lab", "4", T1), nodes=("node4",), run="other"), NOW)
    journal.see(seen(key=JobKey("lab", "7", T1), nodes=("node7",), run="older"), NOW)
    excluding = advise(Operation.RESTART_EXCLUDING)
    assert memory(journal, excluding).run_nodes == {KEY: {"node1", "node6"}}
    assert memory(journal, advise()).run_nodes == {}


def test_nodes_of_an_older_job_under_the_same_id_are_not_the_runs(journal: Journal) -> None:
    older = JobKey("lab", "7", KEY.first_submit_time - 1000 * SECOND)
    journal.see(seen(), NOW)
    journal.see(seen(key=older, user="bob", run="b", nodes=("node8",)), NOW)
    both = [
        advise(Operation.RESTART_EXCLUDING, attempt=f"{one}.0", exclude_nodes=("node8",))
        for one in (KEY, older)
    ]
    nodes = journal.memory("lab", ["7"], both, NOW).run_nodes
    assert nodes == {KEY: {"node1", "node2"}, older: {"node8"}}


def test_attempts_are_counted_within_a_day(journal: Journal) -> None:
    old = NOW - DAY
    journal.intend(step(Action.RELEASE, f"{KEY}.9"), [], old)
    journal.intend(step(Action.HOLD), [], NOW - 5)
    journal.intend(step(Action.RELEASE), [], NOW - 3)
    journal.intend(step(Action.RELEASE), [], NOW - 2)
    journal.intend(step(Action.MARK, f"{KEY}.1"), [], NOW)
    journal.intend(step(Action.EXCLUDE, f"{KEY}.2"), [], NOW)
    refused = journal.intend(step(Action.HOLD, f"{KEY}.3"), [], NOW)
    journal.result(refused, Outcome.REFUSED, "", NOW)
    journal.helper_held(AttemptId(KEY, 4), NOW)
    found = memory(journal)
    assert found.tried == {ATTEMPT: NOW - 5}
    assert found.restarts == {str(KEY): (NOW - 5,)}
    (helped,) = found.deeds[f"{KEY}.4"]
    assert (helped.by, helped.outcome) == ("epilog", Outcome.DONE)


def test_what_is_old_is_forgotten_unless_it_is_needed(journal: Journal) -> None:
    journal.see(seen(), NOW)
    journal.intend(step(), [], NOW)
    journal.accept(advise(), NOW)
    journal.milestone("about", b"")
    journal.prune(NOW + RETENTION)
    assert memory(journal).sightings
    journal.prune(NOW + RETENTION + 1)
    found = memory(journal, now=NOW + RETENTION + 1)
    assert (found.sightings, found.deeds) == ({}, {})
    assert found.accepted
    assert journal.unsent(9)


def test_a_reader_does_not_write(fast_path: Path) -> None:
    path = fast_path / "journal.sqlite"
    Journal(path).close()
    reader = Journal(path, read_only=True)
    with pytest.raises(UnreachableError, match="readonly"):
        reader.see(seen(), NOW)
    reader.close()
    with pytest.raises(UnreachableError, match="found no such file; expected the journal"):
        Journal(fast_path / "none.sqlite", read_only=True)


def test_other_files_are_refused(fast_path: Path) -> None:
    (fast_path / "a").write_text("no database, but long enough to be looked at as one" * 9)
    with pytest.raises(UnreachableError, match="not a database"):
        Journal(fast_path / "a")
    newer = sqlite3.connect(fast_path / "b")
    newer.execute("PRAGMA user_version = 99")
    newer.close()
    with pytest.raises(ConfigError, match="version 99; expected version 1"):
        Journal(fast_path / "b")


def test_a_network_filesystem_is_refused(fast_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """No such filesystem can be mounted here: the list of mounts is what is made up."""
    table = fast_path / "mounts"
    table.write_text("fs:/x / nfs4 rw 0 0\n")
    monkeypatch.setattr(filesystems, "MOUNTS", table)
    with pytest.raises(ConfigError, match=r"controller\.folder .*type nfs4"):
        Journal(fast_path / "journal.sqlite")
    assert list(fast_path.iterdir()) == [table]


def test_deeds_on_other_jobs_are_left_out(journal: Journal) -> None:
    other = Step(action=Action.HOLD, job_id="8", attempt="lab/8@1.0", reason="")
    journal.intend(other, [], NOW - SECOND)
    assert memory(journal).deeds == {}
    assert memory(journal).tried == {"lab/8@1.0": NOW - SECOND}
