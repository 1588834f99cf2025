"""What the kernel logs explains what ranks report later."""

from __future__ import annotations

from typing import Any

import pytest

from making import LOG, make_episode, make_hit, make_signature
from relume.models.diagnosis.clocks import MICROSECONDS
from relume.models.diagnosis.episode import Episode
from relume.models.diagnosis.order import choose_root
from relume.models.ranks.mapping import RankMap, RankPlace
from relume.models.signatures.rule import Tier
from relume.reasons import ReasonCode
from relume.verdict import Domain, Kind

CUDA = make_signature("cuda_illegal_access", category="cuda", specificity=60)
XID = make_signature("xid_31", category="gpu_driver", specificity=60)
LINK = make_signature(
    "link", category="host", cause="nic_link_down", tier=Tier.FABRIC, domain=Domain.NETWORK
)
LOST = make_signature("lost", category="nccl", tier=Tier.FABRIC, domain=Domain.NETWORK)
STALL = make_signature("stall", category="host", tier=Tier.TIMEOUT, kind=Kind.HANG)
TIMEOUT = make_signature("timeout", category="torch_nccl", tier=Tier.TIMEOUT, kind=Kind.HANG)
KERNEL: dict[str, Any] = {"file": "kern.log", "stream": "kernel"}


def episode_of(*hits: Any) -> Episode:
    episode = make_episode(*hits, files=(LOG, "kern.log"))
    places = {3: RankPlace("n1", pci="0000:4e:00"), 9: RankPlace("n2", pci="0000:4e:00")}
    episode.ranks = RankMap(places, world_size=16)
    return episode


def root_of(episode: Episode) -> tuple[str, set[ReasonCode]]:
    root = choose_root(episode)
    assert root is not None
    return root.hit.signature.id, {reason.code for reason in root.reasons}


def xid(seconds: float | None = 100.0, *, node: str = "n1", gpu: str = "0000:4e:00") -> Any:
    time = None if seconds is None else round(seconds * MICROSECONDS)
    return make_hit(XID, 5, node=node, captures={"gpu": gpu}, event_time=time, **KERNEL)


def cuda(seconds: float | None = 50.0, rank: int = 3) -> Any:
    time = None if seconds is None else round(seconds * MICROSECONDS)
    return make_hit(CUDA, 1, rank=rank, event_time=time)


@pytest.mark.parametrize(
    "hits", [(cuda(), xid()), (cuda(None), xid()), (cuda(), xid(None)), (cuda(), xid(gpu="x"))]
)
def test_the_fault_of_the_device_is_the_root_not_the_python_line(hits: tuple[Any, ...]) -> None:
    rule, reasons = root_of(episode_of(*hits))
    assert rule == "xid_31"
    assert ReasonCode.REPORTED_LATER in reasons


@pytest.mark.parametrize(
    "other",
    [
        xid(node="n2"),
        xid(gpu="0000:5f:00"),
        xid(1000.0),
        make_hit(XID, 5, captures={"gpu": "0000:4e:00"}, event_time=100 * MICROSECONDS),
    ],
)
def test_another_node_gpu_or_time_or_a_quoted_line_is_no_explanation(other: Any) -> None:
    rule, reasons = root_of(episode_of(cuda(), other))
    assert rule == "cuda_illegal_access"
    assert ReasonCode.REPORTED_LATER not in reasons


def test_a_link_that_went_down_explains_lost_connections() -> None:
    lost = make_hit(LOST, 1, rank=3, event_time=10 * MICROSECONDS)
    down = make_hit(LINK, 5, node="n2", event_time=12 * MICROSECONDS, **KERNEL)
    late = make_hit(LINK, 5, node="n2", event_time=900 * MICROSECONDS, **KERNEL)
    assert root_of(episode_of(lost, down))[0] == "link"
    assert root_of(episode_of(lost, late))[0] == "lost"


def test_storage_that_does_not_answer_explains_collectives_that_time_out() -> None:
    hits = [make_hit(TIMEOUT, r, rank=r, event_time=700 * MICROSECONDS) for r in range(4)]
    stall = make_hit(STALL, 5, node="n1", event_time=100 * MICROSECONDS, **KERNEL)
    rule, reasons = root_of(episode_of(*hits, stall))
    assert rule == "stall"
    assert ReasonCode.STALL_FIRST in reasons
