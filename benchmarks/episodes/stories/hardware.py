"""Machines that break: GPUs, NVLink, memory, power, whole nodes."""

from __future__ import annotations

from relume.benchmarks.episodes.endings import (
    ended,
    job_aborted,
    node_failure,
    peers_lost,
    timeouts,
)
from relume.benchmarks.episodes.script import Script
from relume.benchmarks.episodes.stories.story import Story, trains, truth, victims_wait


def _gpu_falls_off(s: Script) -> None:
    trains(s)
    rank = s.world.some_rank()
    node, pci = s.world.node_of(rank), s.world.pci(rank)
    truth(s, "crash hang", "hardware", rank=rank, exclude=True)
    text = s.say(
        [
            f"NVRM: Xid (PCI:{pci}): 79, pid='<unknown>', name=<unknown>, GPU has fallen off the bus.",
            f"NVRM: GPU {pci}.0: GPU has fallen off the bus.",
        ],
        [
            f"NVRM: Xid (PCI:{pci}): 79, GPU has fallen off the bus.",
            f"nvidia {pci}.0: device lost from the PCI Express bus, config space reads all ones",
            f"pcieport {pci[:5]}16:01.0: pciehp: Slot(3): Link Down\nNVRM: GPU at PCI:{pci}: lost, "
            "driver stops using it",
        ],
        slot="gpu_falls_off",
    )
    s.kernel(node, text, roots=(0, -1))
    s.wait(1, 4)
    if s.rng.random() < 0.7:
        s.exception(
            rank,
            s.say(
                [
                    "RuntimeError: CUDA error: unknown error",
                    "RuntimeError: CUDA error: unspecified launch failure",
                ],
                slot="gpu_falls_off/error",
            ),
            late=0.0,
        )
        victims_wait(s, rank)
        ended(s, rank, code=1)
    else:
        others = s.others(rank)
        timeouts(s, others)
        ended(s, others[0], code=-6, pointer=False)


def _double_bit_error(s: Script) -> None:
    trains(s)
    rank = s.world.some_rank()
    node, pci, pid = s.world.node_of(rank), s.world.pci(rank), s.world.pid(rank)
    truth(s, "crash", "hardware", rank=rank, exclude=True)
    s.kernel(
        node,
        s.say(
            [
                f"NVRM: Xid (PCI:{pci}): 48, pid={pid}, name=python, DBE (double bit error) on FBPA 3"
            ],
            [
                f"NVRM: Xid (PCI:{pci}): 140, pid={pid}, name=python3, unrecoverable ECC error in L2",
                f"nvidia-gpu {pci}: uncorrectable memory error, 1 volatile, page retirement requested",
            ],
            slot="double_bit_error",
        ),
        roots=(-1,),
    )
    cleaned = f"NVRM: Xid (PCI:{pci}): 45, pid={pid}, name=python, Ch 00000008"
    s.kernel(node, s.swap(cleaned, "double_bit_error/cleaned"), after=0.2)
    s.wait(0.5, 2)
    s.exception(
        rank,
        s.say(
            ["torch.AcceleratorError: CUDA error: uncorrectable ECC error encountered"],
            [
                "jaxlib.xla_extension.XlaRuntimeError: INTERNAL: CUDA_ERROR_ECC_UNCORRECTABLE: "
                "uncorrectable ECC error encountered",
                "cupy_backends.cuda.api.runtime.CUDARuntimeError: cudaErrorECCUncorrectable: "
                "uncorrectable ECC error encountered",
            ],
            slot="double_bit_error/error",
        ),
        root=True,
    )
    victims_wait(s, rank)
    ended(s, rank, code=1)


