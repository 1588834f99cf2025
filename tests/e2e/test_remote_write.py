"""What a real Prometheus writes to us: names, places, sums, and the marker of a series that ended."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from queue import Queue
from threading import Thread

import pytest

from prometheus_lab import running
from relume.events import Sample
from relume.features.metrics.names import load_names
from relume.ingest.push.bodies import unpacked
from relume.ingest.push.remotewrite import RemoteWrite
from relume.ingest.skips import SkipCounts

pytestmark = pytest.mark.needs_server("prometheus")

PATIENCE_SECONDS = 120
MAX_BODIES = 2_000
CORES = 3
SCRAPES_OF_GPU = 6
"""After so many scrapes the GPU is gone."""


class Exporter(BaseHTTPRequestHandler):
    """A node's exporter and the receiver of remote-write in one."""

    protocol_version = "HTTP/1.1"
    scrapes = 0
    bodies: Queue[tuple[str | None, bytes]]

    def do_GET(self) -> None:
        number = type(self).scrapes = type(self).scrapes + 1
        lines = [
            f'node_cpu_seconds_total{{cpu="{core}",mode="user"}} {number}' for core in range(CORES)
        ]
        if number <= SCRAPES_OF_GPU:
            lines.append('DCGM_FI_DEV_FB_USED{Hostname="gpu-a01",gpu="3",note="\u00fc"} 2')
        self.answer(200, "\n".join([*lines, ""]).encode())

    def do_POST(self) -> None:
        body = self.rfile.read(int(self.headers["Content-Length"]))
        self.bodies.put((self.headers["Content-Encoding"], body))
        self.answer(204, b"")

    def answer(self, status: int, body: bytes) -> None:
        self.send_response(status)
        self.send_header("Content-Type", "text/plain; version=0.0.4")
        self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)

    def log_message(self, *_: object) -> None:
        """Say nothing."""


@contextmanager
def writing(folder: Path) -> Iterator[Queue[tuple[str | None, bytes]]]:
    """Run a Prometheus that scrapes an exporter and writes what it says; yield the bodies."""
    exporter = type("OneExporter", (Exporter,), {"bodies": Queue(), "scrapes": 0})
    server = ThreadingHTTPServer(("127.0.0.1", 0), exporter)
    thread = Thread(target=server.serve_forever, daemon=True)
    thread.start()
    target = f"127.0.0.1:{server.server_port}"
    (folder / "prometheus.yml").write_text(
        "global: {scrape_interval: 500ms, scrape_timeout: 500ms}\n"
        f"scrape_configs: [{{job_name: node, static_configs: [{{targets: ['{target}']}}]}}]\n"
        f"remote_write: [{{url: 'http://{target}/write', "
        "queue_config: {batch_send_deadline: 100ms, min_backoff: 30ms}}]\n"
    )
    try:
        with running(folder, folder / "data"):
            yield exporter.bodies  # type: ignore[attr-defined]
    finally:
        server.shutdown()
        thread.join()
        server.server_close()


def test_what_prometheus_writes_is_read(tmp_path: Path) -> None:
    receiver, skipped = RemoteWrite(load_names()), SkipCounts()
    found: list[Sample] = []
    sums: list[Sample] = []
    with writing(tmp_path) as bodies:
        for _ in range(MAX_BODIES):
            encoding, body = bodies.get(timeout=PATIENCE_SECONDS)
            assert encoding == "snappy"
            for batch in receiver.decode(unpacked(body, encoding, 1 << 24), skipped, observed_at=1):
                found += batch.samples()
            sums = [one for one in found if one.metric == "node_cpu_seconds_total"]
            if "metric_stale" in skipped.as_dict() and len(sums) > 2:
                break
    used = [one for one in found if one.metric == "gpu_memory_used_bytes"]
    assert {(one.node, one.gpu, one.value) for one in used} == {("gpu-a01", "3", 2 * 1048576.0)}
    assert {one.node for one in sums} == {"127.0.0.1"}
    assert all(one.value % CORES == 0 for one in sums)
    by_time = sorted(sums, key=lambda one: one.event_time or 0)
    assert [one.value for one in by_time] == sorted(one.value for one in sums)
    assert all((one.event_time or 0) > 1_700_000_000_000_000 for one in found)
    assert skipped.as_dict()["metric_unknown"] > 0  # `up` and what it says of scrapes
