from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path

import pytest
from typer.testing import CliRunner, Result

from metric_rules import GPU_HOT
from relume.cli import app
from relume.events import Sample
from relume.ingest.lake import LakeWriter
from relume.models.signatures.loader import load_catalogue
from relume.serve.findings import lake_samples, metric_findings

SECOND = 1_000_000
START = 1_750_000_000


def samples(cluster: str = "lab") -> Iterator[Sample]:
    """Half an hour: a GPU gets hot, one is lost with an Xid, a link goes down."""

    def one(
        metric: str, value: float, at: int, gpu: str | None = None, device: str | None = None
    ) -> Sample:
        return Sample(
            source="x", cluster=cluster, metric=metric, value=value, node="n1", gpu=gpu,
            device=device, event_time=(START + at) * SECOND,
        )  # fmt: skip

    for at in range(0, 1800, 15):
        for gpu in "0123":
            if gpu == "3" and at > 1000:
                continue
            is_hot = gpu == "1" and 300 < at < 600
            yield one("gpu_temperature_celsius", 95.0 if is_hot else 60.0, at, gpu)
            yield one("gpu_xid_code", 79.0 if gpu == "3" and at > 900 else 31.0, at, gpu)
        yield one("nic_link_downs_count_total", 2.0 + (at > 1200), at, device="mlx5_0/1")


@pytest.fixture
def lake(tmp_path: Path) -> Path:
    with LakeWriter(tmp_path / "lake") as writer:
        by_metric: list[Sample] = sorted(samples(), key=lambda one: one.metric)
        writer.append(by_metric)
        writer.append([Sample(source="x", metric="gpu_xid_code", value=1.0)])
        writer.commit()
    (tmp_path / "site.toml").write_text(GPU_HOT)
    return tmp_path / "lake"


EXPECTED = [
    ("gpu_hot", "n1", "1", None, False),
    ("gpu_hot", "n1", "1", None, True),
    ("xid_79", "n1", "3", None, False),
    ("gpu_vanished", "n1", "3", None, False),
    ("rise", "n1", None, "mlx5_0/1", False),
]


def ask(lake: Path, *options: str) -> Result:
    arguments = ["lake", "metrics", "--lake", str(lake), *options]
    return CliRunner().invoke(app, arguments)


def test_a_lake_tells_what_its_metrics_say(lake: Path) -> None:
    result = ask(lake, "--json", "--rules", str(lake.with_name("site.toml")))
    assert result.exit_code == 1, result.output
    rows = json.loads(result.stdout)["rows"]
    found = [
        tuple(row[name] for name in ("finding", "node", "gpu", "device", "is_over")) for row in rows
    ]
    assert found == EXPECTED
    assert rows[2]["words"].startswith("Xid 79: the GPU is unreachable")
    assert rows[2]["since"] < rows[2]["at"]
    assert rows[4]["words"] == "nic_link_downs_count_total rose by 1"


def test_a_lake_without_findings_is_exit_code_0(tmp_path: Path) -> None:
    with LakeWriter(tmp_path) as writer:
        writer.append([one for one in samples() if one.event_time < (START + 300) * SECOND])  # type: ignore[operator]
        writer.commit()
    result = ask(tmp_path, "--jsonl")
    assert (result.exit_code, result.stdout) == (0, "")


def test_clusters_are_judged_apart(lake: Path) -> None:
    """Node names are unique within one cluster only."""
    alone = [
        told.finding for told in metric_findings(lake_samples(lake), catalogue=load_catalogue())
    ]
    mixed = sorted([*samples("a"), *samples("b")], key=lambda one: one.event_time or 0)
    found = [(told.cluster, told.finding) for told in metric_findings(mixed)]
    for cluster in "ab":
        assert [finding for of, finding in found if of == cluster] == alone


def test_a_long_gap_in_a_recording_costs_little_and_is_found() -> None:
    early = list(samples())
    late = [
        Sample(source="x", cluster="lab", metric=one.metric, value=one.value, node=one.node,
               gpu=one.gpu, device=one.device, event_time=(one.event_time or 0) + 10**15)
        for one in early[:50]
    ]  # fmt: skip
    found = [told.finding for told in metric_findings([*early, *late])]
    assert found.count("scrapes_stopped") == 2
