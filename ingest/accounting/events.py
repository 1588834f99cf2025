"""What accounting says, as attempts and as the scheduler's events."""

from __future__ import annotations

import heapq
from collections.abc import Iterable, Iterator

from relume.errors import InputError
from relume.events import SchedulerEvent
from relume.identity import AccountingRow as Identified
from relume.identity import AttemptChains, AttemptId, requeued_at_once
from relume.ingest.accounting.order import by_submit_time
from relume.ingest.accounting.row import AccountingRow
from relume.ingest.accounting.states import ENDS
from relume.ingest.skips import SkipCounts

SOURCE = "sacct"


def identify(
    rows: Iterable[AccountingRow], cluster: str, skipped: SkipCounts
) -> Iterator[tuple[AttemptId, AccountingRow]]:
    """Yield each attempt with its row, by submit time.

    The row says which cluster it is of, where it has that column. Of several rows of one attempt
    (asked for again) the one that tells most of its end counts. Every row is an attempt or is
    counted. Holds one row of each job that Slurm has taken back into its queue, and what
    `by_submit_time` holds.

    Parameters
    ----------
    rows
        The whole history of each job, in any order.
    cluster
        Slurm's ClusterName, for rows that don't say it.
    skipped
        Where is counted what is no attempt (`sacct_no_attempt`), or one of another row
        (`sacct_row_again`).
    """
    chains: dict[str, AttemptChains] = {}
    for row in _distinct(by_submit_time(rows), skipped):
        name = row.cluster or cluster
        chain = chains.setdefault(name, AttemptChains(name))
        attempt = None if row.submit is None else _attempt(chain, row, row.submit)
        if attempt is None:
            skipped.add("sacct_no_attempt")
        else:
            yield attempt, row


def to_scheduler_events(
    rows: Iterable[AccountingRow], cluster: str, skipped: SkipCounts
) -> Iterator[SchedulerEvent]:
    """Yield the events of each attempt in the order of their times: RUNNING, then how it ended.

    An attempt that never started has one event, one that isn't over none of its end. An event
    whose time isn't known comes where its attempt began, or was submitted.

    Holds, besides what `identify` does, the events of the attempts that were submitted and not over
    at the time it has come to: as many as run and wait at once, not as many as the file has.

    Parameters
    ----------
    rows, cluster, skipped
        As for `identify`.

    Examples
    --------
    >>> row = AccountingRow("7", "FAILED", exit_code=1, submit=0, start=2_000_000, end=9_000_000)
    >>> for event in to_scheduler_events([row], "lab", SkipCounts()):
    ...     print(event.event_time, event.attempt, event.state, event.exit_code)
    2000000 lab/7@0.0 RUNNING None
    9000000 lab/7@0.0 FAILED 1
    """
    waiting: list[tuple[int, int, SchedulerEvent]] = []
    number = 0
    for attempt, row in identify(rows, cluster, skipped):
        submit = row.submit or 0
        begin = max(submit, row.start or 0)
        while waiting and waiting[0][0] < submit:  # nothing that comes later is before this
            yield heapq.heappop(waiting)[2]
        for event in events_of(attempt, row):
            time = begin if event.event_time is None else event.event_time
            number += 1
            heapq.heappush(waiting, (max(time, submit), number, event))
    while waiting:
        yield heapq.heappop(waiting)[2]


def events_of(attempt: AttemptId, row: AccountingRow) -> list[SchedulerEvent]:
    """Return the events of one attempt: its start where it has one, its end where it is over."""
    found = []
    if row.start is not None:
        found.append(_event(attempt, row, event_time=row.start, state="RUNNING"))
    if row.state in ENDS:
        ended = _event(attempt, row, event_time=row.end, state=row.outcome, over=True)
        found.append(ended)
    return found


def _attempt(chain: AttemptChains, row: AccountingRow, submit: int) -> AttemptId | None:
    """Return which attempt a row is; null for tasks of an array that wait together."""
    try:
        return chain.add(Identified(row.job_id, submit, row.end, row.state))
    except InputError:
        return None


def _event(
    attempt: AttemptId,
    row: AccountingRow,
    *,
    event_time: int | None,
    state: str,
    over: bool = False,
) -> SchedulerEvent:
    return SchedulerEvent(
        source=SOURCE,
        cluster=attempt.job_key.cluster,
        event_time=event_time,
        attempt=str(attempt),
        state=state,
        nodes=row.nodes,
        exit_code=row.exit_code if over else None,
        signal=row.signal if over else None,
        reason=row.reason if over else None,
        time_limit_seconds=row.time_limit_seconds,
        comment=row.comment,
        user=row.user,
        num_nodes=row.num_nodes,
        name=row.name,
        gpus=row.gpus,
        eligible_time=row.eligible,
        partition=row.partition,
    )


def _distinct(rows: Iterable[AccountingRow], skipped: SkipCounts) -> Iterator[AccountingRow]:
    """Take out all but the best row of each attempt: they come one after another.

    An attempt that was requeued in the second of its submission comes before the next one, which
    has the same submit time.
    """
    together: dict[tuple[bool, str | None, str], AccountingRow] = {}
    submit: int | None = None
    for row in rows:
        if row.submit != submit:
            yield from _in_turn(together)
            together, submit = {}, row.submit
        if row.submit is None:
            yield row  # nobody can tell whether it is another one
            continue
        key = (not requeued_at_once(row.state, row.submit, row.end), row.cluster, row.job_id)
        if key in together:
            skipped.add("sacct_row_again")
        together[key] = max(together.get(key, row), row, key=_tells)
    yield from _in_turn(together)


def _in_turn(
    together: dict[tuple[bool, str | None, str], AccountingRow],
) -> Iterator[AccountingRow]:
    for key in sorted(together, key=lambda key: key[0]):
        yield together[key]


def _tells(row: AccountingRow) -> tuple[bool, int, int, int]:
    """Sort key: of two rows of one attempt the greater one was printed later, or with more."""
    return row.state in ENDS, row.end or 0, row.start or 0, row.steps.count
