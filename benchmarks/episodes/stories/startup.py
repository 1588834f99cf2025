"""Jobs that never begin: images, drivers, names, ports, credentials of one node or of all."""

from __future__ import annotations

from relume.benchmarks.episodes.endings import ended, job_aborted, peers_lost
from relume.benchmarks.episodes.script import Script
from relume.benchmarks.episodes.stories.story import Story, truth

_IMPORT = (
    ("/workspace/train.py", 9, "<module>", "import flash_attn"),
    (
        "/opt/venv/lib/python3.11/site-packages/flash_attn/__init__.py",
        3,
        "<module>",
        "from flash_attn",
    ),
)
_DEVICE = (
    ("/workspace/train.py", 318, "<module>", "main(parse_args())"),
    ("/workspace/train.py", 44, "main", "torch.cuda.set_device(local_rank)"),
)


def _on_one_node(
    s: Script,
    error: str,
    *,
    domains: str = "platform",
    frames: tuple[tuple[str, int, str, str], ...] = _IMPORT,
) -> None:
    s.wait(2, 6)
    node = s.world.some_node()
    mine = list(s.world.ranks_of(node))
    truth(s, "crash", domains, node=node, exclude=True)
    for rank in mine:
        s.exception(rank, error, frames=frames, after=s.rng.uniform(0, 1.5), root=True)
    s.wait(2, 30)
    peers_lost(s, [r for r in range(s.world.ranks) if r not in mine], lost=mine[0])
    ended(s, mine[0], code=1)


def _everywhere(
    s: Script, error: str, *, frames: tuple[tuple[str, int, str, str], ...] = _IMPORT
) -> None:
    s.wait(2, 6)
    truth(s, "crash", "workload")
    for rank in range(s.world.ranks):
        s.exception(rank, error, frames=frames, after=s.rng.uniform(0, 2.5), root=True)
    s.wait(3, 4)
    ended(s, s.rng.randrange(s.world.ranks), code=1, pointer=False)


def _import_words(s: Script) -> str:
    return s.say(
        [
            "ImportError: libcudnn.so.9: cannot open shared object file: No such file or directory",
            "ModuleNotFoundError: No module named 'flash_attn'",
            "ImportError: /opt/venv/lib/flash_attn.so: undefined symbol: _ZN3c105ErrorC2E",
        ],
        [
            "OSError: libnvrtc.so.12: wrong ELF class or truncated file",
            "/opt/venv/bin/python: symbol lookup error: /opt/venv/lib/libte.so: undefined symbol: cublasLtX",
            "transformer_engine: fatal: cannot load libtransformer_engine.so (dlopen failed)",
        ],
        slot="import_fails",
    )


def _import_one(s: Script) -> None:
    _on_one_node(s, _import_words(s))


def _import_all(s: Script) -> None:
    _everywhere(s, _import_words(s))


def _driver_one(s: Script) -> None:
    _on_one_node(
        s,
        s.say(
            [
                "RuntimeError: The NVIDIA driver on your system is too old (found version 11040). Please "
                "update your GPU driver\nCUDA driver version is insufficient for CUDA runtime version",
                "RuntimeError: CUDA error: system not yet initialized",
                "RuntimeError: Found no NVIDIA driver on your system. Please check that you have an NVIDIA "
                "GPU and installed a driver",
            ],
            [
                "jaxlib: cuInit failed: CUDA_ERROR_SYSTEM_DRIVER_MISMATCH (803): kernel module 535.54 does "
                "not match libcuda 550.90",
                "Failed to initialize NVML: Driver/library version mismatch",
                "fabric state of GPU 0 is 'In Progress': nvidia-fabricmanager is not running on this host",
            ],
            slot="driver_of_one_node",
        ),
        domains="platform hardware",
        frames=_DEVICE,
    )


def _device_all(s: Script) -> None:
    _everywhere(
        s,
        s.say(
            ["RuntimeError: CUDA error: no kernel image is available for execution on the device"],
            ["ptxas fatal: Value 'sm_103a' is not defined for option 'gpu-name'"],
            slot="device_code_everywhere",
        ),
        frames=_DEVICE,
    )


def _name_lookup(s: Script) -> None:
    _on_one_node(
        s,
        s.say(
            ["socket.gaierror: [Errno -3] Temporary failure in name resolution"],
            [
                f"RuntimeError: cannot resolve master address '{s.world.nodes[0]}': EAI_AGAIN",
                f"getaddrinfo for {s.world.nodes[0]}.cluster.internal: no nameserver answered",
            ],
            slot="names_of_one_node",
        ),
        domains="platform network",
        frames=(
            ("/workspace/train.py", 318, "<module>", "main(parse_args())"),
            ("/workspace/train.py", 40, "main", "dist.init_process_group('nccl')"),
        ),
    )


def _port_taken(s: Script) -> None:
    """A port of the first node is taken: another try with another port, no node to leave out."""
    s.wait(2, 5)
    truth(s, "crash", "platform workload", also=(0,))
    s.exception(
        0,
        s.say(
            [
                "torch.distributed.DistNetworkError: The server socket has failed to listen on any local "
                "network address. port: 29500, useIpv6: false, code: -98, name: EADDRINUSE, message: "
                "address already in use",
            ],
            [
                "OSError: [Errno 98] Address already in use",
                "grpc: failed to add port 0.0.0.0:8476 to server: Address already in use",
            ],
            slot="port_taken",
            rank=0,
        ),
        root=True,
    )
    s.wait(1, 5)
    error = s.say(
        [
            "torch.distributed.DistStoreError: Timed out after 901 seconds waiting for clients. "
            f"{s.world.ranks - 1}/{s.world.ranks} clients joined.",
        ],
        ["RuntimeError: coordinator does not answer (DEADLINE_EXCEEDED)"],
        slot="port_taken/others",
    )
    s.wave([r for r in s.others(0) if s.rng.random() < 0.5], lambda _: error, spread=30, raw=True)
    s.wait(30)
    ended(s, 0, code=1, pointer=False)


