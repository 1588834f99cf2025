"""What the controller's tests share."""

from __future__ import annotations

import tempfile
from collections.abc import Iterator
from pathlib import Path

import pytest

from controllers import Stage
from controlling import make_job

_MEMORY = Path("/dev/shm")  # noqa: S108 - not a name in a shared folder, but the folder


@pytest.fixture
def fast_path() -> Iterator[Path]:
    """Return a folder in memory where there is one: journals sync with every step."""
    with tempfile.TemporaryDirectory(dir=_MEMORY if _MEMORY.is_dir() else None) as folder:
        yield Path(folder)


@pytest.fixture
def stage(fast_path: Path) -> Stage:
    """One running job that opted in, and a controller that may act."""
    return Stage(fast_path, make_job())
