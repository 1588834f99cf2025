"""A real Alertmanager on loopback that passes on to nobody; it ends with the test."""

from __future__ import annotations

import re
import subprocess
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import requests
from requests.adapters import HTTPAdapter
from urllib3.util.retry import Retry

START_SECONDS = 60
LISTENING = re.compile(r'msg="Listening on" address=(\S+)')


@contextmanager
def alertmanager(folder: Path) -> Iterator[str]:
    """Run an Alertmanager on a port that the kernel gives; yield its URL."""
    config = folder / "alertmanager.yml"
    config.write_text("route: {receiver: nobody}\nreceivers: [{name: nobody}]\n")
    command = [
        *("prometheus-alertmanager", f"--config.file={config}"),
        *(f"--storage.path={folder / 'data'}", "--web.listen-address=127.0.0.1:0"),
        "--cluster.listen-address=",
    ]
    process = subprocess.Popen(command, stderr=subprocess.PIPE, cwd=folder, text=True)
    try:
        url = f"http://{_address(process)}"
        with requests.Session() as session:
            retry = Retry(total=200, backoff_factor=0.05, backoff_max=0.3, status_forcelist=[503])
            session.mount(url, HTTPAdapter(max_retries=retry))
            session.get(f"{url}/-/ready", timeout=START_SECONDS).raise_for_status()
        yield url
    finally:
        process.terminate()
        process.communicate(timeout=START_SECONDS)


def _address(process: subprocess.Popen[str]) -> str:
    lines = []
    for line in process.stderr or ():
        lines.append(line)
        found = LISTENING.search(line)
        if found is not None:
            return found[1]
    raise RuntimeError(f"Alertmanager didn't start: {''.join(lines)}")
