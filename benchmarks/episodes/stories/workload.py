"""The job's own mistakes: no node may be left out for them."""

from __future__ import annotations

from relume.benchmarks.episodes.endings import ended, peers_lost, timeouts
from relume.benchmarks.episodes.script import Script
from relume.benchmarks.episodes.stories.story import (
    Story,
    trains,
    truth,
    victims_notice,
    victims_wait,
)

_DATA = (
    ("/workspace/train.py", 318, "<module>", "main(parse_args())"),
    ("/workspace/loop.py", 88, "run", "batch = next(self.iterator)"),
    ("/workspace/data.py", 141, "__getitem__", "return self.decode(index)"),
)


def _sample(s: Script) -> None:
    """One sample of one rank cannot be used; often the others print first."""
    trains(s)
    rank = s.world.some_rank()
    truth(s, "crash", "workload", rank=rank)
    early = s.rng.random() < 0.4
    if early:
        victims_notice(s, rank, before=4.0)
    s.exception(
        rank,
        s.say(
            [
                "ValueError: cannot reshape array of size 4095 into shape (8,512)",
                "IndexError: index 50304 is out of bounds for dimension 0 with size 50304",
                "KeyError: 'input_ids'",
                "UnicodeDecodeError: 'utf-8' codec can't decode byte 0xff in position 0: invalid start byte",
            ],
            [
                "corpus.errors.BadRecord: record 8812734 of shard 17 has no end token",
                "PIL.UnidentifiedImageError: cannot identify image file <_io.BytesIO object at 0x7f1e0c>",
                "av.error.InvalidDataError: [Errno 1094995529] Invalid data found when processing input",
                "pydantic_core._pydantic_core.ValidationError: 1 validation error for Sample\ntokens\n  "
                "Field required [type=missing]",
            ],
            slot="bad_sample_on_one_rank",
        ),
        frames=_DATA,
        root=True,
    )
    if not early:
        s.wait(0.5, 2)
        victims_wait(s, rank)
    ended(s, rank, code=1)


def _everywhere(s: Script) -> None:
    trains(s)
    truth(s, "crash", "workload")
    error = s.say(
        [
            "RuntimeError: mat1 and mat2 shapes cannot be multiplied (4096x5120 and 4096x1024)",
            "AttributeError: 'NoneType' object has no attribute 'shape'",
            "TypeError: forward() got an unexpected keyword argument 'position_ids'",
            "AssertionError: sequence length 8192 is not divisible by context parallel size 3",
        ],
        [
            "jax.errors.ConcretizationTypeError: Abstract tracer value encountered where concrete value is "
            "expected: traced array with shape float32[]",
            "einops.EinopsError: Shape mismatch, can't divide axis of length 5120 in chunks of 96",
            "triton.compiler.errors.CompilationError: at 12:8: incompatible types fp8e4nv and fp16",
            "hydra.errors.ConfigCompositionException: Could not override 'model.heads'",
        ],
        slot="exception_everywhere",
    )
    for rank in range(s.world.ranks):
        s.exception(rank, error, after=s.rng.uniform(0, 2.5), root=True)
    s.wait(3, 4)
    ended(s, s.rng.randrange(s.world.ranks), code=1, pointer=False)


def _arguments(s: Script) -> None:
    s.wait(2, 4)
    truth(s, "crash", "workload")
    text = s.say(
        ["train.py: error: unrecognized arguments: --seq-lenght 4096"],
        [
            "Error: No such option: --seq-lenght Did you mean --seq-length?",
            "absl.flags._exceptions.UnrecognizedFlagError: Unknown command line flag 'seq_lenght'",
        ],
        slot="wrong_arguments",
    )
    for rank in range(s.world.ranks):
        s.rank(
            rank,
            f"usage: train.py [-h] --config CONFIG [--seq-length N]\n{text}",
            after=s.rng.uniform(0, 2),
            roots=(1,),
            raw=True,
        )
    s.wait(2, 3)
    ended(s, s.rng.randrange(s.world.ranks), code=2, pointer=False)


def _shapes_differ(s: Script) -> None:
    """Ranks call a collective with other shapes: the program's mistake, on every rank."""
    trains(s)
    a, b = 0, s.world.some_rank()
    truth(s, "crash hang", "workload", also=(a, b))
    text = s.say(
        [
            f"RuntimeError: Detected mismatch between collectives on ranks. Rank {b} is running collective: "
            "CollectiveFingerPrint(SequenceNumber=91, OpType=ALLREDUCE, TensorShape=[512, 1024], "
            f"TensorDtypes=Float), but Rank {a} is running collective: CollectiveFingerPrint("
            "SequenceNumber=91, OpType=ALLREDUCE, TensorShape=[256, 1024], TensorDtypes=Float).Collectives "
            "differ in the following aspects: \t Tensor Tensor shapes: 512, 1024vs 256, 1024",
        ],
        [
            "horovod: Mismatched ALLREDUCE tensor shapes: One rank sent a tensor of shape [512, 1024], but "
            "another rank sent a tensor of shape [256, 1024].",
            f"collective check: all_reduce #91: rank {a} brings f32[256,1024], rank {b} brings f32[512,1024]",
        ],
        slot="shapes_differ",
        one=a,
        another=b,
    )
    for rank in range(s.world.ranks):
        s.exception(rank, text, after=s.rng.uniform(0, 1), root=True)
    s.wait(2, 3)
    ended(s, a, code=1, pointer=False)


