"""What docs/serve.md says to type gives Advice, word by word."""

from __future__ import annotations

import json
import shutil
import subprocess
from pathlib import Path

import pytest

from relume.benchmarks.serving import ServiceProcess

SHELL = shutil.which("sh") or "sh"
TOKEN_FILE, ADDRESS = "/var/lib/relume/serve/ingest.token", "http://127.0.0.1:8470"


@pytest.mark.skipif(shutil.which("curl") is None, reason="curl not found (apt-get install curl)")
def test_advice_by_hand(repository: Path, tmp_path: Path) -> None:
    [told] = [
        one.partition("```")[0]
        for one in (repository / "docs/serve.md").read_text(encoding="utf-8").split("```sh\n")[1:]
        if "curl" in one.partition("```")[0]
    ]
    assert TOKEN_FILE in told
    assert ADDRESS in told
    with ServiceProcess(tmp_path) as service:
        [token] = service.folder.rglob("ingest.token")
        typed = told.replace(TOKEN_FILE, str(token)).replace(ADDRESS, service.url)
        done = subprocess.run(
            [SHELL, "-eu", "-c", typed], capture_output=True, text=True, check=False, timeout=300
        )
        assert done.returncode == 0, done.stderr
        first, _, rest = done.stdout.partition("}")
        assert json.loads(f"{first}}}")["accepted"] == 1

        def advised() -> list[str]:
            found = service.client.get("/v1/advice?active=true").json()["advice"]
            return [one["cause"] for one in found]

        service.process.wait_for(lambda: bool(advised()), what="Advice", seconds=120.0)
        assert advised() == ["gpu_illegal_memory_access"]
        assert '"advice":[' in rest
