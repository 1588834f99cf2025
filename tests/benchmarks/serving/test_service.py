"""A real service process: started, asked, killed, started again, all of it in its folder."""

from __future__ import annotations

from pathlib import Path

from relume.benchmarks.serving import CLUSTER, ServiceProcess, running_job, snapshot_of
from relume.clock import SystemClock


def test_a_service_answers_takes_a_snapshot_and_comes_back(tmp_path: Path) -> None:
    with ServiceProcess(tmp_path, {"serve": {"mode": "act"}}) as service:
        now = SystemClock().now()
        snapshot = snapshot_of(CLUSTER, now, [running_job(7, now - 5_000_000)])
        assert list(service.report(snapshot)) == ["7"]
        assert service.anonymous_bytes() > 0
        assert service.cpu_seconds() > 0
        service.kill()
        assert not service.answers()
        assert (service.anonymous_bytes(), service.cpu_seconds()) == (0, 0.0)
        service.start()
        attempts = service.client.get("/v1/attempts").json()["attempts"]
        assert [one["job_id"] for one in attempts] == ["7"]
        service.stop()
    assert "mode act" in (tmp_path / "serve.log").read_text()
