from __future__ import annotations

import pytest

from relume.benchmarks.episodes.generate import Episode, episodes


@pytest.fixture(scope="session")
def made() -> list[Episode]:
    return list(episodes())
