"""A live run that a test drives."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

from living import Live


@pytest.fixture
def live(tmp_path: Path) -> Iterator[Live]:
    live = Live(tmp_path)
    yield live
    live.close()
