"""A healthy log of a large job, of any size: what fills such logs, common words of rules in it.

Seeded. The words that rules look for stand in it as healthy software prints them: summaries with
``0 FAILED``, options named ``timeout``, a pool that ``Killed`` idle workers, ``Nodes`` in tables.
Now and then comes a line that a rule does know (a warning, a retry), as in recorded logs.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from itertools import cycle, islice
from pathlib import Path
from random import Random

from relume.benchmarks.demo.frameworks import banner, megatron, steady
from relume.benchmarks.demo.world import make_world

SEED = 20261130
NOISE_LINES = 40_000
"""Distinct lines of noise; they come again in another order after some 5 MB."""
PIECE_LINES = 24
"""Lines of noise between two step lines."""
KNOWN_EVERY = 1_500
"""Lines of noise for each that a rule knows: some five in a megabyte."""
_MAX_STEPS = 10**9
_WRITE_PIECES = 2_000

_Line = Callable[[Random, int], str]


def write_log(path: Path, size: int, seed: int = SEED) -> int:
    """Write a log of at least `size` bytes, and return how many it has."""
    written = 0
    pieces = log_pieces(seed)
    with path.open("wb") as stream:
        while written < size:
            written += stream.write(b"".join(islice(pieces, _WRITE_PIECES)))
    return written


def log_pieces(seed: int = SEED) -> Iterator[bytes]:
    """Yield the log without end, in pieces of whole lines."""
    world = make_world(f"{seed}")
    yield _joined(banner(world))
    noise = cycle(_noise_pieces(seed))
    for step in megatron(world, _MAX_STEPS, steady):
        yield next(noise)
        yield f"{step}\n".encode()


def _noise_pieces(seed: int) -> list[bytes]:
    draw = Random(seed)
    kinds, weights = zip(*_NOISE, strict=True)
    lines = [
        kind(draw, draw.randrange(512)) for kind in draw.choices(kinds, weights, k=NOISE_LINES)
    ]
    for at in range(KNOWN_EVERY, NOISE_LINES, KNOWN_EVERY):
        lines[at] = draw.choice(_KNOWN)(draw, draw.randrange(512))
    starts = range(0, NOISE_LINES, PIECE_LINES)
    return [_joined(lines[start : start + PIECE_LINES]) for start in starts]


def _joined(lines: list[str]) -> bytes:
    return ("\n".join(lines) + "\n").encode()


def _host(rank: int) -> str:
    return f"gpu-{rank // 8:03d}"


def _stamp(draw: Random) -> str:
    hour, minute, second = draw.randrange(24), draw.randrange(60), draw.randrange(60)
    return f"2026-03-02 {hour:02d}:{minute:02d}:{second:02d}"


def _nccl(draw: Random, rank: int) -> str:
    channel, peer = draw.randrange(32), (rank + 1) % 512
    prefix = f"{_host(rank)}:{4100 + rank}:{draw.randrange(4200, 9999)} [{rank % 8}] NCCL INFO"
    route = f"{prefix} Channel {channel:02d}/0 : {rank}[{rank % 8}] -> {peer}[{peer % 8}]"
    return draw.choice(
        (
            f"{route} via P2P/CUMEM/read",
            f"{route} [send] via NET/IB/{rank % 8}/GDRDMA",
            f"{prefix} Trees [{channel}] {peer}/-1/-1->{rank}->{rank - 1}",
            f"{prefix} NCCL_IB_TIMEOUT set by environment to 22.",
        )
    )


def _loader(draw: Random, rank: int) -> str:
    shard, seconds = draw.randrange(100_000), draw.random() * 50
    return (
        f"[{_stamp(draw)},{draw.randrange(1000):03d}] [INFO] [dataset.py:{shard % 999}:read]"
        f" [Rank {rank}] shard {shard:05d} of 99999 opened in {seconds:.1f} ms, 0 errors"
    )


def _memory(draw: Random, rank: int) -> str:
    used = draw.random() * 70
    return (
        f"[rank{rank}]: memory (GB) | allocated: {used:.3f} | max allocated: {used + 4:.3f} |"
        f" reserved: 79.150 | fragmentation: {draw.random():.4f}"
    )


def _setting(draw: Random, _rank: int) -> str:
    name = draw.choice(
        (
            *("exit_on_missing_checkpoint", "distributed_timeout_minutes", "error_injection_rate"),
            *("check_for_nan_in_loss_and_grad", "log_throughput", "rerun_mode", "kill_switch_file"),
            *(
                "fp8_interval",
                "inference_max_seq_length",
                "abort_on_deprecated",
                "retro_num_layers",
            ),
        )
    )
    return f"  {name} {'.' * (48 - len(name))} {draw.choice(('False', 'None', '10', '0.0'))}"


def _warning(draw: Random, rank: int) -> str:
    line = draw.randrange(2000)
    return draw.choice(
        (
            (
                f"/opt/venv/lib/python3.11/torch/utils/checkpoint.py:{line}: UserWarning:"
                " None of the inputs have requires_grad=True. Gradients will be None"
            ),
            (
                f"[rank{rank}]:W0302 04:{line % 60:02d}:11.482718 4100 site-packages/torch/_dynamo/"
                f"convert_frame.py:{line}] [{rank % 8}/8] recompile limit is 8, function: 'forward'"
            ),
            (
                f"/opt/venv/lib/python3.11/megatron/core/tensor_parallel/layers.py:{line}:"
                " FutureWarning: failed lookups are retried; error_if_missing is deprecated"
            ),
        )
    )


def _summary(draw: Random, rank: int) -> str:
    """Lines with the words of rules, as healthy software prints them."""
    count, other = draw.randrange(1000), draw.randrange(64)
    stamp = _stamp(draw)
    return draw.choice(
        (
            f"{stamp} INFO health: {count} checks passed, 0 FAILED, 0 TIMEOUT, Nodes {other} of 64",
            f"{stamp} INFO pool: Killed {other} idle workers, {count} alive, none Aborted",
            f"{stamp} INFO launcher: Nodes: 64, Tasks: 512, State: RUNNING, Reason: None",
            f"{stamp} INFO data: retry 1 of 5 succeeded for shard {count:05d} after 0.4 s",
            f"{stamp} INFO watch: rank {rank} alive, nan=0 inf=0 fatal=0 killed=0 timeout=1800",
            f"{stamp} INFO store: barrier {count} done by {other} of 512 ranks (timeout 600 s)",
            f"{stamp} INFO ecc: GPU {rank % 8} errors corrected {other}, uncorrected 0, Xid none",
            f"{stamp} DEBUG router: word_error_rate {draw.random():.4f}, tokens dropped {count}",
            f"[{_host(rank)}] oom_score_adj of {count} set to -1000: the kernel kills others first",
            f"{stamp} INFO table: | job | Nodes | FAILED | Killed | | {count} | {other} | 0 | 0 |",
        )
    )


def _nccl_warn(draw: Random, rank: int) -> str:
    return (
        f"{_host(rank)}:{4100 + rank}:{draw.randrange(4200, 9999)} [{rank % 8}] NCCL WARN"
        f" NET/IB : no GID of RoCE v2 on mlx5_{rank % 8}, the first one is taken"
    )


def _overflow(draw: Random, rank: int) -> str:
    return (
        f"[deepspeed] OVERFLOW! Rank {rank} Skipping step. Attempted loss scale: 65536, reducing to"
        f" {2 ** draw.randrange(10, 16)}"
    )


def _port_message(draw: Random, rank: int) -> str:
    return (
        f"[W302 04:00:{draw.randrange(60):02d}.482718 socket.cpp:697] [c10d] The client socket has"
        f" failed to connect to [{_host(rank)}]:29500 (errno: 111 - Connection refused)."
    )


_NOISE: tuple[tuple[_Line, int], ...] = (
    (_nccl, 30),
    (_loader, 22),
    (_memory, 14),
    (_setting, 8),
    (_warning, 10),
    (_summary, 16),
)
"""Kinds of noise, each with its weight."""
_KNOWN: tuple[_Line, ...] = (_nccl_warn, _overflow, _port_message)
