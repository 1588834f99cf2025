"""A service process tells a receiver of a job that crashed, by its configuration alone."""

from __future__ import annotations

from pathlib import Path

from receiving import receiving
from relume.benchmarks.serving import CLUSTER, ServiceProcess, running_job, snapshot_of
from relume.clock import SystemClock

PATIENCE_SECONDS = 120.0
CRASH = "RuntimeError: CUDA error: an illegal memory access was encountered\n"


def test_a_crash_is_told_and_a_heartbeat_goes_on(tmp_path: Path) -> None:
    clock = SystemClock()
    with receiving() as people, receiving() as heart:
        secret = tmp_path / "heartbeat"
        secret.touch(0o600)
        secret.write_text(f"{heart.url}/alive\n")
        alerts = {"webhook_urls": [people.url], "heartbeat_url_file": str(secret)}
        with ServiceProcess(
            tmp_path / "service", {"alerts": alerts, "serve": {"settle_seconds": 0.5}}
        ) as service:
            began = clock.now() - 60_000_000
            log = service.folder / "logs" / "job.log"
            log.write_text(CRASH)
            job = running_job(7, began, std_out=str(log), work_dir=str(log.parent))
            service.report(snapshot_of(CLUSTER, clock.now(), [job]))
            over = {"state": "FAILED", "exit_code": 1, "end_time": clock.now()}
            job = running_job(7, began, std_out=str(log), work_dir=str(log.parent), **over)
            service.report(snapshot_of(CLUSTER, clock.now(), [job]))
            wait = service.process.wait_for
            wait(lambda: people.bodies != [], what="an alert", seconds=PATIENCE_SECONDS)
            wait(lambda: heart.paths != [], what="a heartbeat", seconds=PATIENCE_SECONDS)
            shown = service.client.get("/metrics").text
    assert people.bodies[0]["event"] == "opened"
    assert people.bodies[0]["kind"] == "crash"
    assert heart.paths[0] == "/alive"
    assert 'relume_alert_messages_total{event="opened",result="sent",target="webhook"}' in shown
