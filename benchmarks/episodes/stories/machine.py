"""More that breaks in one machine: buses, heat, processors, network cards, what cannot be killed."""

from __future__ import annotations

from relume.benchmarks.episodes.endings import (
    ended,
    job_aborted,
    node_failure,
    peers_lost,
    timeouts,
)
from relume.benchmarks.episodes.script import Script, clock
from relume.benchmarks.episodes.stories.story import Story, trains, truth, victims_wait


def _bus_error(s: Script) -> None:
    trains(s)
    rank = s.world.some_rank()
    node, pci = s.world.node_of(rank), s.world.pci(rank)
    truth(s, "crash hang", "hardware", rank=rank, exclude=True)
    s.kernel(
        node,
        s.say(
            [
                f"pcieport {pci[:5]}16:01.0: AER: Uncorrected (Fatal) error received: {pci}.0",
                f"nvidia {pci}.0: PCIe Bus Error: severity=Uncorrected (Fatal), type=Transaction Layer, "
                "(Requester ID)",
            ],
            [
                f"pcieport {pci[:5]}16:01.0: DPC: containment event, status:0x1f01 source:0x0000, "
                f"uncorrectable error of {pci}.0",
                f"EEH: Frozen PE#10 on PHB#2 detected, location of {pci}",
            ],
            slot="pcie_fatal",
        ),
        roots=(0,),
    )
    s.wait(0.5, 2)
    error = s.swap("RuntimeError: CUDA error: unspecified launch failure", "pcie_fatal/error")
    s.exception(rank, error)
    victims_wait(s, rank)
    ended(s, rank, code=1)


def _too_hot(s: Script) -> None:
    trains(s)
    node = s.world.some_node()
    rank = s.world.ranks_of(node)[0]
    truth(s, "crash", "facility hardware platform", node=node, exclude=True)
    s.truth.state = "NODE_FAIL"
    s.used_new = s.used_new or s.new_words
    s.kernel(
        node,
        s.swap(
            s.rng.choice(
                (
                    "thermal thermal_zone2: critical temperature reached (105 C), shutting down",
                    "CPU4: Core temperature above threshold, cpu clock throttled; reboot: Power down",
                    "Emergency shutdown: temperature of GPU tray is 102 C, limit 98 C",
                )
            ),
            "thermal_shutdown",
        ),
        roots=(0,),
    )
    s.wait(2, 9)
    gone = set(s.world.ranks_of(node))
    peers_lost(s, [r for r in range(s.world.ranks) if r not in gone], lost=rank)
    s.wait(60, 200)
    down = s.swap(f"error: Nodes {node} not responding, setting DOWN", "node_lost")
    s.controller(down, roots=(0,), tells={"node"})
    node_failure(s, node, after=0.4)
    s.wait(4)


def _locked_up(s: Script) -> None:
    trains(s)
    node = s.world.some_node()
    mine = s.world.ranks_of(node)
    truth(s, "hang crash", "hardware platform", node=node, exclude=True)
    s.kernel(
        node,
        s.say(
            ["watchdog: BUG: soft lockup - CPU#41 stuck for 52s! [python:301877]"],
            [
                "rcu: INFO: rcu_sched self-detected stall on CPU 41, t=60002 jiffies, ncpus=128",
                "watchdog: Watchdog detected hard LOCKUP on cpu 41",
            ],
            slot="locked_up_host",
        ),
        roots=(0,),
    )
    others = [r for r in range(s.world.ranks) if r not in mine] or list(mine)
    timeouts(s, others)
    ended(s, others[0], code=-6, pointer=False)


def _card_firmware(s: Script) -> None:
    trains(s)
    node = s.world.some_node()
    rank = s.world.ranks_of(node)[0]
    truth(s, "crash hang", "network hardware", node=node, exclude=True)
    s.kernel(
        node,
        s.say(
            [
                "mlx5_core 0000:5e:00.0: poll_health:800:(pid 0): device's health compromised - reached miss count",
                "mlx5_core 0000:5e:00.0: wait_func:1162:(pid 7712): ACCESS_REG(0x805) timeout. Will cause a leak "
                "of a command resource",
            ],
            [
                "mlx5_core 0000:5e:00.0: fw tracer: assert_var 0x1, synd 0x8: unrecoverable, function disabled",
                "bnxt_en 0000:5e:00.0: firmware is not responding, hwrm cmd 0x23 timed out",
                "irdma 0000:5e:00.0: AEQ: critical error, requesting reset of the function",
            ],
            slot="network_card_firmware",
        ),
        roots=(0,),
    )
    s.wait(2, 6)
    peers_lost(s, s.others(rank), lost=rank)
    ended(s, s.others(rank)[0], code=1, pointer=False)