def _ecc_without_kernel_log(s: Script) -> None:
    trains(s)
    rank = s.world.some_rank()
    truth(s, "crash", "hardware", rank=rank, exclude=True)
    late = s.rng.choice((0.0, 8.0))
    s.exception(
        rank,
        s.say(
            ["RuntimeError: CUDA error: uncorrectable ECC error encountered"],
            [
                "hip error: 'uncorrectable ECC error'(214) on device in hipStreamSynchronize",
                "tensorflow.python.framework.errors_impl.InternalError: CUDA_ERROR_ECC_UNCORRECTABLE: "
                "uncorrectable ECC error encountered",
            ],
            slot="ecc_without_kernel_log",
        ),
        root=True,
        late=late,
    )
    victims_wait(s, rank)
    ended(s, rank, code=1)


def _contained_error(s: Script) -> None:
    trains(s)
    rank = s.world.some_rank()
    node, pci, pid = s.world.node_of(rank), s.world.pci(rank), s.world.pid(rank)
    truth(s, "crash", "hardware", rank=rank, exclude=True)
    s.kernel(
        node,
        s.say(
            [f"NVRM: Xid (PCI:{pci}): 94, pid={pid}, name=python, Contained: L2 SLICE"],
            [
                f"NVRM: Xid (PCI:{pci}): 95, pid={pid}, name=python3, Uncontained: LTC TAG (0x1,0x0)",
                f"NVRM: Xid (PCI:{pci} GPU-I:02): 94, pid={pid}, name=python, Contained: CE User Channel",
            ],
            slot="contained_memory_error",
        ),
        roots=(-1,),
    )
    s.wait(0.2, 1)
    error = "RuntimeError: CUDA error: uncorrectable ECC error encountered"
    s.exception(rank, s.swap(error, "contained_memory_error/error"), root=True)
    victims_wait(s, rank)
    ended(s, rank, code=1)


def _nvlink(s: Script) -> None:
    trains(s)
    rank = s.world.some_rank()
    node, pci = s.world.node_of(rank), s.world.pci(rank)
    truth(s, "crash hang", "hardware", rank=rank, exclude=True)
    s.kernel(
        node,
        s.say(
            [
                f"NVRM: Xid (PCI:{pci}): 74, pid='<unknown>', name=<unknown>, NVLink: fatal error "
                "detected on link 5(0x10000, 0x0, 0x0, 0x0, 0x0, 0x0, 0x0)",
            ],
            [
                f"NVRM: Xid (PCI:{pci}): 149, NETIR_LINK_EVT  Fatal   XC0 i0 Link 06 (0x004505c6 0x0)",
                f"nvidia {pci}: nvlink 5: training failed, link disabled after 3 fatal replays",
            ],
            slot="nvlink_error",
        ),
        roots=(-1,),
    )
    s.wait(0.5, 2)
    mates = [r for r in s.world.ranks_of(node) if r != rank][:2]
    error = s.say(
        [
            "RuntimeError: CUDA error: uncorrectable NVLink error detected during the execution",
            "RuntimeError: CUDA error: Invalid access of peer GPU memory over nvlink or a hardware error",
        ],
        ["jaxlib.xla_extension.XlaRuntimeError: INTERNAL: CUDA_ERROR_NVLINK_UNCORRECTABLE"],
        slot="nvlink_error/error",
    )
    s.exception(rank, error, root=True)
    for mate in mates:
        s.exception(mate, error, after=s.rng.uniform(0.1, 1.0), root=True)
    victims_wait(s, rank)
    ended(s, rank, code=1)


def _gsp_timeout(s: Script) -> None:
    trains(s)
    rank = s.world.some_rank()
    node, pci, pid = s.world.node_of(rank), s.world.pci(rank), s.world.pid(rank)
    truth(s, "hang crash", "hardware", rank=rank, exclude=True)
    s.kernel(
        node,
        s.say(
            [
                f"NVRM: Xid (PCI:{pci}): 119, pid={pid}, name=python, Timeout after 6s of waiting for "
                "RPC response from GPU2 GSP! Expected function 76 (GSP_RM_CONTROL) (0x20802068 0x4).",
            ],
            [
                f"NVRM: _kgspIsHeartbeatTimedOut: GSP of {pci} has not answered for 6000 ms",
                f"NVRM: Xid (PCI:{pci}): 120, pid={pid}, name=python, GSP task exception: load access "
                "fault (cause:0x5)",
            ],
            slot="gsp_timeout",
        ),
        roots=(-1,),
    )
    others = s.others(rank)
    timeouts(s, others)
    ended(s, others[-1], code=-6, pointer=False)


