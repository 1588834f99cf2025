"""`relume report nodes`: who is faulty, by which faults, and what is advised."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
from typer.testing import CliRunner, Result

from clusters import KILLED, MINUTE, Cluster, Job
from relume.cli import app
from relume.events import Actor
from relume.ingest.lake import LakeWriter
from relume.ingest.lake.errors import LakeError

LEMON, ONCE, MENDED = "gpu-a07", "gpu-a09", "gpu-a11"


def run(*arguments: str | Path) -> Result:
    return CliRunner().invoke(app, ["report", "nodes", *map(str, arguments)])


def loses_a_gpu(cluster: Cluster, node: str, second: int) -> Job:
    job = cluster.job(node, "gpu-a20").start(second).train(second + 4, second + 30, 5)
    job.kernel(second + 30, node).say(second + 31, KILLED.format(node=node))
    return job.end(second + 33)


@pytest.fixture(scope="module")
def lake(tmp_path_factory: pytest.TempPathFactory) -> Path:
    cluster = Cluster()
    for minute in (1, 20):
        loses_a_gpu(cluster, LEMON, minute * MINUTE)
        loses_a_gpu(cluster, MENDED, (minute + 5) * MINUTE)
    loses_a_gpu(cluster, ONCE, 35 * MINUTE)
    cluster.node(45 * MINUTE, MENDED, "DRAIN", "new riser", Actor.ADMIN)
    cluster.node(50 * MINUTE, MENDED, "IDLE")
    cluster.node(51 * MINUTE, "gpu-a30", "DOWN*", "Not responding", Actor.SLURM)
    cluster.job("gpu-a40").start(1).train(5, 53 * MINUTE, 60).end(53 * MINUTE, "COMPLETED")
    folder = tmp_path_factory.mktemp("nodes") / "lake"
    with LakeWriter(folder) as writer:
        writer.append(cluster.told().landings)
        writer.commit({})
    return folder


def document(*arguments: str | Path) -> dict[str, Any]:
    result = run(*arguments, "--json")
    assert result.exit_code == 0, result.output
    found: dict[str, Any] = json.loads(result.stdout)
    return found


def test_the_worst_comes_first_with_its_faults_and_what_is_advised(lake: Path) -> None:
    found = document("--lake", lake)
    nodes = {one["node"]: one for one in found["nodes"]}
    assert found["nodes"][0]["node"] == LEMON
    assert (found["fleet_nodes"], found["places"]) == (64, 1)
    lemon = nodes[LEMON]
    assert lemon["advice"] == "hold"
    assert lemon["why"] == "2 faults in 90 days"
    assert lemon["parole_at"] > lemon["advised_at"]
    assert [fault["words"] for fault in lemon["faults"]] == ["xid_79", "xid_79"]
    assert {line["stream"] for fault in lemon["faults"] for line in fault["evidence"]} == {"kernel"}
    assert nodes[ONCE]["advice"] is None
    assert len(nodes[ONCE]["faults"]) == 1
    assert nodes["gpu-a30"]["out_of_service"]
    assert nodes["gpu-a30"]["faults"][0]["attempt"] is None
    assert nodes["gpu-a30"]["excess"] is None  # no job ran there
    assert MENDED not in nodes or nodes[MENDED]["faults"] == []  # somebody gave it back


def test_for_people_it_is_a_table(lake: Path) -> None:
    result = run("--lake", lake)
    assert result.exit_code == 0
    header, first, *_ = result.stdout.splitlines()
    assert header.split("\t")[:3] == ["node", "faults", "attempts"]
    assert first.startswith(f"{LEMON}\t2\t2\t")
    assert "keep from jobs: 2 faults in 90 days" in first
    assert "to be kept from jobs of at most 1" in result.stderr


def test_a_time_without_faults_has_none(lake: Path) -> None:
    assert document("--lake", lake, "--since", "1h")["nodes"] == []


def test_no_lake_is_told(tmp_path: Path) -> None:
    assert isinstance(run("--lake", tmp_path / "none").exception, LakeError)
