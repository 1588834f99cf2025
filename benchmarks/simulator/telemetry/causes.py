"""In which words faults show: the stories that tell each cause."""

from __future__ import annotations

from relume.benchmarks.episodes.staging import stories
from relume.benchmarks.episodes.stories import Story
from relume.verdict import Domain

_OF_CAUSE = {
    "gpu": stories("gpu_falls_off", "nvlink_error", "pcie_fatal"),
    "gpu_memory": stories("double_bit_error", "contained_memory_error", "ecc_without_kernel_log"),
    "gpu_system_processor": stories("gsp_timeout"),
    "nic": stories("link_down", "own_port", "network_card_firmware"),
    "host": stories("pcie_fatal", "locked_up_host"),
    "node_down": stories("power_supply", "thermal_shutdown"),
    "switch": stories("links_of_many_nodes", "fabric"),
    "software": stories(
        "exception_everywhere",
        "cuda_oom_all_ranks",
        "shapes_differ",
        "bad_sample_on_one_rank",
        "device_side_assert",
        "collectives_differ",
    ),
    "collective_timeout": stories("fabric", "only_victims"),
}
"""By the names of the published causes (`published.toml`)."""
_OF_NODE = {
    Domain.HARDWARE: _OF_CAUSE["gpu"],
    Domain.NETWORK: _OF_CAUSE["nic"],
    Domain.FACILITY: _OF_CAUSE["node_down"],
    Domain.PLATFORM: stories("stale_handle_on_one_node", "lost_heartbeat"),
    Domain.WORKLOAD: stories("cuda_oom_one_rank", "segmentation_fault"),
}
_OF_NOBODY = {
    Domain.NETWORK: _OF_CAUSE["switch"],
    Domain.WORKLOAD: _OF_CAUSE["software"],
    Domain.PLATFORM: stories("shared_filesystem_stall", "shared_filesystem_full"),
    Domain.SCHEDULER: stories("time_limit", "preempted"),
}
PREEMPTED = stories("preempted")


def stories_of(cause: str, domain: Domain, *, of_node: bool) -> tuple[Story, ...]:
    """Return the stories that tell a cause; of one that isn't known those of its domain.

    Examples
    --------
    >>> [story.name for story in stories_of("gpu_system_processor", Domain.HARDWARE, of_node=True)]
    ['gsp_timeout']
    >>> len(stories_of("disk", Domain.HARDWARE, of_node=True))
    3
    """
    if cause in _OF_CAUSE:
        return _OF_CAUSE[cause]
    by_domain = _OF_NODE if of_node else _OF_NOBODY
    return by_domain.get(domain, _OF_CAUSE["collective_timeout"])
