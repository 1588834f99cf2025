"""Only what no job can have written accuses a node."""

from __future__ import annotations

from dataclasses import replace

import pytest

from policies import LOST_GPU
from relume.events import Actor, NodeEvent
from relume.models.lemons.evidence import faulty_nodes, is_fault
from relume.verdict import Domain, Evidence, Kind, Locator, Mention

KERNEL = Evidence("xid_79", "root", "/kernel/n2.log", 4, "NVRM: Xid 79", stream="kernel")
SAYS_SO = Mention(Locator("N2.example"), 4, "/kernel/n2.log")
ACCUSED = replace(LOST_GPU, evidence=(KERNEL,), mentions=(SAYS_SO,))


def test_a_kernels_line_that_names_the_node_does() -> None:
    assert faulty_nodes(ACCUSED) == ("n2",)


@pytest.mark.parametrize(
    "changes",
    [
        {"evidence": (replace(KERNEL, stream="stderr"),)},
        {"evidence": ()},
        {"mentions": ()},
        {"mentions": (replace(SAYS_SO, line=5),)},
        {"mentions": (replace(SAYS_SO, where=Locator("n3")),)},
        {"domain": Domain.WORKLOAD},
        {"domain": Domain.UNKNOWN},
        {"kind": Kind.BENIGN},
        {"culprit": Locator(rank=2), "exclude_nodes": ()},
    ],
)
def test_anything_less_does_not(changes: dict[str, object]) -> None:
    assert faulty_nodes(replace(ACCUSED, **changes)) == ()  # type: ignore[arg-type]


@pytest.mark.parametrize(
    ("reason", "actor", "check", "answer"),
    [
        ("Not responding", Actor.SLURM, None, True),
        ("Node unexpectedly rebooted", Actor.SLURM, None, True),
        ("gres/gpu count reported lower than configured (7 < 8)", Actor.SLURM, None, True),
        ("NHC: check_hw_gpu: lost", Actor.CHECK, "check_hw_gpu", True),
        ("Prolog error", Actor.CHECK, "prolog", False),
        ("Kill task failed", Actor.SLURM, None, False),
        ("Not responding, bad cable", Actor.ADMIN, None, False),
        ("relume:1234", Actor.RELUME, None, False),
        (None, None, None, False),
    ],
)
def test_faults_of_nodes(
    reason: str | None,
    actor: Actor | None,
    check: str | None,
    answer: bool,  # noqa: FBT001 - a parameter of the test
) -> None:
    event = NodeEvent(
        source="slurm", node="n1", state="DOWN", reason=reason, actor=actor, check=check
    )
    assert is_fault(event) is answer
