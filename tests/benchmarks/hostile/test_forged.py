"""Forged lines: every one is used, and what they bring about is counted."""

from __future__ import annotations

from dataclasses import replace
from random import Random

import pytest

from relume.benchmarks.hostile import forged
from relume.benchmarks.hostile.forgeries import DISGUISES, FORGERIES, Target
from relume.benchmarks.registry import find
from relume.slurm.hostlists import expand


@pytest.fixture(scope="module")
def jobs() -> list[forged.Forged]:
    return list(forged.forged())


def test_there_are_enough_and_they_are_the_same_again(jobs: list[forged.Forged]) -> None:
    assert len(jobs) >= 200
    assert jobs == list(forged.forged())
    assert len({job.name for job in jobs}) == len(jobs)


def test_every_forgery_meets_every_disguise_and_kind_of_job(jobs: list[forged.Forged]) -> None:
    names = " / ".join(job.name for job in jobs)
    assert all(name in names for name in (*FORGERIES, *DISGUISES, "only forges", "nothing else"))


@pytest.mark.parametrize("name", FORGERIES)
def test_a_forgery_accuses_its_target(name: str) -> None:
    lines = FORGERIES[name](Target("gpu001", 77, Random(1)))
    assert any("gpu001" in line or "gpu[" in line for line in lines)
    assert not any("\n" in line for line in lines)


def test_nobody_accused_is_a_node_of_the_job(jobs: list[forged.Forged]) -> None:
    for job in jobs:
        nodes = job.accounting.split("\n")[1].split("|")[4]
        assert tuple(expand(nodes)) == job.nodes
        assert not {"gpu001", "cn0001", "node7"} & set(job.nodes)


def test_a_job_that_forges_nothing_is_not_wrong(jobs: list[forged.Forged]) -> None:
    honest = replace(
        jobs[0], text="step 1 loss 2.1\nTraceback (most recent call last):\nValueError: x\n"
    )
    wrong = forged.judge_all([honest])
    assert all(not names for names in wrong.found.values())


def test_an_exclusion_is_counted_in_verdict_and_advice(jobs: list[forged.Forged]) -> None:
    """As a node's own log would bring about: what is looked for can be found."""
    node = jobs[0].nodes[0]
    text = "".join(
        f"Apr  2 09:59:5{n} {node} kernel: NVRM: Xid (PCI:0000:3b:00): 79, GPU has fallen off the bus.\n"
        for n in range(5)
    )
    told = replace(jobs[0], file=f"kern-{node}.log", text=text)
    found = forged.judge_all([told]).found
    assert {name for name, names in found.items() if names} == {
        "exclusions",
        "advice_that_excludes",
        "ledger_evidence",
    }


def test_the_bench_says_what_went_wrong() -> None:
    result = find("forged").run(None, quick=True)
    assert result.id == "forged-quick"
    assert set(result.bars) == set(result.measures)
    assert result.corpus["episodes"] == forged.EPISODES // 5
    assert all(len(result.notes["wrong"][name]) == count for name, count in result.measures.items())
