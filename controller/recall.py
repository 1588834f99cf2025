"""What the journal remembers, read back into plain values."""

from __future__ import annotations

import sqlite3
from collections.abc import Iterable, Iterator
from contextlib import suppress

import msgspec

from relume.advice import Advice
from relume.controller.facts import Accepted, Action, Deed, Memory, Outcome, Sighting
from relume.controller.limits import DAY
from relume.errors import InputError
from relume.identity import AttemptId, JobKey


def recall(
    database: sqlite3.Connection,
    cluster: str,
    job_ids: Iterable[str],
    advice: list[Advice],
    now: int,
) -> Memory:
    """Return what is remembered of these jobs, of this Advice, and of all that is open."""
    ids = to_text(sorted(set(job_ids)))
    tried = _tried(database, now)
    accepted = _accepted(database, to_text(sorted({one.advice_id for one in advice})))
    wanted = {*_excluding(advice), *_excluding(one.advice for one in accepted.values())}
    return Memory(
        sightings=_sightings(database, cluster, ids),
        deeds=_deeds(database, ids),
        accepted=accepted,
        run_nodes={key: _nodes(database, key) for key in wanted},
        tried={attempt: moment for attempt, moment, _ in tried},
        restarts=_restarts(tried),
        born_at=_born_at(database),
    )


def _excluding(advice: Iterable[Advice]) -> Iterator[JobKey]:
    """Only where nodes are to be excluded is it asked which ones the run used."""
    for one in advice:
        if one.exclude_nodes:
            with suppress(InputError):  # reported when it comes to this Advice
                yield AttemptId.parse(one.attempt).job_key


def _sightings(
    database: sqlite3.Connection, cluster: str, ids: str
) -> dict[str, tuple[Sighting, ...]]:
    rows = database.execute(
        "SELECT cluster, job_id, first_submit, restart_count, submit_time, user, run, nodes,"
        " running_at, held_at FROM sightings WHERE cluster = ?"
        " AND job_id IN (SELECT value FROM json_each(?)) ORDER BY first_submit, restart_count",
        (cluster, ids),
    )
    found: dict[str, tuple[Sighting, ...]] = {}
    for row in rows:
        seen = Sighting(
            key=JobKey(*row[:3]),
            restart_count=row[3],
            submit_time=row[4],
            user=row[5],
            run=row[6],
            nodes=_from_text(row[7]),
            running_at=row[8],
            held_at=row[9],
        )
        found[seen.key.job_id] = (*found.get(seen.key.job_id, ()), seen)
    return found


def _deeds(database: sqlite3.Connection, ids: str) -> dict[str, tuple[Deed, ...]]:
    rows = database.execute(
        "SELECT attempt, advice_id, action, intended_at, outcome, by, nodes, reason, words"
        " FROM deeds WHERE job_id IN (SELECT value FROM json_each(?)) ORDER BY deed_id",
        (ids,),
    )
    found: dict[str, tuple[Deed, ...]] = {}
    for row in rows:
        deed = Deed(
            attempt=row[0],
            advice_id=row[1],
            action=Action(row[2]),
            intended_at=row[3],
            outcome=Outcome(row[4]),
            by=row[5],
            nodes=_from_text(row[6]),
            reason=row[7],
            words=row[8] or "",
        )
        found[deed.attempt] = (*found.get(deed.attempt, ()), deed)
    return found


def _accepted(database: sqlite3.Connection, wanted: str) -> dict[str, Accepted]:
    rows = database.execute(
        "SELECT body, accepted_at, closed_at FROM advice WHERE closed_at IS NULL"
        " OR advice_id IN (SELECT value FROM json_each(?)) ORDER BY accepted_at, advice_id",
        (wanted,),
    )
    found = [
        Accepted(msgspec.json.decode(body, type=Advice), accepted_at, closed_at is not None)
        for body, accepted_at, closed_at in rows
    ]
    return {one.advice.advice_id: one for one in found}


def _nodes(database: sqlite3.Connection, key: JobKey) -> frozenset[str]:
    """All nodes of the run, over its jobs and attempts: those of one user only."""
    rows = database.execute(
        "SELECT DISTINCT others.nodes FROM sightings AS one JOIN sightings AS others"
        " USING (cluster, user, run)"
        " WHERE one.cluster = ? AND one.job_id = ? AND one.first_submit = ?",
        (key.cluster, key.job_id, key.first_submit_time),
    )
    return frozenset(node for (nodes,) in rows for node in _from_text(nodes))


def _born_at(database: sqlite3.Connection) -> int | None:
    row = database.execute("SELECT born_at FROM birth").fetchone()
    return None if row is None else int(row[0])


def _tried(database: sqlite3.Connection, now: int) -> list[tuple[str, int, bool]]:
    """Return the attempts meddled with in 24 hours, since when, and whether they were let go."""
    rows = database.execute(
        "SELECT attempt, MIN(intended_at), MAX(action = 'release') FROM deeds"
        " WHERE by = 'controller' AND outcome <> 'refused' AND intended_at > ?"
        " AND action IN ('hold', 'hold running', 'release', 'cancel') GROUP BY attempt",
        (now - DAY,),
    )
    return [(attempt, moment, bool(released)) for attempt, moment, released in rows]


def _restarts(tried: list[tuple[str, int, bool]]) -> dict[str, tuple[int, ...]]:
    found: dict[str, tuple[int, ...]] = {}
    for attempt, moment, released in tried:
        if released:
            key = attempt.rpartition(".")[0]
            found[key] = (*found.get(key, ()), moment)
    return found


def to_text(values: Iterable[str]) -> str:
    """Return texts as the one column that holds them."""
    return msgspec.json.encode(list(values)).decode()


def _from_text(text: str) -> tuple[str, ...]:
    return msgspec.json.decode(text, type=tuple[str, ...])
