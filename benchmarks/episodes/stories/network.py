"""Links, ports, fabrics and names: what breaks between the nodes."""

from __future__ import annotations

from relume.benchmarks.episodes.endings import ended, peers_lost, taken_down, timeouts
from relume.benchmarks.episodes.script import Script, clock
from relume.benchmarks.episodes.stories.story import Story, trains, truth


def _link_down(s: Script) -> None:
    trains(s)
    node = s.world.some_node()
    rank = s.rng.choice(s.world.ranks_of(node))
    nic = s.rng.randrange(8)
    truth(s, "crash hang", "network hardware", node=node, exclude=True)
    s.kernel(
        node,
        s.say(
            [
                f"mlx5_core 0000:{0x18 + nic:02x}:00.0 ib{nic}: Link down",
                f"mlx5_core 0000:{0x18 + nic:02x}:00.0: Port: 1 Link DOWN",
            ],
            [
                f"infiniband mlx5_{nic}: port 1 state changed to DOWN (physical state Polling)",
                f"bnxt_en 0000:{0x18 + nic:02x}:00.0 ens{nic}f0np0: NIC Link is Down",
                f"efa 0000:{0x18 + nic:02x}:00.0: link lost, admin queue is not responding",
            ],
            slot="link_down",
            nic=nic,
        ),
        roots=(0,),
    )
    s.wait(3, 12)
    _completions(s, rank, count=min(6, s.world.ranks - s.world.per_node), nic=nic)
    peers_lost(s, s.others(rank), lost=rank)
    ended(s, s.others(rank)[0], code=1, pointer=False)


def _completions(s: Script, rank: int, *, count: int, nic: int, roots: bool = False) -> None:
    """Peers of a rank report that it does not answer."""
    world = s.world
    node = world.node_of(rank)
    peers = [r for r in range(world.ranks) if world.node_of(r) != node]
    words = s.say(["nccl"], ["new nccl", "ucx", "libfabric"])
    for peer in s.rng.sample(peers, count):
        host, pid, local = world.node_of(peer), world.pid(peer), world.local(peer)
        if words == "ucx":
            text = (
                f"[{clock('%s.%f')}] [{host}:{pid} :0] ib_mlx5_log.c:171  Transport retry count exceeded on "
                f"mlx5_{nic}:1/IB (synd 0x15 vend 0x81 hw_synd 0/0) dest {node}"
            )
        elif words == "libfabric":
            text = (
                f"{host}:{pid} [{local}] ofi: send to {node} (rank {rank}) failed: "
                "error 113 (No route to host), prov_errno 6 (unreachable remote)"
            )
        elif words == "new nccl":
            text = (
                f"{host}:{pid}:{pid + 300} [{local}] transport/net_ib/p2p.cc:512 NCCL WARN NET/IB: Got "
                f"completion from peer {node}<43112> with status=IBV_WC_RETRY_EXC_ERR(12) opcode=0 len=0 "
                f"vendor err 129 (Send) hca mlx5_{nic}"
            )
        else:
            text = (
                f"{host}:{pid}:{pid + 300} [{local}] transport/net_ib.cc:1295 NCCL WARN NET/IB : Got "
                f"completion from peer {world.address(node)}<43112> with status=12 opcode=0 len=0 vendor "
                f"err 129 (Send) localGid fe80::1 remoteGids fe80::2 hca mlx5_{nic}"
            )
        text = s.swap(text, "peer_unreachable", rank=peer, target=node, lost=rank, nic=nic)
        s.rank(
            peer,
            text,
            after=s.rng.uniform(0, 3),
            raw=True,
            roots=(0,) if roots else (),
            tells={"node"} if roots else (),
        )
    s.wait(3, 5)


def _peer_unreachable(s: Script) -> None:
    trains(s)
    node = s.world.some_node()
    rank = s.rng.choice(s.world.ranks_of(node))
    truth(s, "crash hang", "network hardware", node=node, exclude=True)
    # Three and more nodes: two that only accuse each other would say nothing.
    count = min(8, s.world.ranks - s.world.per_node)
    _completions(s, rank, count=count, nic=s.rng.randrange(8), roots=True)
    peers_lost(s, s.others(rank), lost=rank)
    ended(s, s.others(rank)[-1], code=1, pointer=False)