def _nan(s: Script) -> None:
    last = trains(s)
    truth(s, "numeric crash", "workload", also=(0,))
    text = s.say(
        [
            "RuntimeError: found NaN in local grad norm in backward pass before data-parallel communication "
            "collective. Device: DEVICE, node: NODE",
            f"ValueError: Loss is NaN at step {last}, stopping training",
        ],
        [
            f"train.guard: objective became non-finite (nan) at update {last}, run stopped by policy",
            f"FloatingPointError: invalid value (nan) encountered in jit(train_step) at step {last}",
        ],
        slot="loss_not_finite",
        step=last,
    )
    if s.rng.random() < 0.5:
        for rank in range(s.world.ranks):
            s.exception(rank, _placed(s, text, rank), after=s.rng.uniform(0, 1), root=True)
    else:
        s.exception(0, _placed(s, text, 0), root=True)
        peers_lost(s, s.others(0), lost=0, after=1)
    s.wait(2, 3)
    ended(s, 0, code=1, pointer=False)


def _placed(s: Script, text: str, rank: int) -> str:
    return text.replace("DEVICE", str(s.world.local(rank))).replace("NODE", s.world.node_of(rank))


def _assert(s: Script) -> None:
    """An index that is out of range, noticed by the device, reported somewhere else."""
    trains(s)
    rank = s.world.some_rank()
    truth(s, "crash", "workload", rank=rank)
    s.rank(
        rank,
        s.swap(
            "\n".join(
                f"../aten/src/ATen/native/cuda/Indexing.cu:1290: indexSelectLargeIndex: block: [{n},0,0], thread: "
                f"[{n % 32},0,0] Assertion `srcIndex < srcSelectDimSize` failed."
                for n in range(4)
            ),
            "device_side_assert",
        ),
        roots=tuple(range(4)),
        raw=True,
    )
    s.exception(
        rank,
        s.say(
            [
                "RuntimeError: CUDA error: device-side assert triggered\nCUDA kernel errors might be "
                "asynchronously reported at some other API call, so the stacktrace below might be "
                "incorrect.\nFor debugging consider passing CUDA_LAUNCH_BLOCKING=1",
            ],
            [
                "torch.AcceleratorError: hipErrorAssert: device-side assertion failed in a kernel launch"
            ],
            slot="device_side_assert/error",
        ),
        after=0.4,
        root=True,
    )
    s.wait(0.5, 1)
    victims_wait(s, rank)
    ended(s, rank, code=1)


def _illegal_access(s: Script) -> None:
    """A kernel's bug, told by the driver as Xid 31 or 13, and by CUDA at some later call."""
    trains(s)
    rank = s.world.some_rank()
    node, pci, pid = s.world.node_of(rank), s.world.pci(rank), s.world.pid(rank)
    truth(s, "crash", "workload unknown", rank=rank)
    if s.rng.random() < 0.7:
        s.kernel(
            node,
            s.swap(
                s.rng.choice(
                    (
                        f"NVRM: Xid (PCI:{pci}): 31, pid={pid}, name=python, Ch 00000012, intr 00000000. MMU "
                        "Fault: ENGINE GRAPHICS GPCCLIENT_T1_0 faulted @ 0x7f1c_40000000. Fault is of type "
                        "FAULT_PDE ACCESS_TYPE_VIRT_READ",
                        f"NVRM: Xid (PCI:{pci}): 13, pid={pid}, name=python, Graphics SM Warp Exception on (GPC "
                        "2, TPC 1, SM 0): Out Of Range Address",
                    )
                ),
                "illegal_access/kernel",
            ),
            roots=(0,),
        )
    s.wait(0.2, 20)
    s.exception(
        rank,
        s.say(
            ["torch.AcceleratorError: CUDA error: an illegal memory access was encountered"],
            [
                "jaxlib.xla_extension.XlaRuntimeError: INTERNAL: CUDA_ERROR_ILLEGAL_ADDRESS: an illegal "
                "memory access was encountered",
                "Triton Error [CUDA]: an illegal memory access was encountered",
                "cutlass: kernel launch failed: cudaErrorIllegalAddress (700)",
            ],
            slot="illegal_access",
        ),
        frames=(
            ("/workspace/train.py", 318, "<module>", "main(parse_args())"),
            ("/workspace/loop.py", 133, "log", "self.loss.append(loss.item())"),
        ),
        root=True,
    )
    victims_wait(s, rank)
    ended(s, rank, code=1)


