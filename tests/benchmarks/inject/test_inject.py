from __future__ import annotations

import gzip
from dataclasses import replace
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from recording import SECOND, START, TRACEBACK, clock, entry, logged, steps
from relume.benchmarks.inject.faults import FAULTS, Injection, find
from relume.benchmarks.inject.inject import inject
from relume.dataset import AttemptEntry, DatasetHeader, LogFile, Origin
from relume.errors import InputError
from relume.ingest.datasets import Dataset, write_dataset
from relume.verdict import Domain, Kind
from simulating import scored

STEPS = 1_500
AT = 0.8


def healthy(folder: Path, number: int = 7, *, count: int = STEPS, zone: int = 0) -> AttemptEntry:
    """A job that makes a step a second, with its log in `folder`."""
    log = logged(folder, f"{number}.out", steps(count, start=START + zone * 3600 * SECOND))
    end = START + (count + 30) * SECOND
    made = entry(number, files=(log,), start=START, end=end, state="COMPLETED", exit_code=0)
    nodes = tuple(f"gpu-a{number}{place}" for place in (1, 2))
    return replace(made, name=f"job {number}", nodes=nodes)


@pytest.fixture(scope="module")
def source(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Two healthy jobs, one that failed, one that nobody looked at, and the log of a node."""
    folder = tmp_path_factory.mktemp("source")
    node = logged(folder, "kern.log", ["2026-03-04T07:00:01+00:00 gpu-a71 kernel: calm"])
    failed = entry(9, files=(logged(folder, "9.out", [*steps(60), *TRACEBACK]),), incidents=())
    failed = replace(failed, incidents=None)
    header = DatasetHeader(
        name="made up", node_logs=(replace(node, node="gpu-a71", stream="kernel"),)
    )
    write_dataset(folder, header, [healthy(folder, 7), healthy(folder, 8, count=300), failed])
    return folder


def injected(source: Path, out: Path, fault: str, **changes: object) -> Dataset:
    chosen = {"attempt": "job 7", "at": AT} | changes
    return inject(source, out, Injection(fault=find(fault), **chosen))  # type: ignore[arg-type]


def only(dataset: Dataset, name: str = "job 7") -> AttemptEntry:
    return next(one for one in dataset.attempts() if one.name == name)


def test_a_log_that_is_missing_stays_missing(tmp_path: Path) -> None:
    (tmp_path / "source").mkdir()
    other = replace(healthy(tmp_path / "source", 8), files=(LogFile(path="gone.out"),))
    write_dataset(
        tmp_path / "source",
        DatasetHeader(name="made up"),
        [healthy(tmp_path / "source", 7, count=300), other],
    )
    made = injected(tmp_path / "source", tmp_path / "out", "hang")
    [gone] = only(made, "job 8").files
    assert not Path(gone.path).exists()
    assert only(made).incidents


@pytest.mark.parametrize("name", sorted(FAULTS))
def test_what_is_put_in_is_found_by_a_backtest(name: str, tmp_path: Path) -> None:
    fault = FAULTS[name]
    source = tmp_path / "source"
    source.mkdir()
    # A straggler is known by a thousand steps before it.
    job = healthy(source, count=STEPS if fault.slows else 200)
    write_dataset(source, DatasetHeader(name="one job"), [job])
    dataset = injected(source, tmp_path / "out", name)
    report = scored(dataset.folder, tmp_path / "results")
    if fault.kind is None:
        assert report.detection.all.false_positives == 0
        assert report.counts.incidents_by_kind == {}
        return
    assert {kind: found.recall.right for kind, found in report.detection.by_kind.items()} == {
        fault.kind: 1
    }
    assert report.detection.all.false_positives == 0
    assert report.attribution.exclusions.on_workload == 0
    assert report.attribution.exclusions.innocent == 0


@pytest.mark.parametrize("name", sorted(FAULTS))
def test_the_label_says_what_was_put_in(name: str, source: Path, tmp_path: Path) -> None:
    fault = FAULTS[name]
    dataset = injected(source, tmp_path / "out", name, node="gpu-a72" if fault.of_node else None)
    assert dataset.header.origin is Origin.SIMULATED
    entry = only(dataset)
    onset = START + (int(AT * (STEPS - 1)) + 1) * SECOND
    labels = [
        (one.kind, one.domain, one.culprit_nodes, one.onset, one.end)
        for one in entry.incidents or ()
    ]
    culprits = ("gpu-a72",) if fault.of_node else ()
    wanted = [] if fault.kind is None else [(fault.kind, fault.domain, culprits, onset, entry.end)]
    assert labels == wanted


def test_the_rest_and_the_original_stay_as_they_were(source: Path, tmp_path: Path) -> None:
    before = {path: path.read_bytes() for path in source.iterdir()}
    dataset = injected(source, tmp_path / "out", "crash-hardware")
    assert {path: path.read_bytes() for path in source.iterdir()} == before
    other = only(dataset, "job 8")
    assert Path(other.files[0].path).read_bytes() == (source / "8.out").read_bytes()
    assert other.incidents == ()
    assert [one.incidents for one in dataset.attempts()][2] is None
    assert sum(file.node == "gpu-a71" for file in dataset.node_logs) >= 1


@settings(max_examples=15, deadline=None)
@given(at=st.floats(0.05, 0.95), seed=st.integers(0, 2**40))
def test_wherever_it_is_put_the_log_before_it_is_that_of_before(
    at: float, seed: int, source: Path, tmp_path_factory: pytest.TempPathFactory
) -> None:
    out = tmp_path_factory.mktemp("any") / "out"
    entry = only(injected(source, out, "crash-workload", at=at, seed=seed))
    [label] = entry.incidents or ()
    assert (label.kind, label.domain, label.culprit_nodes) == (Kind.CRASH, Domain.WORKLOAD, ())
    new, old = Path(entry.files[0].path).read_bytes(), (source / "7.out").read_bytes()
    kept = old[: len(b"\n".join(old.split(b"\n")[: int(at * (STEPS - 1)) + 1])) + 1]
    assert new.startswith(kept)
    assert old[len(kept) : len(kept) + 40] not in new


def test_without_a_name_all_healthy_attempts_get_it(source: Path, tmp_path: Path) -> None:
    dataset = injected(source, tmp_path / "out", "hang", attempt=None)
    kinds = {one.name: [i.kind for i in one.incidents or ()] for one in dataset.attempts()}
    assert kinds["job 7"] == kinds["job 8"] == [Kind.HANG]
    assert sum(map(len, kinds.values())) == 2


def test_slow_steps_take_so_many_times_as_long(source: Path, tmp_path: Path) -> None:
    entry = only(injected(source, tmp_path / "out", "slow", factor=3.0))
    lines = Path(entry.files[0].path).read_text().splitlines()
    assert lines[0].endswith("time 1000.00ms")
    assert lines[-1].endswith("time 3000.00ms")
    cut = int(AT * (STEPS - 1)) + 1
    assert lines[-1][1:20] == clock(cut + 3 * (STEPS - cut))
    assert entry.end == START + (cut + 3 * (STEPS + 30 - cut)) * SECOND


def test_a_broken_pipe_leaves_a_log_whose_end_cannot_be_read(source: Path, tmp_path: Path) -> None:
    entry = only(injected(source, tmp_path / "out", "broken-pipe"))
    assert entry.end == START + (STEPS + 30) * SECOND
    with pytest.raises(EOFError), gzip.open(entry.files[0].path) as stream:
        stream.read()


def test_the_folder_of_one_attempt_is_enough(tmp_path: Path) -> None:
    folder = tmp_path / "attempt"
    folder.mkdir()
    logged(folder, "job.log", [f"gpu-a01: {line}" for line in steps(200)])
    dataset = inject(folder, tmp_path / "out", Injection(fault=find("node-lost"), at=0.5))
    [entry] = dataset.attempts()
    [label] = entry.incidents or ()
    assert (entry.nodes, label.culprit_nodes) == (("gpu-a01",), ("gpu-a01",))


def test_compressed_accounting_beside_a_log_tells_its_nodes(tmp_path: Path) -> None:
    folder = tmp_path / "one"
    folder.mkdir()
    logged(folder, "slurm-7.out", steps(200))
    rows = "JobID|State|ExitCode|NodeList\n7|COMPLETED|0:0|gpu-c[1-2]\n"
    (folder / "sacct.txt.gz").write_bytes(gzip.compress(rows.encode()))
    [entry] = inject(folder, tmp_path / "out", Injection(fault=find("hang"))).attempts()
    assert entry.nodes == ("gpu-c1", "gpu-c2")
    assert entry.attempt.startswith("injected/7@")


def test_clocks_without_a_zone_are_those_of_the_data_set(tmp_path: Path) -> None:
    header = DatasetHeader(name="here", timezone="Europe/Berlin")
    write_dataset(tmp_path / "source", header, [])
    (tmp_path / "source" / "dataset.toml").unlink()
    made = healthy(tmp_path / "source", count=200, zone=1)
    write_dataset(tmp_path / "source", header, [made])
    chosen = Injection(fault=find("crash-workload"), at=0.5)
    entry = only(inject(tmp_path / "source", tmp_path / "out", chosen))
    [label] = entry.incidents or ()
    assert label.onset == START + 100 * SECOND
    words = Path(entry.files[0].path).read_text().splitlines()[100]
    assert "2026-03-04 08:01:4" in words


@pytest.mark.parametrize(
    ("fault", "changes", "words"),
    [
        ("hang", {"attempt": "job 1"}, "attempt job 1; found 3 others"),
        ("slow-node", {"node": "gpu-b09"}, "node gpu-b09; found attempt job 7 on gpu-a71, gpu-a72"),
        ("hang", {"at": 1.0}, "share of the log; found 1; expected between 0 and 1"),
        ("slow", {"factor": 1.0}, "factor of slow steps"),
        ("hang", {"silent_seconds": 0.0}, "seconds of silence"),
    ],
)
def test_what_does_not_fit_is_refused(
    fault: str, changes: dict[str, object], words: str, source: Path, tmp_path: Path
) -> None:
    with pytest.raises(InputError, match=words):
        injected(source, tmp_path / "out", fault, **changes)
    assert not (tmp_path / "out").exists()


def test_no_clocks_no_node_nothing_healthy_and_no_such_fault_say_so(tmp_path: Path) -> None:
    bare = logged(tmp_path, "bare.log", [f"step {n} loss 3.9" for n in range(100)])
    with pytest.raises(InputError, match="no log with clocks on its lines"):
        inject(tmp_path / bare.path, tmp_path / "out", Injection(fault=find("hang")))
    nameless = logged(tmp_path, "nameless.log", steps(100))
    with pytest.raises(InputError, match="neither its record nor its lines name a node"):
        inject(tmp_path / nameless.path, tmp_path / "out", Injection(fault=find("node-lost")))
    named = Injection(fault=find("node-lost"), node="gpu-z9")
    [entry] = inject(tmp_path / nameless.path, tmp_path / "out", named).attempts()
    assert [one.culprit_nodes for one in entry.incidents or ()] == [("gpu-z9",)]
    with pytest.raises(InputError, match="expected a new folder"):
        inject(tmp_path / nameless.path, tmp_path / "out", named)
    failed = tmp_path / "failed"
    failed.mkdir()
    write_dataset(failed, DatasetHeader(name="x"), [entry])
    with pytest.raises(InputError, match="no attempt that is labelled as healthy"):
        inject(failed, tmp_path / "other", Injection(fault=find("hang")))
    with pytest.raises(InputError, match="did you mean 'hang'"):
        find("hnag")


CLOCKED = st.builds(
    lambda second, words: b"2026-03-04 07:%02d:%02d,000 " % divmod(second, 60) + words,
    st.integers(0, 3599),
    st.binary(max_size=30),
)


@settings(max_examples=40, deadline=None)
@given(
    lines=st.lists(st.one_of(st.binary(max_size=60), CLOCKED), max_size=60),
    fault=st.sampled_from(sorted(FAULTS)),
    at=st.floats(0.01, 0.99),
)
def test_whatever_is_in_a_log_it_is_broken_or_refused(
    lines: list[bytes], fault: str, at: float, tmp_path_factory: pytest.TempPathFactory
) -> None:
    folder = tmp_path_factory.mktemp("any")
    (folder / "job.log").write_bytes(b"\n".join(lines))
    injection = Injection(fault=find(fault), at=at, node="gpu-1")
    try:
        [entry] = inject(folder / "job.log", folder / "out", injection).attempts()
    except InputError:
        return
    assert len(entry.incidents or ()) == (FAULTS[fault].kind is not None)


def test_a_log_that_is_gone_is_told(tmp_path: Path) -> None:
    made = entry(7, files=(LogFile(path="none.out"),))
    write_dataset(tmp_path / "source", DatasetHeader(name="x"), [made])
    with pytest.raises(InputError, match=r"cannot read .*none\.out"):
        inject(tmp_path / "source", tmp_path / "out", Injection(fault=find("hang")))
