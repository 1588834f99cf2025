"""A scan of lakes: of recordings, and of what a service landed."""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path

import pytest
from typer.testing import CliRunner

from living import Live
from relume.benchmarks.demo.corpus import SEED
from relume.benchmarks.demo.lake import demo_lake
from relume.cli import app


@pytest.fixture
def live(tmp_path: Path) -> Iterator[Live]:
    service = Live(tmp_path / "service")
    yield service
    service.close()


def test_what_a_service_landed_is_judged_as_it_was(live: Live) -> None:
    live.tell(live.job())
    live.train(30)
    live.write("Traceback (most recent call last):", "ValueError: shapes")
    live.tick(2)
    live.tell(live.end_of(0))
    live.tick(15)
    live.session.flush()
    result = CliRunner().invoke(app, ["scan", "--lake", str(live.path / "lake"), "--jsonl"])
    assert result.exit_code == 1
    [record] = [json.loads(line) for line in result.stdout.splitlines()]
    [*_, written] = live.written()
    assert (record["attempt"], record["state"]) == (written.attempt, "FAILED")
    assert record["operation"] == written.operation
    assert record["cause"] == written.cause
    assert len(record["logs"]) == 1
    assert record["missing_logs"] == []


def test_recordings_are_picked_by_job_and_user(tmp_path: Path) -> None:
    lake = demo_lake(tmp_path, [SEED])

    def scan(*arguments: str) -> list[dict[str, object]]:
        result = CliRunner().invoke(app, ["scan", "--lake", str(lake), "--jsonl", *arguments])
        return [json.loads(line) for line in result.stdout.splitlines()]

    found = scan("--all")
    users = {str(one["user"]) for one in found}
    assert len(users) > 1
    user = min(users)
    assert scan("--all", "-u", user) == [one for one in found if one["user"] == user]
    job_id = str(found[0]["attempt"]).split("/")[1].split("@")[0]
    assert [one["attempt"] for one in scan("--all", "-j", job_id)] == [found[0]["attempt"]]
    assert scan("--all", "-E", "2020-01-01") == []