def _segfault(s: Script) -> None:
    trains(s)
    rank = s.world.some_rank()
    node, pid = s.world.node_of(rank), s.world.pid(rank)
    truth(s, "crash", "workload unknown", rank=rank)
    if s.rng.random() < 0.5:
        s.kernel(
            node,
            s.swap(
                f"python[{pid}]: segfault at 0 ip 00007f2c1d0e sp 00007ffe1a error 4 in _tokenizer.so[7f2c1d+9000]",
                "segmentation_fault/kernel",
            ),
            roots=(0,),
        )
    s.rank(
        rank,
        s.say(
            ["Fatal Python error: Segmentation fault"],
            [
                "*** SIGSEGV (@0x0) received by PID 4021 (TID 0x7f2c) from PID 0; stack trace: ***",
                f"#  SIGSEGV (0xb) at pc=0x00007f2c1d0e, pid={pid}, tid={pid + 2}",
            ],
            slot="segmentation_fault",
        )
        + (
            ""
            if s.is_unseen
            else '\n\nThread 0x00007f2c (most recent call first):\n  File "/workspace/tokenizer.py", line 31 in encode'
        ),
        roots=(0,),
        raw=True,
        after=0.2,
    )
    s.wait(0.5, 2)
    peers_lost(s, s.others(rank), lost=rank)
    ended(s, rank, code=-11)


def _chained(s: Script) -> None:
    """The true cause stands above the exception that was raised while it was handled."""
    trains(s)
    rank = s.world.some_rank()
    truth(s, "crash", "workload", rank=rank)
    first = s.say(
        ["KeyError: 'attention_mask'", "ValueError: could not convert string to float: 'n/a'"],
        ["msgspec.DecodeError: JSON is malformed: invalid character (byte 91)"],
        slot="chained_exceptions",
    )
    s.exception(rank, first, frames=_DATA, root=True)
    s.rank(
        rank,
        s.swap(
            "\nThe above exception was the direct cause of the following exception:\n\n"
            "Traceback (most recent call last):\n"
            '  File "/workspace/train.py", line 318, in <module>\n'
            "    main(parse_args())\n"
            "RuntimeError: could not make a batch",
            "chained_exceptions/outer",
        ),
        after=0.01,
        roots=(-1,),
        raw=True,
    )
    s.wait(1, 2)
    victims_wait(s, rank)
    ended(s, rank, code=1)


def _branch(s: Script) -> None:
    """Half of the ranks wait for another operation than the rest: everybody hangs by one mistake."""
    trains(s)
    truth(s, "hang crash", "workload")
    for rank in range(s.world.ranks):
        half = rank % 2
        op = "ALLREDUCE" if half else "_ALLGATHER_BASE"
        s.rank(
            rank,
            s.say(
                [
                    f"[Rank {rank}] Watchdog caught collective operation timeout: WorkNCCL(SeqNum=733, OpType={op}"
                    f", NumelIn={1024 + 512 * half}, NumelOut={8192 + 512 * half}, Timeout(ms)=600000) ran for "
                    f"{600_000 + s.rng.randrange(900)} milliseconds before timing out.",
                ],
                [
                    f"comm monitor: {op.lower().strip('_')} #733 on group world has not completed after 600 s "
                    f"(rank {rank})",
                ],
                slot="collectives_differ",
                rank=rank,
                op=op.lower().strip("_"),
                half=half,
            ),
            after=600 + s.rng.uniform(0, 4),
            raw=True,
            roots=(0,),
        )
    s.wait(605, 606)
    ended(s, 0, code=-6, pointer=False)


def _seen_late(s: Script) -> None:
    """The rank's exception is written when the others have long been taken down."""
    trains(s)
    rank = s.world.some_rank()
    truth(s, "crash", "workload", rank=rank)
    s.exception(
        rank,
        s.say(
            [
                "ZeroDivisionError: division by zero",
                "RuntimeError: The size of tensor a (512) must match the "
                "size of tensor b (511) at non-singleton dimension 1",
            ],
            [
                "sampler.SamplerExhausted: no document is left for this rank",
                "OverflowError: length of packed sequence exceeds int16",
            ],
            slot="exception_written_late",
        ),
        root=True,
        late=700.0,
    )
    timeouts(s, s.others(rank), seconds=600)
    s.wait(100)
    ended(s, rank, code=1)


STORIES = (
    Story("bad_sample_on_one_rank", _sample, 2),
    Story("exception_everywhere", _everywhere, 1),
    Story("wrong_arguments", _arguments, 1),
    Story("shapes_differ", _shapes_differ, 1),
    Story("loss_not_finite", _nan, 1),
    Story("device_side_assert", _assert, 2),
    Story("illegal_access", _illegal_access, 2),
    Story("segmentation_fault", _segfault, 2),
    Story("chained_exceptions", _chained, 2),
    Story("collectives_differ", _branch, 1),
    Story("exception_written_late", _seen_late, 2),
)
