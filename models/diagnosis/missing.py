"""Which evidence would have decided what the lines left open."""

from __future__ import annotations

from relume.models.diagnosis.episode import Episode
from relume.models.diagnosis.order import Root
from relume.models.signatures.rule import Role, Tier
from relume.verdict import Domain, Kind, Locator

KERNEL_LOG = "kernel log of the nodes (Xid, oom_kill, link and storage errors)"
SCHEDULER_RECORD = "scheduler record (sacct State, ExitCode, NodeList)"
DUMPS = "collective dumps of all ranks (TORCH_NCCL_TRACE_BUFFER_SIZE, TORCH_NCCL_DUMP_ON_TIMEOUT)"
OTHER_RANKS = "logs of the other ranks"
CLOCK = "a clock on the lines: silence cannot be told from an ended excerpt"
GPU_METRICS = "GPU and network metrics per node (clocks, power, throttle reasons, NIC counters)"


def missing_evidence(
    episode: Episode, root: Root | None, kind: Kind, where: Locator
) -> tuple[str, ...]:
    """Name the sources that were not given and would have helped."""
    wanted = list(_wanted(episode, root, kind, where))
    given = {KERNEL_LOG} if "kernel" in episode.forms else set()
    if episode.scheduler.state is not None:
        given.add(SCHEDULER_RECORD)
    return tuple(dict.fromkeys(w for w in wanted if w not in given))


def _wanted(
    episode: Episode, root: Root | None, kind: Kind, where: Locator
) -> tuple[str, ...]:
    if kind is Kind.STRAGGLER:
        return (GPU_METRICS, OTHER_RANKS)
    if root is None:
        clockless = (CLOCK,) if episode.end_time is None else ()
        return (SCHEDULER_RECORD, *clockless) if kind is not Kind.BENIGN else ()
    if root.hit.signature.tier is Tier.TIMEOUT:
        return (DUMPS, OTHER_RANKS, KERNEL_LOG) if not where else (KERNEL_LOG,)
    if root.hit.signature.tier is Tier.POINTER:
        return (KERNEL_LOG, SCHEDULER_RECORD, OTHER_RANKS)
    if root.hit.signature.role is Role.CASCADE:
        return (OTHER_RANKS, SCHEDULER_RECORD, KERNEL_LOG)
    if root.hit.signature.domain in {Domain.HARDWARE, Domain.UNKNOWN} and not where.node:
        return (KERNEL_LOG,)
    return ()
