"""What a system's log explains of the lines that ranks print: they report late, and as symptoms.

CUDA errors are asynchronous: the call that raises one is later than the fault, and its Python line
has nothing to do with it. The kernel's line of the same node, GPU and time says what happened. In
the same way a link that went down explains what NCCL reports of its connections, and storage that
stopped to answer explains collectives that nobody joins.
"""

from __future__ import annotations

from relume.models.diagnosis.clocks import MICROSECONDS, node_of
from relume.models.diagnosis.episode import Episode, number_of
from relume.models.ranks.pci import normal_pci
from relume.models.signatures.hit import Hit
from relume.models.signatures.rule import Role, Tier
from relume.slurm.nodes import short_name
from relume.verdict import JOB_STREAMS

JOIN_SECONDS = 120
"""A device's fault and the CUDA error that reports it are at most so far apart (signature
reference, fact 4)."""
STALL_CATEGORIES = frozenset({"nccl", "torch_nccl", "rendezvous"})
_ASYNCHRONOUS = frozenset(
    {
        *("cuda_illegal_access", "cuda_unspecified_launch", "cuda_ecc_uncorrectable"),
        *("cuda_nvlink_uncorrectable", "cuda_misaligned", "cuda_launch_timeout"),
        *("cuda_unknown_error", "generic_cuda_error", "cublas_exec", "cudnn_error"),
        *("nccl_unhandled_cuda", "nccl_cuda_failure", "cuda_devices_busy", "cuda_no_device"),
    }
)
"""Rules of errors that a later call reports; what the call itself does wrong is not among them."""
_LINK_CAUSES = frozenset({"nic_link_down", "ib_port_down", "nic_firmware", "nic_driver_stall"})
_FABRIC_CATEGORIES = STALL_CATEGORIES | {"container"}
_FABRIC_TIERS = frozenset({Tier.FABRIC, Tier.TIMEOUT})


def reports_device(episode: Episode, hit: Hit, earlier: Hit) -> bool:
    """Whether `hit` is a CUDA error that reports the device fault which the kernel logged."""
    return (
        hit.signature.id in _ASYNCHRONOUS
        and earlier.signature.category == "gpu_driver"
        and earlier.signature.role in {Role.ROOT, Role.CONFIRMATION}
        and earlier.line.stream not in JOB_STREAMS
        and _same_device(episode, hit, earlier)
        and _near(episode, hit, earlier)
    )


def reports_link(episode: Episode, hit: Hit, earlier: Hit) -> bool:
    """Whether `hit` tells of connections that were lost after a link had gone down."""
    return (
        hit.signature.tier in _FABRIC_TIERS
        and hit.signature.category in _FABRIC_CATEGORIES
        and earlier.signature.cause in _LINK_CAUSES
        and _is_kernels_root(earlier)
        and not _is_later(episode, earlier, hit)
    )


def reports_stall(episode: Episode, hit: Hit, earlier: Hit) -> bool:
    """Whether `hit` is a collective's time-out after storage or a driver had stopped to answer."""
    return (
        hit.signature.tier is Tier.TIMEOUT
        and hit.signature.category in STALL_CATEGORIES
        and earlier.signature.tier is Tier.TIMEOUT
        and earlier.signature.category == "host"
        and _is_kernels_root(earlier)
        and not _is_later(episode, earlier, hit)
    )


def _is_kernels_root(hit: Hit) -> bool:
    return hit.signature.role is Role.ROOT and hit.line.stream not in JOB_STREAMS


def _same_device(episode: Episode, hit: Hit, device: Hit) -> bool:
    """Whether both can be of one GPU; what isn't known speaks against nothing."""
    node, other = node_of(hit, episode.ranks), device.line.node
    if node is not None and other is not None and short_name(node) != short_name(other):
        return False
    rank = number_of(hit.line)
    pci, faulty = episode.ranks.place(rank).pci, normal_pci(device.captures.get("gpu"))
    return pci is None or faulty is None or pci == faulty


def _near(episode: Episode, hit: Hit, device: Hit) -> bool:
    times = (episode.time(hit), episode.time(device))
    if times[0] is None or times[1] is None:
        return True
    return abs(times[0] - times[1]) <= JOIN_SECONDS * MICROSECONDS


def _is_later(episode: Episode, hit: Hit, other: Hit) -> bool:
    """Whether `hit` is known to be clearly later than `other`."""
    times = (episode.time(hit), episode.time(other))
    if times[0] is None or times[1] is None:
        return False
    return times[0] - times[1] > JOIN_SECONDS * MICROSECONDS
