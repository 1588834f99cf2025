"""Each story is also told to a judge that is put on disk and read back on the way: it's the same."""

from __future__ import annotations

from typing import Any

import pytest

from clusters import Cluster, Told
from restoring import digest_of_judge, tell

CUTS = 3


@pytest.fixture(autouse=True)
def _told_twice(monkeypatch: pytest.MonkeyPatch) -> None:
    once = Cluster.told

    def told(cluster: Cluster, *args: Any, **named: Any) -> Told:
        found = once(cluster, *args, **named)
        count = len(found.landings)
        cuts = [count * part // (CUTS + 1) for part in range(1, CUTS + 1)]
        again = tell(found.landings, cluster.settings, cuts=cuts, learns=False)
        assert again.advice == found.advice
        assert again.digests == {count: digest_of_judge(found.judge)}
        return found

    monkeypatch.setattr(Cluster, "told", told)
