"""Buses, heat, processors and network cards of one machine, and what can't be killed."""

from __future__ import annotations

FORMS: dict[str, tuple[str, ...]] = {
    "pcie_fatal": (
        "{3}[Hardware Error]: PCIe fatal: device_id $pci.0, aer_uncor_status: 0x00040000 (malformed TLP)",
        "pcieport $pci.0: Surprise Down event on the slot, subtree is isolated",
        "vfio-pci $pci.0: completion timeout storm, root port put the slot into fatal error state",
    ),
    "pcie_fatal/error": (
        "RuntimeError: HIP error: device copy returned no data",
        "RuntimeError: device side of the copy engine is gone",
    ),
    "thermal_shutdown": (
        "power_meter ACPI000D:00: hw protection: inlet 61C above trip, initiating orderly poweroff",
        "coolant-loop: CDU reports no flow, manifold temperature critical: forced power off now",
        "amdgpu $pci.0: amdgpu: ERROR: System is going to shutdown due to GPU SW CTF!",
    ),
    "locked_up_host": (
        "sched: RT throttling; hung kernel thread kcompactd0: NMI backtrace for cpu 41: no forward progress for 60s",
        "clocksource: timekeeping watchdog on CPU41: hypervisor stole 58 s, host frozen",
        "workqueue: lockup-detector: all 8 vCPUs unresponsive, pool 82 wedged for 71s",
    ),
    "network_card_firmware": (
        "cxi_core 0000:5e:00.0: cxi0: firmware crash, uC heartbeat stopped, adapter must be power cycled",
        "ice 0000:5e:00.0: MDD/EMP reset did not finish, device unusable until reboot",
        "hfi1 0000:5e:00.0: hfi1_0: SPC freeze could not be left, adapter halted (err 0x$n)",
    ),
    "processes_cannot_be_killed/kernel": (
        "khungtaskd: python:301877 in uninterruptible wait for 245 s at amdgpu_fence_wait",
        "hung_task: lwp 301877 not scheduled since 368 s (state UN, wchan ll_file_read)",
    ),
    "processes_cannot_be_killed": (
        "teardown on $node incomplete: cgroup still holds 2 tasks after KILL was sent 12 times",
        "job agent $node: cannot reap children 301877,301880: unkillable; host goes offline for repair",
    ),
    "processes_cannot_be_killed/controller": (
        "$node set to drain by job agent: leftover tasks after kill",
        "host $node closed: undead job processes",
    ),
    "no_interface_on_one_node": (
        "rank $rank on $node: cxi provider: no device file /dev/cxi0, libfabric has no usable domain",
        "$node: HCCL_SOCKET_IFNAME: none of the NICs given is up on this machine (rank $rank)",
        "MPICH (rank $rank, $node): OFI fi_getinfo(): -61 No data available, no NIC was found",
    ),
    "multicast_on_one_node": (
        "$node: rank $rank: in-switch reduction group could not be joined (driver says -22), subnet agent of the host unhealthy?",
        "symmetric memory on $node (rank $rank): fabric handle export refused by IMEX daemon: not connected",
    ),
}
