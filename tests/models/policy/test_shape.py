"""Two runs of one failure have one shape, whatever the names and numbers; two failures have two."""

from __future__ import annotations

from itertools import combinations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from relume.models.policy.shape import shape

HEX = "0123456789abcdef"
DIGITS = "0123456789"


def filled(alphabet: str, low: int, high: int) -> st.SearchStrategy[str]:
    return st.text(alphabet, min_size=low, max_size=high)


NUMBERS = st.integers(0, 10**9).map(str)
LABELS = st.from_regex(r"[a-z]{2,6}-?[a-z]{0,2}[0-9]{1,4}", fullmatch=True).filter(
    lambda label: shape(label) != label  # bf16 and sha256 are types to everybody
)
ADDRESSES = st.ip_addresses().map(str)
PLACES = st.one_of(LABELS, LABELS.map("{}.lab.example".format), st.ip_addresses(v=4).map(str))
STAMPS = st.datetimes()
UUIDS = st.uuids().map(str)
FOLDERS = st.lists(st.from_regex(r"[a-z][a-z0-9_.-]{0,8}[a-z0-9]", fullmatch=True), min_size=1)
PATHS = FOLDERS.map(lambda names: "/" + "/".join([*names, "part"]))
VALUES: dict[str, st.SearchStrategy[str]] = {
    "host": PLACES,
    "address": ADDRESSES,
    "number": NUMBERS,
    "rank": st.integers(0, 9999).map(str),
    "port": st.integers(1024, 65535).map(str),
    "size": st.floats(0.01, 9999, allow_nan=False).map("{:.2f}".format),
    "unit": st.sampled_from(["B", "KiB", "MiB", "GiB", "TiB"]),
    "iso": STAMPS.map(lambda at: at.isoformat(sep=" ")),
    "day": STAMPS.map(lambda at: at.strftime("%b %d %H:%M:%S")),
    "clock": STAMPS.map(lambda at: at.strftime("%H:%M:%S.%f")),
    "glog": STAMPS.map(lambda at: at.strftime("%m%d %H:%M:%S.%f")),
    "pointer": st.integers(0, 2**64 - 1).map(hex),
    "hash": filled(HEX, 7, 40),
    "uuid": UUIDS,
    "gpu": UUIDS.map("GPU-{}".format),
    "bus": st.builds("{}:{}:{}.0".format, filled(HEX, 4, 4), filled(HEX, 2, 2), filled(HEX, 2, 2)),
    "path": PATHS,
    "user": st.from_regex(r"[a-z]{2,8}", fullmatch=True),
    "version": st.lists(st.integers(0, 999).map(str), min_size=2, max_size=4).map(".".join),
    "job": st.from_regex(r"[1-9][0-9]{0,8}(_[0-9]{1,4})?", fullmatch=True),
}
"""What differs between two runs of one failure."""

LINES = [
    "OSError: [Errno 28] No space left on device: '{path}/step_{number}'",
    "[rank{rank}]: torch.OutOfMemoryError: CUDA out of memory. Tried to allocate {size} {unit}.",
    "{rank}: RuntimeError: CUDA error: an illegal memory access was encountered",
    "{iso} [rank{rank}]: KeyError: 'loss'",
    "[{iso}] {host}:{number}:{number} [{rank}] misc/socket.cc:{number} NCCL WARN Broken pipe",
    "{day} {host} kernel: NVRM: Xid (PCI:{bus}): 79, pid={number}, GPU has fallen off the bus.",
    "[rank{rank}]:[E{glog} ProcessGroup.cpp:{number}] [Rank {rank}] Watchdog timeout",
    "srun: error: {host}: task {rank}: Exited with exit code 1",
    "error: *** JOB {job} ON {host} CANCELLED AT {iso} DUE TO TIME LIMIT ***",
    "ConnectionError: cannot reach {host}:{port} from rank {rank} after {size} seconds",
    "ConnectionError: connect to [{address}]:{port} failed",
    "peer {host}<{port}> closed the connection, comm {pointer}",
    "Unable to find device {gpu} at {bus}, driver {version}",
    "FileNotFoundError: {path} for user {user}, run {hash}, trace {uuid}",
    "user={user} job={job}: quota exceeded on {path}",
    'File "{path}/site-packages/torch/nn/linear.py", line {number}, in forward',
    "segfault at {number} ip {pointer} error 4 in libcuda.so.{version}",
    "data shard s3://{user}/{hash}/{number}.tar is truncated at {clock}",
]


@given(st.data(), st.sampled_from(LINES))
def test_the_shape_of_a_failure_is_the_same_in_every_run(data: st.DataObject, line: str) -> None:
    def run() -> str:
        return line.format(**data.draw(st.fixed_dictionaries(VALUES)))

    first, second = run(), run()
    assert shape(first) == shape(second), (first, second)


