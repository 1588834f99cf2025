"""The import contracts of pyproject.toml catch what they are there to catch."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
from pathlib import Path
from typing import NamedTuple

import pytest


class Planted(NamedTuple):
    """An import that must not pass, and the words in which the contracts refuse it."""

    file: str
    code: str
    refusal: str


LAZY = "def late() -> None:\n    import relume.ingest\n"
VIOLATIONS = {
    "the core imports a folder": Planted(
        "src/relume/verdict.py", "import relume.models", "relume.verdict -> relume.models"
    ),
    "sources know features": Planted(
        "ingest/planted.py", "import relume.features", "relume.ingest.planted -> relume.features"
    ),
    "models read sources, inside a function": Planted(
        "models/planted.py", LAZY, "relume.models.planted -> relume.ingest"
    ),
    "features read the clock": Planted(
        "features/planted.py", "import time", "relume.features.planted -> time"
    ),
    "models query a database": Planted(
        "models/planted_too.py", "import sqlite3", "relume.models.planted_too -> sqlite3"
    ),
    "the service knows the controller": Planted(
        "serve/planted.py", "import relume.controller", "relume.serve.planted -> relume.controller"
    ),
    "the controller knows models": Planted(
        "controller/planted.py",
        "import relume.models",
        "relume.controller.planted -> relume.models",
    ),
    "the service runs a bench": Planted(
        "serve/planted_too.py",
        "import relume.benchmarks",
        "relume.serve.planted_too -> relume.benchmarks",
    ),
}


def tool(name: str) -> str:
    """Return the path of a command of this environment."""
    return str(Path(sys.executable).with_name(name))


@pytest.fixture(scope="module")
def report(repository: Path, tmp_path_factory: pytest.TempPathFactory) -> str:
    """What import-linter says about a copy of the tree with every violation planted."""
    copy = tmp_path_factory.mktemp("copy")
    shutil.copy(repository / "pyproject.toml", copy)
    for link in (repository / "src/relume").iterdir():
        if link.is_symlink():
            shutil.copytree(repository / link.name, copy / link.name)
    shutil.copytree(repository / "src", copy / "src", symlinks=True)
    for planted in VIOLATIONS.values():
        path = copy / planted.file
        before = path.read_text() if path.exists() else "from __future__ import annotations\n"
        path.write_text(f"{before}\n{planted.code}\n")
    command = [tool("lint-imports"), "--no-logo", "--no-cache"]
    # The copy goes before the editable install, else the contracts would judge the original.
    environment = {**os.environ, "PYTHONPATH": str(copy / "src")}
    result = subprocess.run(
        command, cwd=copy, env=environment, check=False, capture_output=True, text=True
    )
    assert result.returncode == 1, result.stdout + result.stderr
    return result.stdout


@pytest.mark.parametrize("violation", VIOLATIONS)
def test_a_planted_violation_is_caught(report: str, violation: str) -> None:
    assert VIOLATIONS[violation].refusal in " ".join(report.split())


def test_a_bare_folder_name_is_refused(repository: Path) -> None:
    command = [tool("ruff"), "check", "--select=TID251", "--stdin-filename=serve/planted.py", "-"]
    result = subprocess.run(
        command,
        cwd=repository,
        input="import ingest\nfrom models.signatures import rule\nimport relume.models\n",
        check=False,
        capture_output=True,
        text=True,
    )
    assert result.stdout.count("TID251") == 2
    assert "import relume.ingest" in result.stdout