def _nvswitch(s: Script) -> None:
    trains(s)
    node = s.world.some_node()
    rank = s.world.ranks_of(node)[0]
    truth(s, "crash hang", "hardware", node=node, exclude=True)
    s.kernel(
        node,
        s.say(
            [
                "nvidia-nvswitch2: SXid (PCI:0000:c2:00.0): 22003, Fatal, Link 28 egress non-posted PRIV "
                "error (First)",
            ],
            [
                "nvidia-nvswitch1: SXid (PCI:0000:c1:00.0): 19084, Fatal, Link 40 AN1 Heartbeat Timeout Error",
                "nvidia-nvswitch3: fatal error on port 12, fabric partition taken down",
            ],
            slot="nvswitch_fatal",
        ),
        roots=(-1,),
    )
    s.wait(0.5, 2)
    for mate in s.world.ranks_of(node):
        s.exception(
            mate,
            s.swap("RuntimeError: CUDA error: unspecified launch failure", "nvswitch_fatal/error"),
            after=s.rng.uniform(0, 2),
        )
    peers_lost(s, [r for r in s.others(rank) if s.world.node_of(r) != node], lost=rank)
    ended(s, rank, code=1)


def _node_lost(s: Script) -> None:
    trains(s)
    node = s.world.some_node()
    rank = s.world.ranks_of(node)[0]
    truth(s, "crash", "hardware platform unknown", node=node, exclude=True)
    s.truth.state, s.truth.exit_code = "NODE_FAIL", "1:0"
    gone = set(s.world.ranks_of(node))
    peers_lost(s, [r for r in range(s.world.ranks) if r not in gone], lost=rank)
    s.wait(30, 200)
    has_controller = s.rng.random() < 0.6
    if has_controller:
        s.controller(
            s.say(
                [f"error: Nodes {node} not responding, setting DOWN"],
                [
                    f"node_did_not_resp: {node} is DOWN after SlurmdTimeout",
                    f"error: {node}: lost contact for 300 s, node set to DOWN*",
                ],
                slot="node_lost",
            ),
            roots=(0,),
            tells={"node"},
        )
        s.controller(
            s.swap(f"Killing JobId={s.world.job_id} on failed node {node}", "node_lost/killed"),
            after=0.1,
            roots=(0,),
            tells={"node"},
        )
    if not has_controller or s.rng.random() < 0.7:
        node_failure(s, node, after=0.5)
    job_aborted(s, " DUE TO NODE FAILURE, SEE SLURMCTLD LOG FOR DETAILS")


def _rebooted(s: Script) -> None:
    trains(s)
    node = s.world.some_node()
    rank = s.world.ranks_of(node)[0]
    truth(s, "crash", "hardware platform facility", node=node, exclude=True)
    s.truth.state = "NODE_FAIL"
    cause = s.say(
        [
            "mce: [Hardware Error]: CPU 12: Machine Check Exception: 5 Bank 7: be00000000800400",
            "Kernel panic - not syncing: Fatal hardware error!",
        ],
        [
            "{1}[Hardware Error]: event severity: fatal, section_type: memory error, node 1 card 3",
            "thermal thermal_zone0: acpitz: critical temperature reached, shutting down",
            "NMI: PCI system error (SERR) for reason b1 on CPU 0. Dazed and confused, halting",
        ],
        slot="node_rebooted",
    )
    s.kernel(node, cause, roots=(0,))
    gone = set(s.world.ranks_of(node))
    s.wait(3, 15)
    peers_lost(s, [r for r in range(s.world.ranks) if r not in gone], lost=rank)
    s.wait(100, 240)
    s.controller(
        s.say(
            [
                f"error: Node {node} unexpectedly rebooted boot_time=1788000000 last response=1787999000"
            ],
            [
                f"validate_node_specs: Node {node} came back with a new boot time, jobs on it are lost"
            ],
            slot="node_rebooted/controller",
        ),
        roots=(0,),
        tells={"node"},
    )
    node_failure(s, node, after=0.4)
    s.wait(4)


