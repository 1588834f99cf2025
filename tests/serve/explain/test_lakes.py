"""Attempts of lakes are explained as they were judged: live ones by the ticks of the service."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from living import Live
from recording import SECOND, START, clock, entry, judging, logged, recorded
from relume.advice import comparable
from relume.ingest.importing.importer import import_units
from relume.ingest.importing.sources import units_of
from relume.ingest.lake import LakeWriter
from relume.models.hang.detector import Level
from relume.serve.backtest.run import Judging, Recording
from relume.serve.explain.explain import explain
from relume.serve.offline import Analyzer


@pytest.fixture
def live(tmp_path: Path) -> Live:
    return Live(tmp_path / "service")


def test_a_silence_of_a_live_job_is_told_with_the_advice_of_that_day(live: Live) -> None:
    live.tell(live.job())
    live.train(30)
    for _ in range(20):
        live.tick(20)
        live.tell(live.job())
    live.tell(live.end_of(0, "CANCELLED"))
    live.tick(15)
    live.session.flush()
    written = [comparable(one) for one in live.written()]
    lake = live.path / "lake"
    live.close()
    judge = Judging(analyzer=Analyzer(), settings=live.options.watch)
    one = explain(Recording(lake), "7", judge)
    longest = one.seen.silences[0]
    assert (longest.level, longest.ended) == (Level.ACTIONABLE, False)
    assert longest.seconds == pytest.approx(400, abs=20)
    assert written
    assert [comparable(advice) for advice in one.seen.advice] == written


def test_an_imported_attempt_is_explained_as_that_of_its_data_set(tmp_path: Path) -> None:
    folder = tmp_path / "data"
    folder.mkdir()
    times = [*range(60), *range(500, 560)]
    made = [f"[{clock(at)}] iter {n}: loss 3.9, time 1000.00ms" for n, at in enumerate(times)]
    log = logged(folder, "7.out", made)
    fields: dict[str, Any] = {"files": (log,), "start": START, "end": START + 562 * SECOND}
    recorded(folder, entry(**fields, state="COMPLETED", exit_code=0))
    with LakeWriter(tmp_path / "lake") as lake:
        assert not import_units(lake, units_of([folder])).refused
    of_data, of_lake = (
        explain(Recording(tmp_path / name), "7-0", judging()) for name in ("data", "lake")
    )
    assert of_lake.seen.silences == of_data.seen.silences
    assert of_lake.seen.silences[0].level is Level.ACTIONABLE
    assert [comparable(one) for one in of_lake.seen.advice] == [
        comparable(one) for one in of_data.seen.advice
    ]
