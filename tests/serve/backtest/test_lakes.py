from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

from living import Live, aftermath_of, analyzer
from recording import SECOND, judging
from relume.advice import comparable
from relume.events import SchedulerEvent
from relume.identity import AttemptId
from relume.ingest.lake import LakeReader
from relume.serve.backtest.lakes import entry_of, is_live
from relume.serve.backtest.live import replay_live
from relume.serve.backtest.results import Results
from relume.serve.backtest.run import Recording
from relume.serve.backtest.worth import worth_of
from relume.serve.ledger import Ledger, sqlite_url
from relume.verdict import Kind

ATTEMPT = "lab/7@100.0"


@pytest.fixture
def live(tmp_path: Path) -> Iterator[Live]:
    service = Live(tmp_path / "service")
    yield service
    service.close()


def told(state: str, time: int | None, **changes: object) -> SchedulerEvent:
    given = {"source": "slurm", "attempt": ATTEMPT, "state": state, "event_time": time}
    return SchedulerEvent(**(given | changes))  # type: ignore[arg-type]


def test_a_lake_of_a_service_gives_the_advice_of_the_service(live: Live, tmp_path: Path) -> None:
    live.tell(live.job())
    live.train(30)
    live.write("Traceback (most recent call last):", "ValueError: shapes")
    live.tick(2)
    live.tell(live.end_of(0))
    live.tick(15)
    live.session.flush()
    written = [comparable(one) for one in live.written()]
    assert written
    reader = LakeReader(live.path / "lake")
    assert is_live(reader)
    unit, found = replay_live(reader, analyzer(), live.options.watch, "UTC")
    [source] = unit.attempts
    again = found[source.entry.attempt]
    assert [comparable(one.advice) for one in again.findings] == written
    assert (source.entry.state, again.extent.is_timed) == ("FAILED", True)
    assert again.verdict is not None
    assert again.verdict.kind is Kind.CRASH
    recording = Recording(live.path / "lake")
    again_file = sqlite_url(tmp_path / "again.db")
    with (
        Results(tmp_path / "out", recording.about(judging())) as results,
        Ledger.open(again_file) as ledger,
    ):
        for _ in range(2):  # the second time there is nothing to do
            recording.replay(judging(), results, note=ledger.write)
        assert aftermath_of(ledger) == live.aftermath() != []
        [result] = results.read()
        worth = worth_of(recording, results.read())
    assert [one.state for one in result.attempts] == ["FAILED"]
    [one] = worth.lives.attempts
    assert one.eligible == AttemptId.parse(one.name).job_key.first_submit_time
    assert one.has_steps
    assert one.alarm == again.decisions[0].advice.created_at  # which the service wrote then
    assert sum(worth.goodput.shares.values()) == pytest.approx(1, abs=1e-9)


def test_what_the_scheduler_said_is_put_together() -> None:
    entry = entry_of(
        ATTEMPT,
        [
            told("RUNNING", 5 * SECOND, nodes=("n1", "n2")),
            told("RUNNING", 9 * SECOND, nodes=("n1", "n2")),
            told("FAILED", 11 * SECOND, exit_code=3, user="u1"),
        ],
    )
    assert (entry.start, entry.end, entry.state) == (5 * SECOND, 11 * SECOND, "FAILED")
    assert (entry.nodes, entry.exit_code, entry.user) == (("n1", "n2"), 3, "u1")


@pytest.mark.parametrize(
    ("events", "state", "end"),
    [
        ([], None, None),
        ([told("RUNNING", 5)], "RUNNING", None),
        ([told("RUNNING", 5), told("RUNNING", 8)], "RUNNING", 8),
        ([told("RUNNING", 5), told("RUNNING", 5)], "RUNNING", None),
        ([told("RUNNING", 5), told("SUSPENDED", 7), told("RUNNING", 9)], "RUNNING", 9),
        ([told("RUNNING", 5), told("SUSPENDED", 7)], "RUNNING", None),
        ([told("RUNNING", None), told("UNKNOWN", None)], None, None),
        ([told("RUNNING", 5), told("UNKNOWN", 8)], None, 8),
    ],
)
def test_where_it_says_nothing_nothing_is_known(
    events: list[SchedulerEvent], state: str | None, end: int | None
) -> None:
    entry = entry_of(ATTEMPT, events)
    assert (entry.state, entry.end) == (state, end)
