"""Machines that break."""

from __future__ import annotations

FORMS: dict[str, tuple[str, ...]] = {
    "gpu_falls_off": (
        "amdgpu $pci.0: amdgpu: device lost from bus!",
        "habanalabs $pci.0: accel$gpu: PCI reads return 0xffffffff, device is gone, disabling it",
        "xe $pci.0: [drm] *ERROR* CRITICAL: Xe has declared device $pci.0 as wedged (lost MMIO)",
    ),
    "gpu_falls_off/error": (
        "»:0:rocdevice.cpp            :2984: Callback: Queue 0x$hex aborting with error : HSA_STATUS_ERROR: the agent has left (0x1000)",
        "RuntimeError: synDeviceSynchronize: status 26, device is no longer reachable",
        "RuntimeError: level_zero backend failed with error: 20 (UR_RESULT_ERROR_DEVICE_LOST)",
    ),
    "double_bit_error": (
        "amdgpu $pci.0: amdgpu: socket: 0, die: 0 1 uncorrectable hardware errors detected in umc block",
        "habanalabs $pci.0: HBM3 DERR interrupt on channel 5, ECC syndrome 0x$n: double-bit, not recoverable",
        "neuron:dev$gpu: fatal HBM event: uncorrectable (repairable) 1, device waits for repair",
    ),
    "double_bit_error/cleaned": (
        "amdgpu: evicting queues of process pid $pid",
        "habanalabs $pci.0: killing user process $pid before reset",
        "neuron:dev$gpu: closing handles of pid $pid",
    ),
    "double_bit_error/error": (
        "RuntimeError: HIP error: access to poisoned HBM page (RAS, uncorrected) on device $gpu",
        "RuntimeError: [SYNAPSE] fatal memory event on accel$gpu: HBM double-bit, recipe aborted",
        "»ERROR NRT:nrt_infodump  status=NRT_EXEC_HW_ERR_HBM_UE neuron-dev$gpu: uncorrectable memory error during execution\n"
        "  while running model.neff on nc0",
    ),
    "ecc_without_kernel_log": (
        "RuntimeError: accelerator reports an uncorrected memory error (RAS block umc, count 1), context is lost",
        "»nrt_execute: NRT_EXEC_HW_ERR_HBM_UE: HBM read returned uncorrectable data\n  at nrt/exec.cc:412",
        "jax.errors.JaxRuntimeError: DATA_LOSS: HBM parity check failed, chip must be repaired (halted core 0)",
    ),
    "contained_memory_error": (
        "amdgpu $pci.0: amdgpu: poison is consumed by client gfx, pid $pid is killed, page retired",
        "xe $pci.0: [drm] Tile0: HW ERROR: HBM: uncorrectable error, page offlined, exec queue of $pid banned",
        "habanalabs $pci.0: SRAM SERR/DERR: double error confined to engine TPC7, job of pid $pid aborted",
    ),
    "contained_memory_error/error": (
        "RuntimeError: HIP error: memory poisoned by a hardware fault was read, kernel killed",
        "RuntimeError: level_zero: exec queue banned after a memory hardware error (0x70000004)",
        "RuntimeError: [SYNAPSE] TPC7 halted by memory hardware event, graph cannot go on",
    ),
    "nvlink_error": (
        "amdgpu $pci.0: amdgpu: uncorrectable hardware error(s) detected in xgmi_wafl block, link 3",
        "habanalabs $pci.0: NIC5: SerDes lost lock, port 21 (internal scale-up) failed and is fenced",
        "xe $pci.0: iaf: port 4 degraded to FAILED, link integrity errors above threshold",
    ),
    "nvlink_error/error": (
        "RuntimeError: HIP error: peer access over XGMI met a fatal link fault",
        "RuntimeError: HCL: scale-up port 21 of accel$gpu is down, cannot reach neighbour",
        "RuntimeError: ze: fabric vertex unreachable: Xe Link port in failed state",
    ),
    "gsp_timeout": (
        "amdgpu $pci.0: amdgpu: SMU: response:0xFFFFFFFF for index:37 param:0x00000000, firmware gives no answer",
        "xe $pci.0: [drm] *ERROR* GT0: GuC CT: no response for request 0x550a (fence $n), firmware stuck",
        "habanalabs $pci.0: device CPU is not responding to heartbeat packets, firmware considered dead",
    ),
    "nvswitch_fatal": (
        "switchtec switchtec2: fatal event in partition 0, all downstream ports of the accelerator tray stopped",
        "nv-fabric: LinkX tray switch ASIC 3: unrecoverable internal parity, routes withdrawn",
        "scaleup-switch sw1: ASIC fault interrupt (code 0x$n), switching plane halted",
    ),
    "nvswitch_fatal/error": (
        "RuntimeError: HIP error: unspecified failure in a peer copy",
        "RuntimeError: peer write over the scale-up network was not acknowledged",
    ),
    "node_lost": (
        "Node $node: boot agent and job agent silent beyond limit, marked unavailable",
        "error: ping sweep: $node gave no reply in 6 rounds, state changed to DOWN*+NO_RESPOND",
        "hsm: component $node is Off/NotReady (was On/Ready), work on it is void",
    ),
    "node_lost/killed": (
        "job $job ended early: member $node is unavailable",
        "JobId=$job ends, it had ranks on unreachable $node",
        "job $job: lost member $node",
    ),
    "node_rebooted": (
        "mce: Uncorrected hardware memory error in kernel text at 1f$hex, no way to recover, restarting",
        "EDAC skx MC3: UE memory read error on DIMM_D1, fatal - machine will be reset",
        "CPER: fatal PCI/CPU bus error section, firmware-first, system is going down",
    ),
    "node_rebooted/controller": (
        "registration of $node carries a younger boot id than its jobs, they are ended",
        "Node $node came up again by itself (uptime 74 s), failing what ran there",
    ),
    "power_supply": (
        "redfish-eventd[941]: PowerSupply.PSU3.InputLost severity=Critical: chassis lost input power, host is off",
        "healthd[1388]: chassis power: both feeds below 180 V, blade emergency-off issued",
        "cmcd[655]: rectifier shelf 2: output collapsed, slots 4-7 dropped",
    ),
    "gpu_missing_at_start": (
        "amdgpu $pci.0: amdgpu: Fatal error during GPU init",
        "habanalabs $pci.0: failed to load boot fit, device stays unusable (preboot status 0x$n)",
        "xe $pci.0: [drm] *ERROR* GT0: failed to init: uC firmware did not start (-110)",
    ),
    "gpu_missing_at_start/error": (
        "RuntimeError: rocm: hipGetDeviceCount gives one device less than /sys/class/kfd says should be here",
        "RuntimeError: synDeviceAcquire: accelerator $gpu of this host can not be acquired (no such module)",
        "RuntimeError: ordinal $gpu is out of range: the runtime enumerated fewer accelerators than asked for",
    ),
}
