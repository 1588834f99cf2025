"""`relume --help` is quick because it loads no heavy library: what a command needs, it imports."""

from __future__ import annotations

import subprocess
import sys

import pytest

HEAVY = frozenset(
    {
        "ClusterShell",
        "altair",
        "duckdb",
        "hyperscan",
        "numba",
        "numpy",
        "polars",
        "pyarrow",
        "pydantic",
        "re2",
        "river",
        "sklearn",
        "sqlalchemy",
    }
)


@pytest.mark.parametrize("arguments", [["--help"], ["version"]])
def test_help_and_version_load_no_heavy_library(arguments: list[str]) -> None:
    command = [sys.executable, "-X", "importtime", "-m", "relume", *arguments]
    result = subprocess.run(command, check=True, capture_output=True, text=True)
    # import time: self [us] | cumulative | imported package
    lines = (line for line in result.stderr.splitlines() if line.startswith("import time:"))
    loaded = {line.rsplit("|", 1)[1].strip().split(".")[0] for line in lines}
    assert "typer" in loaded
    assert not loaded & HEAVY
