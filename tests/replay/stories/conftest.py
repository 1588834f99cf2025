"""Each story is told again, and nothing may differ.

To a judge that is put on disk and read back on the way, and to one that looks at every attempt with
every tick, whether or not anything is new.
"""

from __future__ import annotations

from typing import Any

import pytest

from clusters import Cluster, Told
from relume.serve.live.watch import AttemptWatch
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
        with pytest.MonkeyPatch.context() as patch:
            patch.setattr(AttemptWatch, "quiet_until", lambda _, now: now)
            looked = tell(found.landings, cluster.settings, cuts=[], learns=False)
        assert looked.advice == found.advice
        assert looked.digests == again.digests
        return found

    monkeypatch.setattr(Cluster, "told", told)
