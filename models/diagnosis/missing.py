"""Which evidence would have decided what the lines left open."""

from __future__ import annotations

from relume.models.collectives.state import ranks_text
from relume.models.diagnosis.consequences import is_undated
from relume.models.diagnosis.episode import Episode
from relume.models.diagnosis.order import Root
from relume.models.diagnosis.scheduler import has_job_log
from relume.models.signatures.rule import Role, Tier
from relume.verdict import Domain, Kind, Locator

JOB_LOG = "log of the job itself (StdOut and StdErr): none was found, or it is empty"
KERNEL_LOG = "kernel log of the nodes (Xid, oom_kill, link and storage errors)"
SCHEDULER_RECORD = "scheduler record (sacct State, ExitCode, NodeList)"
DUMPS = "collective dumps of all ranks (TORCH_NCCL_TRACE_BUFFER_SIZE, TORCH_NCCL_DUMP_ON_TIMEOUT)"
KERNEL_CLOCK = "the time of the kernel's lines (dmesg --time-format iso, or the node's syslog)"
LOST_END = "the end of a log: its compressed file is cut off or damaged"
OTHER_RANKS = "logs of the other ranks"
CLOCK = "a clock on the lines: silence cannot be told from an ended excerpt"
GPU_METRICS = "GPU and network metrics per node (clocks, power, throttle reasons, NIC counters)"


def missing_evidence(
    episode: Episode, root: Root | None, kind: Kind, where: Locator
) -> tuple[str, ...]:
    """Name the sources that were not given and would have helped."""
    wanted = list(_wanted(episode, root, kind, where))
    if episode.dumps is not None and not episode.forms:
        wanted = [JOB_LOG, KERNEL_LOG, SCHEDULER_RECORD]
    given = {KERNEL_LOG} if "kernel" in episode.forms else set()
    if episode.scheduler.state is not None:
        given.add(SCHEDULER_RECORD)
    found = episode.dumps.collectives if episode.dumps is not None else None
    if found is not None:
        given.add(DUMPS)
        wanted += [f"collective dumps of {ranks_text(found.missing)}"] if found.missing else []
    return tuple(dict.fromkeys(w for w in wanted if w not in given))


def _wanted(episode: Episode, root: Root | None, kind: Kind, where: Locator) -> tuple[str, ...]:
    lost = (LOST_END,) if episode.lost_ends else ()
    clock = (KERNEL_CLOCK,) if root is not None and is_undated(root.hit) else ()
    if episode.scheduler.state is None or has_job_log(episode):
        return (*lost, *clock, *_wanted_for(episode, root, kind, where))
    # A known attempt that left nothing: its log would have told before all others.
    beside = _wanted_beside(root, where) if root is not None else (KERNEL_LOG,)
    return (*lost, *clock, JOB_LOG, *(beside if kind.is_failure else ()))


def _wanted_for(episode: Episode, root: Root | None, kind: Kind, where: Locator) -> tuple[str, ...]:
    if kind is Kind.STRAGGLER:
        return (GPU_METRICS, OTHER_RANKS)
    if root is not None:
        return _wanted_beside(root, where)
    if kind is Kind.BENIGN:
        return ()
    return (SCHEDULER_RECORD, CLOCK) if episode.end_time is None else (SCHEDULER_RECORD,)


def _wanted_beside(root: Root, where: Locator) -> tuple[str, ...]:
    signature = root.hit.signature
    if signature.tier is Tier.TIMEOUT:
        return (KERNEL_LOG,) if where else (DUMPS, OTHER_RANKS, KERNEL_LOG)
    if signature.tier is Tier.POINTER or signature.role is Role.CASCADE:
        return (KERNEL_LOG, SCHEDULER_RECORD, OTHER_RANKS)
    if signature.domain in {Domain.HARDWARE, Domain.UNKNOWN} and not where.node:
        return (KERNEL_LOG,)
    return ()