def _power_supply(s: Script) -> None:
    trains(s)
    node = s.world.some_node()
    rank = s.world.ranks_of(node)[0]
    truth(s, "crash", "facility hardware platform", node=node, exclude=True)
    s.truth.state = "NODE_FAIL"
    s.daemon(
        node,
        s.say(
            ["ipmievd[1201]: Power Supply sensor PS1 Status Power Supply AC lost Asserted"],
            [
                "bmc-watch[880]: SEL 0x41: PSU2 input out of range, redundancy lost, chassis power off",
                "ipmi-sel[7712]: Power Unit #0x77 | Power off/down | Asserted",
            ],
            slot="power_supply",
        ),
        roots=(0,),
    )
    gone = set(s.world.ranks_of(node))
    s.wait(1, 4)
    peers_lost(s, [r for r in range(s.world.ranks) if r not in gone], lost=rank)
    s.wait(60, 200)
    down = s.swap(f"error: Nodes {node} not responding, setting DOWN", "node_lost")
    s.controller(down, roots=(0,), tells={"node"})
    node_failure(s, node, after=0.4)
    s.wait(4)


def _gpu_missing_at_start(s: Script) -> None:
    s.wait(3, 8)
    rank = s.world.some_rank()
    node, pci = s.world.node_of(rank), s.world.pci(rank)
    truth(s, "crash", "hardware platform", rank=rank, exclude=True)
    if s.rng.random() < 0.6:
        s.kernel(
            node,
            s.say(
                [f"NVRM: GPU {pci}.0: RmInitAdapter failed! (0x62:0xffff:2369)"],
                [
                    f"nvidia {pci}.0: probe with driver nvidia failed with error -1",
                    f"NVRM: Xid (PCI:{pci}): 143, GPU initialization failure (0x1e)",
                ],
                slot="gpu_missing_at_start",
            ),
            roots=(0,),
        )
    s.wait(0.3, 2)
    s.exception(
        rank,
        s.say(
            [
                "RuntimeError: CUDA error: no CUDA-capable device is detected",
                "RuntimeError: CUDA unknown error - this may be due to an incorrectly set up environment, "
                "e.g. changing env variable CUDA_VISIBLE_DEVICES after program start. Setting the "
                "available devices to be zero.",
            ],
            [
                "jaxlib.xla_extension.XlaRuntimeError: FAILED_PRECONDITION: No visible GPU devices.",
                f"RuntimeError: expected {s.world.per_node} GPUs on this host, found "
                f"{s.world.per_node - 1}: device {s.world.local(rank)} is missing",
            ],
            slot="gpu_missing_at_start/error",
        ),
        root=True,
    )
    peers_lost(s, s.others(rank), lost=rank, after=2.0)
    ended(s, rank, code=1)


STORIES = (
    Story("gpu_falls_off", _gpu_falls_off, 2),
    Story("double_bit_error", _double_bit_error, 2),
    Story("ecc_without_kernel_log", _ecc_without_kernel_log, 2),
    Story("contained_memory_error", _contained_error, 2),
    Story("nvlink_error", _nvlink, 2),
    Story("gsp_timeout", _gsp_timeout, 2),
    Story("nvswitch_fatal", _nvswitch, 2),
    Story("node_lost", _node_lost, 2),
    Story("node_rebooted", _rebooted, 2),
    Story("power_supply", _power_supply, 2),
    Story("gpu_missing_at_start", _gpu_missing_at_start, 2),
)
