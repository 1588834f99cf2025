"""An import from a server that goes away half-way, and goes on when it is back."""

from __future__ import annotations

import json
from collections import Counter
from pathlib import Path
from urllib.parse import parse_qs, urlsplit

import pytest

from bad_server import Visit, serving
from relume.errors import UnreachableError
from relume.events import Sample
from relume.features.metrics.names import load_names
from relume.features.metrics.queries import Query
from relume.ingest.importing import import_units
from relume.ingest.importing.prometheus import Asked
from relume.ingest.lake import LakeReader, LakeWriter
from relume.ingest.metrics.prometheus import SECOND, Prometheus
from relume.ingest.metrics.session import Access

START = 1_750_032_000  # midnight
STEPS = 200
ANSWERS = 3
"""Pieces in which a query comes: of 16, 64 and 120 values."""
NAMES = ("DCGM_FI_DEV_POWER_USAGE", "DCGM_FI_DEV_GPU_TEMP")


class Server:
    """Answers any query with one GPU's values; from `dies_at` on with errors."""

    def __init__(self) -> None:
        self.answers, self.dies_at = 0, 10**9

    def behave(self, visit: Visit) -> None:
        self.answers += 1
        if self.answers > self.dies_at:
            visit.answer(500, b"gone")
            return
        about = parse_qs(urlsplit(visit.path).query)
        times = range(int(about["start"][0]), int(about["end"][0]) + 1, 15)
        metric = {"__name__": about["query"][0], "Hostname": "n1", "gpu": "0"}
        result = [{"metric": metric, "values": [[time, str(time)] for time in times]}]
        data = {"resultType": "matrix", "result": result}
        visit.answer(200, json.dumps({"status": "success", "data": data}).encode())


def run(url: str, lake: Path) -> None:
    span = (START * SECOND, (START + 15 * STEPS) * SECOND)
    access = Access(backoff_seconds=0.001, tries=2)
    with Prometheus(url, access) as server, LakeWriter(lake) as writer:
        asked = Asked(server, [Query(name) for name in NAMES], span, 15, load_names())
        import_units(writer, asked.units(writer.positions))


@pytest.mark.parametrize("dies_at", [0, 1, 2, 3, 5])
def test_an_import_goes_on_where_the_server_went_away(tmp_path: Path, dies_at: int) -> None:
    server = Server()
    with serving(server.behave) as url:
        server.dies_at = dies_at
        with pytest.raises(UnreachableError):
            run(url, tmp_path)
        landed = sum(1 for _ in LakeReader(tmp_path).events())
        assert landed == (STEPS if dies_at >= ANSWERS else 0)
        server.dies_at = 10**9
        for _ in range(2):
            run(url, tmp_path)
    found = [one for one in LakeReader(tmp_path).events() if isinstance(one, Sample)]
    counts = Counter((one.metric, one.event_time) for one in found)
    assert set(counts.values()) == {1}
    assert len(counts) == len(NAMES) * STEPS
    assert all(one.value == (one.event_time or 0) // SECOND for one in found)
