"""Filesystems: shared ones that stall or fill, local ones that break on a single node."""

from __future__ import annotations

from relume.benchmarks.episodes.endings import ended, peers_lost, timeouts
from relume.benchmarks.episodes.script import Script
from relume.benchmarks.episodes.stories.story import Story, trains, truth

_SAVE = (
    ("/workspace/train.py", 318, "<module>", "main(parse_args())"),
    ("/workspace/checkpoint.py", 77, "save", "torch.save(state, path)"),
)
_LOAD = (
    ("/workspace/train.py", 318, "<module>", "main(parse_args())"),
    ("/workspace/data.py", 141, "__getitem__", "with open(self.path, 'rb') as f:"),
)


_SERVERS = ("10.1.0.20", "10.1.0.31", "10.1.0.23", "stor04", "storage03")
"""Whoever names the server says what the lines say: it is no node of the job."""


def _stall(s: Script) -> None:
    """A shared filesystem does not answer: every node says so, nobody is to blame."""
    trains(s)
    truth(s, "hang crash", "platform")
    s.truth.also_names = _SERVERS
    nodes = s.rng.sample(s.world.nodes, min(len(s.world.nodes), 8))
    words = s.say(
        [
            "nfs: server 10.1.0.20 not responding, still trying",
            "LustreError: 11-0: scratch-OST0007-osc-ffff9c1e: operation ost_read to node 10.1.0.31@o2ib "
            "failed: rc = -107",
        ],
        [
            "ceph: mds0 hung",
            "GPFS: mmfs: Waiting more than 300 seconds for RPC to server stor04, file system data",
            "BeeGFS: Communication error: Receive timed out from: storage03 (10.1.0.23:8003)",
        ],
        slot="shared_filesystem_stall",
    )
    for node in nodes:
        s.kernel(node, words, after=s.rng.uniform(0, 20), roots=(0,), tells=())
    everyone = list(range(s.world.ranks))
    timeouts(s, s.rng.sample(everyone, max(2, len(everyone) * 3 // 4)), op="BROADCAST")
    ended(s, everyone[0], code=-6, pointer=False)


def _full(s: Script) -> None:
    """The shared filesystem is full: the rank that writes says so, no node is to blame."""
    trains(s)
    truth(s, "crash", "platform workload", also=(0,))
    s.exception(
        0,
        s.say(
            ["OSError: [Errno 28] No space left on device: '/lustre/runs/ckpt/step_4000/model.pt'"],
            [
                "RuntimeError: basic_filebuf::xsputn error writing the file: /lustre/ckpt/7.pt: no space "
                "left on device",
                "tensorstore: RESOURCE_EXHAUSTED: Error writing /gpfs/ckpt/ocdbt.process_0: disk is full",
            ],
            slot="shared_filesystem_full",
            rank=0,
        ),
        frames=_SAVE,
        root=True,
    )
    peers_lost(s, s.others(0), lost=0)
    ended(s, 0, code=1, pointer=False)


def _quota(s: Script) -> None:
    trains(s)
    truth(s, "crash", "workload platform", also=(0,))
    s.exception(
        0,
        s.say(
            ["OSError: [Errno 122] Disk quota exceeded: '/home/team/ckpt/last.ckpt'"],
            [
                "fsspec.exceptions.WriteError: project quota of 'llm' is used up (50.0 TiB of 50.0 TiB)",
                "EDQUOT: writing /home/team/ckpt/last.ckpt: quota exceeded",
            ],
            slot="quota_exceeded",
            rank=0,
        ),
        frames=_SAVE,
        root=True,
    )
    peers_lost(s, s.others(0), lost=0)
    ended(s, 0, code=1, pointer=False)


def _local_error(s: Script, error: str, *, domains: str, start: bool = False) -> int:
    """Only the ranks of one node print it: the node's fault."""
    node = s.world.some_node()
    mine = list(s.world.ranks_of(node))
    truth(s, "crash", domains, node=node, exclude=True)
    if start:
        s.wait(2, 6)
    else:
        trains(s)
    for rank in mine:
        s.exception(rank, error, frames=_LOAD, after=s.rng.uniform(0, 1.5), root=True)
    s.wait(2, 4)
    peers_lost(s, [r for r in range(s.world.ranks) if r not in mine], lost=mine[0])
    ended(s, mine[0], code=1)
    return mine[0]


def _local_full(s: Script) -> None:
    _local_error(
        s,
        s.say(
            ["OSError: [Errno 28] No space left on device: '/scratch_local/cache/shard_0017.bin'"],
            [
                "diskcache.core.Timeout: cannot write /local_nvme/cache: no space left on device",
                "webdataset.cache: writing /tmp/wds/shard-000017.tar: No space left on device (28)",
            ],
            slot="local_disk_full",
        ),
        domains="platform",
    )


def _stale(s: Script) -> None:
    _local_error(
        s,
        s.say(
            ["OSError: [Errno 116] Stale file handle: '/nfs/data/tokens/train_0041.bin'"],
            [
                "pyarrow.lib.ArrowIOError: reading /nfs/data/part-41.parquet: errno 116 (stale handle)",
                "numpy.memmap: /nfs/data/tokens.bin: mount was replaced while the file was open (ESTALE)",
            ],
            slot="stale_handle_on_one_node",
        ),
        domains="platform",
    )


def _mount_missing(s: Script) -> None:
    _local_error(
        s,
        s.say(
            ["FileNotFoundError: [Errno 2] No such file or directory: '/mnt/data/tokenizer.json'"],
            [
                "datasets.exceptions.DatasetNotFound: no data below /mnt/data (is it mounted?)",
                "etils.epath: NotFoundError: /mnt/data/tokenizer.model; No such file or directory",
            ],
            slot="mount_missing_on_one_node",
        ),
        domains="platform",
        start=True,
    )


def _denied_on_one(s: Script) -> None:
    _local_error(
        s,
        s.say(
            ["PermissionError: [Errno 13] Permission denied: '/mnt/data/train.idx'"],
            [
                "OSError: opening /mnt/data/train.idx: operation not permitted for uid 20031",
                "zarr.errors: access to /mnt/data/train.zarr refused (EACCES)",
            ],
            slot="denied_on_one_node",
        ),
        domains="platform",
        start=True,
    )


def _denied_everywhere(s: Script) -> None:
    s.wait(2, 6)
    truth(s, "crash", "workload")
    error = s.say(
        ["PermissionError: [Errno 13] Permission denied: '/data/private/train.idx'"],
        ["zarr.errors: access to /data/private/train.zarr refused (EACCES)"],
        slot="denied_everywhere",
    )
    for rank in range(s.world.ranks):
        s.exception(rank, error, frames=_LOAD, after=s.rng.uniform(0, 2), root=True)
    s.wait(2, 3)
    ended(s, s.rng.randrange(s.world.ranks), code=1, pointer=False)


def _missing_everywhere(s: Script) -> None:
    s.wait(2, 6)
    truth(s, "crash", "workload")
    error = s.say(
        ["FileNotFoundError: [Errno 2] No such file or directory: '/data/corpus_v3/train.bin'"],
        [
            "etils.epath: NotFoundError: /data/corpus_v3/train.array_record; No such file or directory"
        ],
        slot="file_missing_everywhere",
    )
    for rank in range(s.world.ranks):
        s.exception(rank, error, frames=_LOAD, after=s.rng.uniform(0, 2), root=True)
    s.wait(2, 3)
    ended(s, s.rng.randrange(s.world.ranks), code=1, pointer=False)


def _disk(s: Script) -> None:
    trains(s)
    node = s.world.some_node()
    rank = s.rng.choice(s.world.ranks_of(node))
    truth(s, "crash", "hardware platform", node=node, exclude=True)
    s.kernel(
        node,
        s.say(
            [
                "Buffer I/O error on dev nvme0n1p1, logical block 39124992, lost async page write",
                "EXT4-fs (nvme0n1p1): Remounting filesystem read-only",
            ],
            [
                "nvme2: controller is down; will reset: CSTS=0xffffffff, PCI_STATUS=0x10",
                "XFS (md0): log I/O error -5, shutting down filesystem",
                "blk_update_request: critical medium error, dev sdb, sector 194822 op 0x0:(READ)",
            ],
            slot="disk_error",
        ),
        roots=(0,),
    )
    s.wait(1, 3)
    s.exception(
        rank,
        s.swap(
            s.rng.choice(
                (
                    "OSError: [Errno 5] Input/output error: '/local/shards/0007.tar'",
                    "OSError: [Errno 30] Read-only file system: '/local/cache/index.lock'",
                )
            ),
            "disk_error/error",
        ),
        frames=_LOAD,
    )
    peers_lost(s, s.others(rank), lost=rank)
    ended(s, rank, code=1)


def _corrupt(s: Script) -> None:
    s.wait(4, 20)
    truth(s, "crash", "workload platform")
    error = s.say(
        [
            "RuntimeError: PytorchStreamReader failed reading zip archive: failed finding central directory",
            "RuntimeError: unexpected EOF, expected 1946157056 more bytes. The file might be corrupted.",
        ],
        [
            "orbax.checkpoint: ValueError: checkpoint /ckpt/4000 is incomplete: missing array params.layers.7",
            "zlib.error: Error -3 while decompressing data: incorrect data check (/ckpt/4000/rank0.zst)",
        ],
        slot="corrupt_checkpoint",
    )
    for rank in range(s.world.ranks):
        s.exception(
            rank,
            error,
            frames=(
                ("/workspace/train.py", 318, "<module>", "main(parse_args())"),
                ("/workspace/checkpoint.py", 40, "load", "state = load_file(path)"),
            ),
            after=s.rng.uniform(0, 4),
            root=True,
        )
    s.wait(4, 6)
    ended(s, s.rng.randrange(s.world.ranks), code=1, pointer=False)


STORIES = (
    Story("shared_filesystem_stall", _stall, 2),
    Story("shared_filesystem_full", _full, 2),
    Story("quota_exceeded", _quota, 2),
    Story("local_disk_full", _local_full, 2),
    Story("stale_handle_on_one_node", _stale, 2),
    Story("mount_missing_on_one_node", _mount_missing, 2),
    Story("denied_on_one_node", _denied_on_one, 2),
    Story("denied_everywhere", _denied_everywhere, 2),
    Story("file_missing_everywhere", _missing_everywhere, 2),
    Story("disk_error", _disk, 2),
    Story("corrupt_checkpoint", _corrupt, 2),
)
