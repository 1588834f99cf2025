"""`relume --help` is quick because it loads no heavy library: what a command needs, it imports."""

from __future__ import annotations

import subprocess
import sys

HEAVY = frozenset(
    {
        "ClusterShell",
        "altair",
        "dask",
        "distributed",
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


def test_help_loads_no_heavy_library() -> None:
    command = [sys.executable, "-X", "importtime", "-m", "relume", "--help"]
    result = subprocess.run(command, check=True, capture_output=True, text=True)
    # import time: self [us] | cumulative | imported package
    lines = (line for line in result.stderr.splitlines() if line.startswith("import time:"))
    loaded = {line.rsplit("|", 1)[1].strip().split(".")[0] for line in lines}
    assert "typer" in loaded
    assert loaded & HEAVY == set()
