"""A real Prometheus on loopback with a history that a test wrote; it ends with the test."""

from __future__ import annotations

import json
import signal
import subprocess
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from pathlib import Path

import requests
from requests.adapters import HTTPAdapter
from urllib3.util.retry import Retry

START_SECONDS = 30
History = Mapping[str, Sequence[tuple[int, float]]]
"""Series as written in PromQL, each with times (POSIX seconds) and values."""


def openmetrics(history: History) -> str:
    """Return a history as `promtool tsdb create-blocks-from openmetrics` reads it."""
    families: dict[str, list[str]] = {}
    for series, points in history.items():
        lines = families.setdefault(series.split("{")[0], [])
        lines += [f"{series} {value!r} {time}" for time, value in points]
    texts = [line for lines in families.values() for line in lines]
    return "\n".join([*texts, "# EOF", ""])


@contextmanager
def prometheus(folder: Path, history: History, *options: str) -> Iterator[str]:
    """Run a Prometheus that scrapes nothing and knows `history`; yield its URL."""
    data = folder / "data"
    source = folder / "history.om"
    source.write_text(openmetrics(history))
    command = ["promtool", "tsdb", "create-blocks-from", "openmetrics", str(source), str(data)]
    subprocess.run(command, check=True, capture_output=True)
    (folder / "prometheus.yml").write_text("global: {}\n")
    with running(folder, data, *options) as url:
        yield url


@contextmanager
def running(folder: Path, data: Path, *options: str) -> Iterator[str]:
    """Run a Prometheus on a data folder, with `folder/prometheus.yml`; yield its URL."""
    command = [
        *("prometheus", f"--config.file={folder / 'prometheus.yml'}"),
        *(f"--storage.tsdb.path={data}", "--storage.tsdb.retention.time=100y"),
        *("--web.listen-address=127.0.0.1:0", "--log.format=json", *options),
    ]
    process = subprocess.Popen(command, stderr=subprocess.PIPE, cwd=folder, text=True)
    try:
        url = _address(process)
        _wait_ready(url)
        yield url
    finally:
        process.send_signal(signal.SIGTERM)
        process.communicate(timeout=START_SECONDS)


def _address(process: subprocess.Popen[str]) -> str:
    """Return where it listens: it chooses a free port, and says in its log which."""
    lines = []
    for line in process.stderr or ():
        lines.append(line)
        entry = json.loads(line)
        if entry.get("msg") == "Listening on":
            return f"http://{entry['address']}"
    raise RuntimeError(f"Prometheus didn't start: {''.join(lines)}")


def _wait_ready(url: str) -> None:
    """Its HTTP server answers 503 until the history is loaded."""
    retry = Retry(total=100, backoff_factor=0.05, backoff_max=0.3, status_forcelist=[503])
    with requests.Session() as session:
        session.mount(url, HTTPAdapter(max_retries=retry))
        session.get(f"{url}/-/ready", timeout=START_SECONDS).raise_for_status()