def _own_port(s: Script) -> None:
    """One host's completions fail towards everybody: its own port is the common part."""
    trains(s)
    world = s.world
    node = world.some_node()
    nic = s.rng.randrange(8)
    truth(s, "crash hang", "network hardware", node=node, exclude=True)
    mine = world.ranks_of(node)
    peers = [r for r in range(world.ranks) if world.node_of(r) != node]
    fatal = s.say(
        ["async"],
        ["verbs", "rdma"],
    )
    for rank in s.rng.sample(list(mine), min(4, len(mine))):
        pid, local = world.pid(rank), world.local(rank)
        peer = world.node_of(s.rng.choice(peers))
        text = {
            "async": (
                f"{node}:{pid}:{pid + 310} [{local}] transport/net_ib/common.cc:88 NCCL WARN NET/IB : "
                f"mlx5_{nic}:1 async fatal event: port error"
            ),
            "verbs": (
                f"{node}:{pid} [{local}] ibv_get_async_event: device mlx5_{nic} port 1: "
                "IBV_EVENT_DEVICE_FATAL, device is unusable"
            ),
            "rdma": (
                f"{node}:{pid} [{local}] rdma transport: local device mlx5_{nic} failed, all 31 "
                f"connections broken (last peer {peer})"
            ),
        }[fatal]
        text = s.swap(text, "own_port", rank=rank, nic=nic)
        s.rank(rank, text, after=s.rng.uniform(0, 1), raw=True, roots=(0,), tells={"node"})
    s.wait(2, 5)
    peers_lost(s, peers, lost=mine[0])
    ended(s, peers[0], code=1, pointer=False)


def _fabric(s: Script) -> None:
    """Everybody waits for the same operation, nobody lags: the fabric, and nobody to blame."""
    trains(s)
    truth(s, "hang crash", "network unknown")
    everyone = list(range(s.world.ranks))
    timeouts(s, everyone, roots=True, seconds=s.rng.choice((300, 600, 1800)))
    taken_down(s, everyone)
    ended(s, s.rng.choice(everyone), code=-6, pointer=False)


def _flap(s: Script) -> None:
    """A link that comes back while other nodes' links do, too: the switch."""
    trains(s)
    truth(s, "crash hang", "network")
    nodes = s.rng.sample(s.world.nodes, min(len(s.world.nodes), 6))
    for node in nodes:
        for nic in (0, 1):
            after = s.rng.uniform(0, 1)
            s.kernel(
                node,
                s.say(
                    [f"mlx5_core 0000:{0x18 + nic:02x}:00.0 ib{nic}: Link down"],
                    [
                        f"infiniband mlx5_{nic}: port 1 state changed to DOWN (physical state Polling)"
                    ],
                    slot="links_of_many_nodes",
                    nic=nic,
                ),
                after=after,
                roots=(0,),
                tells=(),
            )
    s.wait(8, 20)
    everyone = list(range(s.world.ranks))
    peers_lost(s, everyone, lost=None)
    ended(s, 0, code=1, pointer=False)


def _ping(s: Script) -> None:
    """A node that nobody can reach when the job starts."""
    s.wait(2, 6)
    node = s.world.some_node()
    target = s.world.address(node)
    truth(s, "crash hang", "network platform", node=node, exclude=True)
    mine = set(s.world.ranks_of(node))
    for rank in [r for r in range(s.world.ranks) if r not in mine][:40]:
        host, pid, local = s.world.node_of(rank), s.world.pid(rank), s.world.local(rank)
        s.rank(
            rank,
            s.say(
                [
                    f"{host}:{pid}:{pid + 99} [{local}] misc/socket.cc:484 NCCL WARN socketStartConnect: "
                    f"Connect to {target}<51234> failed : No route to host",
                ],
                [
                    f"{host}:{pid} [{local}] bootstrap: cannot reach {node} ({target}): No route to host, "
                    "gave up after 34 tries",
                    f"[{host}] OOB: connection to {node} failed: No route to host (113)",
                ],
                slot="no_route_to_node",
                rank=rank,
                target=node,
                target_address=target,
            ),
            after=s.rng.uniform(30, 34),
            raw=True,
            roots=(0,),
            tells={"node"},
        )
    s.wait(36, 40)
    ended(s, 0, code=1, pointer=False)


STORIES = (
    Story("link_down", _link_down, 2),
    Story("peer_unreachable", _peer_unreachable, 3),
    Story("own_port", _own_port, 3),
    Story("fabric", _fabric, 2),
    Story("links_of_many_nodes", _flap, 3),
    Story("no_route_to_node", _ping, 3),
)