def _credential(s: Script) -> None:
    """Slurm cannot start the tasks of one node."""
    node = s.world.some_node()
    truth(s, "crash", "platform", node=node, exclude=True)
    s.wait(1, 3)
    job = s.world.job_id
    s.launch(
        s.say(
            [
                f"srun: error: Task launch for StepId={job}.0 failed on node {node}: Job credential expired",
                f"srun: error: Task launch for StepId={job}.0 failed on node {node}: Invalid job credential",
            ],
            [
                f"could not start the launch agent on {node}: ssh: Permission denied (publickey)",
                f"launch on {node} refused: clock of the host is 412 s off, credential rejected",
            ],
            slot="launch_refused_on_node",
        ),
        roots=(0,),
        tells={"node"},
    )
    job_aborted(s)


def _container(s: Script) -> None:
    node = s.world.some_node()
    first = s.world.ranks_of(node)[0]
    truth(s, "crash", "platform", node=node, exclude=True)
    s.wait(2, 6)
    known = not s.new_words and not s.is_unseen
    if known:
        s.launch(
            "slurmstepd: error: pyxis: failed to create container filesystem for image "
            "/images/train.sqsh",
            roots=(0,),
        )
        s.launch("slurmstepd: error: pyxis: printing enroot log file:", after=0.1)
        s.launch(
            "slurmstepd: error: pyxis:     [ERROR] No space left on device", after=0.1, roots=(0,)
        )
    else:
        s.used_new = True
        s.launch(
            s.swap(
                f"apptainer: {node}: while creating overlay in /var/lib/apptainer: disk is full\n"
                f"{node}: FATAL: container creation failed",
                "container_of_one_node",
            ),
            roots=(0,),
            tells={"node"},
        )
    s.launch(
        f"srun: error: {node}: task {first}: Exited with exit code 1", after=0.5, tells={"node"}
    )
    job_aborted(s)


def _prolog(s: Script) -> None:
    node = s.world.some_node()
    truth(s, "crash", "platform hardware", node=node, exclude=True)
    s.wait(1, 3)
    job = s.world.job_id
    s.controller(
        s.say(
            [f"error: Prolog or job env setup failure on node {node}, draining the node"],
            [f"drain_nodes: node {node}: health check of the prolog failed: dcgm diag level 1"],
            slot="prolog_failed",
        ),
        roots=(0,),
        tells={"node"},
    )
    s.launch(
        s.say(
            [
                f"srun: error: Task launch for StepId={job}.0 failed on node {node}: Job prolog failed"
            ],
            [f"srun: error: {node}: prolog exited with status 1, tasks were not started"],
            slot="prolog_failed/launcher",
        ),
        roots=(0,),
        tells={"node"},
        after=0.4,
    )
    job_aborted(s)


def _versions(s: Script) -> None:
    """One node's library is another one than everybody's."""
    s.wait(5, 12)
    node = s.world.some_node()
    rank = s.world.ranks_of(node)[0]
    truth(s, "crash", "workload platform", also=(0, rank))
    host, pid = s.world.nodes[0], s.world.pid(0)
    s.rank(
        0,
        s.say(
            [
                f"{host}:{pid}:{pid + 50} [0] init.cc:1318 NCCL WARN Mismatched NCCL version detected : rank "
                f"0 version 22105 rank {rank} version 21805",
            ],
            [
                f"comm bootstrap: library versions differ: rank 0 has 2.21.5, rank {rank} has 2.18.5; "
                "refusing to start",
            ],
            slot="library_versions_differ",
            rank=0,
            odd=rank,
        ),
        roots=(0,),
        raw=True,
    )
    s.wait(0.5, 1)
    error = s.say(
        [
            "torch.distributed.DistBackendError: NCCL error in: ../torch/csrc/distributed/c10d/"
            "NCCLUtils.hpp:317, invalid usage, NCCL version 2.21.5\nncclInvalidUsage: This usually reflects "
            "invalid usage of NCCL library.",
        ],
        ["RuntimeError: communicator could not be created"],
        slot="library_versions_differ/others",
    )
    for other in range(s.world.ranks):
        s.exception(other, error, after=s.rng.uniform(0, 2))
    s.wait(2, 3)
    ended(s, 0, code=1, pointer=False)


STORIES = (
    Story("import_fails_on_one_node", _import_one, 2),
    Story("import_fails_everywhere", _import_all, 1),
    Story("driver_of_one_node", _driver_one, 2),
    Story("device_code_everywhere", _device_all, 1),
    Story("names_of_one_node", _name_lookup, 2),
    Story("port_taken", _port_taken, 1),
    Story("launch_refused_on_node", _credential, 2),
    Story("container_of_one_node", _container, 2),
    Story("prolog_failed", _prolog, 2),
    Story("library_versions_differ", _versions, 2),
)