def _cannot_be_killed(s: Script) -> None:
    """Everything has ended but for one node's processes, which hang in the kernel."""
    trains(s)
    node = s.world.some_node()
    truth(s, "crash hang unknown", "platform hardware", node=node, exclude=True)
    s.kernel(
        node,
        s.swap(
            "INFO: task python:301877 blocked for more than 122 seconds.",
            "processes_cannot_be_killed/kernel",
        ),
        roots=(0,),
    )
    s.wait(60, 120)
    at = clock("%Y-%m-%dT%H:%M:%S")
    s.launch(
        s.say(
            [
                f"slurmstepd: error: *** STEP {s.world.job_id}.0 STEPD TERMINATED ON {node} AT {at} DUE TO JOB NOT "
                "ENDING WITH SIGNALS ***",
            ],
            [
                f"clean-up on {node} gave up after 180 s: pids 301877 301880 ignore SIGKILL (state D)",
                f"{node}: step manager: 2 processes survive SIGKILL, node is taken out of service",
            ],
            slot="processes_cannot_be_killed",
        ),
        roots=(0,),
        tells={"node"},
    )
    s.controller(
        s.swap(
            f"update_node: node {node} reason set to: Kill task failed",
            "processes_cannot_be_killed/controller",
        ),
        roots=(0,),
        tells={"node"},
        after=0.5,
    )
    job_aborted(s)


def _no_interface(s: Script) -> None:
    """One host has no network device to talk by."""
    s.wait(3, 6)
    node = s.world.some_node()
    mine = s.world.ranks_of(node)
    truth(s, "crash", "platform network hardware", node=node, exclude=True)
    words = s.say(["known"], ["ofi", "env"])
    for rank in mine:
        pid, local = s.world.pid(rank), s.world.local(rank)
        text = {
            "known": f"{node}:{pid}:{pid + 8} [{local}] bootstrap.cc:45 NCCL WARN Bootstrap : no socket interface "
            "found",
            "ofi": f"{node}:{pid} [{local}] ofi: fi_getinfo: no provider matches (efa: no device)",
            "env": f"{node}: interface 'ib0' asked for by NCCL_SOCKET_IFNAME does not exist on this host",
        }[words]
        s.rank(
            rank,
            s.swap(text, "no_interface_on_one_node", rank=rank),
            roots=(0,),
            tells={"node"},
            raw=True,
            after=s.rng.uniform(0, 1),
        )
    s.wait(2, 3)
    peers_lost(s, [r for r in range(s.world.ranks) if r not in mine], lost=mine[0])
    ended(s, mine[0], code=1)


def _multicast(s: Script) -> None:
    """NVLink SHARP cannot be bound on one host: its fabric manager."""
    s.wait(4, 9)
    node = s.world.some_node()
    mine = s.world.ranks_of(node)
    truth(s, "crash", "hardware platform", node=node, exclude=True)
    for rank in mine:
        pid, local = s.world.pid(rank), s.world.local(rank)
        s.rank(
            rank,
            s.say(
                [
                    f"{node}:{pid}:{pid + 8} [{local}] transport/nvls.cc:254 NCCL WARN Failed to bind NVLink SHARP "
                    "(NVLS) Multicast memory of size 2097152 : CUDA error 1 'invalid argument'.",
                ],
                [
                    f"{node}:{pid} [{local}] nvshmem: multicast object could not be bound (cuMulticastBindMem: 1), is "
                    "the fabric manager of this host healthy?",
                ],
                slot="multicast_on_one_node",
                rank=rank,
            ),
            roots=(0,),
            tells={"node"},
            raw=True,
            after=s.rng.uniform(0, 1),
        )
    s.wait(2, 3)
    peers_lost(s, [r for r in range(s.world.ranks) if r not in mine], lost=mine[0])
    ended(s, mine[0], code=1)


STORIES = (
    Story("pcie_fatal", _bus_error, 2),
    Story("thermal_shutdown", _too_hot, 2),
    Story("locked_up_host", _locked_up, 2),
    Story("network_card_firmware", _card_firmware, 2),
    Story("processes_cannot_be_killed", _cannot_be_killed, 2),
    Story("no_interface_on_one_node", _no_interface, 2),
    Story("multicast_on_one_node", _multicast, 2),
)