@given(st.data())
def test_what_stands_before_the_message_is_left_out(data: st.DataObject) -> None:
    heads = ["[rank{rank}]: ", "{rank}: ", "{iso} ", "[{iso}] ", "{host}: ", "[default{rank}]:", ""]
    values = data.draw(st.fixed_dictionaries(VALUES))
    head = data.draw(st.sampled_from(heads)).format(**values)
    assert shape(f"{head}ValueError: no batch") == "ValueError: no batch"


@given(st.lists(st.integers(0, 9999), min_size=1, max_size=9), st.sampled_from([",", ", ", " "]))
def test_a_list_of_ranks_is_as_one_rank(ranks: list[int], between: str) -> None:
    listed = between.join(map(str, ranks))
    assert shape(f"missing ranks [{listed}] at exit") == shape("missing ranks [3] at exit")


@given(st.text(), st.lists(st.text(min_size=1)))
def test_any_text_has_a_shape(text: str, hosts: list[str]) -> None:
    assert shape(text, hosts) == shape(text, hosts[::-1])


DIFFERENT = [
    "KeyError: 'loss'",
    "KeyError: 'optimizer'",
    "ValueError: 'loss'",
    "ValueError: found NaN in the loss",
    "AttributeError: 'Block' object has no attribute 'conv2'",
    "AttributeError: 'Block' object has no attribute 'norm1'",
    "RuntimeError: expected Float but found BFloat16",
    "RuntimeError: expected dtype float32",
    "RuntimeError: expected dtype bfloat16",
    "OSError: [Errno 28] No space left on device: '/a/b'",
    "OSError: [Errno 5] Input/output error: '/a/b'",
    "OSError: [Errno 116] Stale file handle: '/a/b'",
    "api:failed (exitcode: -9) local_rank: 0 (pid: 7)",
    "api:failed (exitcode: -6) local_rank: 0 (pid: 7)",
    "api:failed (exitcode: 1) local_rank: 0 (pid: 7)",
    "Caught signal 11 (address not mapped)",
    "Caught signal 7 (address not mapped)",
    'File "/w/train.py", line 9, in step',
    'File "/w/train.py", line 9, in save_checkpoint',
    'File "/w/data.py", line 9, in step',
    "torch.cuda.OutOfMemoryError: out of memory",
    "c10::DistBackendError: out of memory",
    "tensor a must match tensor b in dimension",
    "Conv1d weights are missing",
    "Conv2d weights are missing",
]


def test_different_failures_have_different_shapes() -> None:
    alike = [(one, two) for one, two in combinations(DIFFERENT, 2) if shape(one) == shape(two)]
    assert alike == []


@pytest.mark.parametrize(
    ("line", "expected"),
    [
        ("connect to [fe80::1%eth0]:29500", "connect to <*>"),
        ("listening on [::]:29500 (errno: 98)", "listening on <*> (errno: 98)"),
        ("std::bad_alloc in at::native::add", "std::bad_alloc in at::native::add"),
        ("read/write failed: Input/output error", "read/write failed: Input/output error"),
        ("misc/socket.cc:518 failed", "socket.cc failed"),
        ("error in ../aten/src/Indexing.cu:1284", "error in Indexing.cu"),
        ("open '/data/my runs/x 7.bin' failed", "open '<*>' failed"),
        ("wrote ~ada/run/3 and ./tmp/x", "wrote <*>"),
        ("nodes gpu-a[04-05,7] are down", "nodes <*> are down"),
        ("\x1b[31mValueError\x1b[0m: x", "ValueError: x"),
        ("bad param model.layers.21.attn.weight", "bad param model.layers.<*>.attn.weight"),
        ("worker thread_12 of Pool-3 died", "worker thread_<*> of <*> died"),
        ("", ""),
    ],
)
def test_pieces(line: str, expected: str) -> None:
    assert shape(line) == expected


def test_a_known_node_is_masked_whatever_its_name() -> None:
    line = "lost contact to {0} (seen by {0}.lab.example:22)"
    shapes = {shape(line.format(name), [name]) for name in ("frontier", "gpu-a17", "Zeus")}
    assert shapes == {"lost contact to <*> (seen by <*>)"}


@pytest.mark.parametrize("word", ["bf16", "tf32", "fp8", "float64", "int8", "utf-8", "sha256"])
def test_types_are_no_hosts(word: str) -> None:
    assert shape(f"expected {word}") == f"expected {word}"


@pytest.mark.parametrize("host", ["bf0", "tf7", "fp003", "int12", "sha31"])
def test_hosts_that_begin_like_a_type_are_hosts(host: str) -> None:
    assert shape(f"lost {host}") == "lost <*>"
