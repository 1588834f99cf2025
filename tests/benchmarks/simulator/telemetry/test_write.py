from __future__ import annotations

from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from recording import SECOND
from relume.benchmarks.inject.timeline import RecordedFile
from relume.benchmarks.simulator.faults import NO_NODE
from relume.benchmarks.simulator.parameters import load
from relume.benchmarks.simulator.recording import Ended, Stay
from relume.benchmarks.simulator.simulate import Living, Setting
from relume.benchmarks.simulator.telemetry.joblog import steps_done
from relume.benchmarks.simulator.telemetry.site import Job, micros, node_name, slurm_micros
from relume.benchmarks.simulator.telemetry.write import (
    expected_bytes,
    require_small,
    write_telemetry,
)
from relume.dataset import AttemptEntry, Incident, Origin
from relume.errors import InputError
from relume.features.progress import parse_progress
from relume.ingest.accounting.events import identify
from relume.ingest.accounting.read import read_rows
from relume.ingest.datasets import Dataset
from relume.ingest.skips import SkipCounts
from relume.models.scoring.score import ScoreReport
from relume.verdict import Domain, Kind
from simulating import scored, small_cluster

STEPS_A_LINE = {"deepspeed": 10, "mlperf": 100}


@pytest.fixture(scope="module")
def living() -> Living:
    return small_cluster()


@pytest.fixture(scope="module")
def dataset(living: Living, tmp_path_factory: pytest.TempPathFactory) -> Dataset:
    return write_telemetry(living, tmp_path_factory.mktemp("telemetry") / "data")


@pytest.fixture(scope="module")
def calm() -> Living:
    """Some hours in which jobs are slow now and then, and nothing else."""
    return small_cluster(6, nodes=6, days=0.25, jobs=8, faults=0)


@pytest.fixture(scope="module")
def calm_dataset(calm: Living, tmp_path_factory: pytest.TempPathFactory) -> Dataset:
    return write_telemetry(calm, tmp_path_factory.mktemp("calm") / "data")


def truth_of(living: Living, dataset: Dataset) -> list[tuple[Stay, AttemptEntry]]:
    """Each attempt of the simulation with its entry: by its name."""
    entries = {entry.name: entry for entry in dataset.attempts()}
    return [(one, entries[f"{one.run}, attempt {one.number}"]) for one in living.recording.stays]


def failures_of(entry: AttemptEntry) -> list[Incident]:
    return [one for one in entry.incidents or () if one.kind is not Kind.STRAGGLER]


def test_attempts_run_where_and_when_they_did(living: Living, dataset: Dataset) -> None:
    pairs = truth_of(living, dataset)
    assert len(pairs) == len(list(dataset.attempts()))
    assert dataset.header.origin is Origin.SIMULATED
    for stay, entry in pairs:
        assert entry.nodes == tuple(node_name(number) for number in stay.nodes.tolist())
        assert (entry.start, entry.end) == (slurm_micros(stay.started), slurm_micros(stay.end))
        assert (entry.state == "COMPLETED") is (stay.ended is Ended.DONE)


def test_labels_agree_with_the_truth(living: Living, dataset: Dataset) -> None:
    failed = 0
    for stay, entry in truth_of(living, dataset):
        labels, failure = failures_of(entry), stay.failure
        assert len(labels) == (failure is not None)
        if failure is None:
            continue
        failed += 1
        cause = living.parameters.causes[int(living.faults.cause[failure.fault])]
        known = cause.domain is not Domain.UNKNOWN
        assert labels[0].domain == (cause.domain if known else None)
        culprits = () if failure.node == NO_NODE else (node_name(failure.node),)
        assert labels[0].culprit_nodes == culprits
        assert (labels[0].onset or 0) <= micros(failure.at) <= (labels[0].end or 0)
    assert failed > 5


def test_slow_times_are_labelled_with_whose_fault_they_are(
    calm: Living, calm_dataset: Dataset
) -> None:
    slow = 0
    for stay, entry in truth_of(calm, calm_dataset):
        labels = [one for one in entry.incidents or () if one.kind is Kind.STRAGGLER]
        times = list(stay.slow_times())
        assert [one.onset for one in labels] == [micros(pace.at) for pace, _ in times]
        assert [bool(one.culprit_nodes) for one in labels] == [p.of_node for p, _ in times]
        slow += len(times)
    assert slow


def test_logs_show_the_steps_that_were_done(calm: Living, calm_dataset: Dataset) -> None:
    shown = 0
    for stay, entry in truth_of(calm, calm_dataset):
        text = Path(entry.files[0].path).read_text("utf-8").replace("\r", "\n")
        points = [point for line in text.split("\n") if (point := parse_progress(line))]
        steps = [point.step for point in points if point.step is not None]
        if not steps:
            continue
        shown += 1
        job = Job.of(stay.run, int(stay.run.removeprefix("job")), "6")
        lines = (steps[-1] - steps[0]) / STEPS_A_LINE.get(job.framework, 1)
        # Bars are printed ten at a time, and each step is a little longer or shorter.
        assert lines == pytest.approx(steps_done(job, stay), rel=0.01, abs=12)
    assert shown > 5


def test_clocks_of_a_log_are_those_of_its_attempt(dataset: Dataset) -> None:
    looked_at = 0
    for entry in dataset.attempts():
        span = RecordedFile(entry.files[0], "UTC", entry.start).span()
        if span is not None:
            looked_at += 1
            assert entry.start is not None
            assert entry.end is not None
            assert entry.start - SECOND <= span.first * SECOND
            assert span.last * SECOND <= entry.end
    assert looked_at > 5


def test_accounting_tells_the_same_attempts(dataset: Dataset) -> None:
    skipped = SkipCounts()
    lines = (dataset.folder / "sacct.txt").read_text("utf-8").splitlines()
    found = {
        str(attempt): row for attempt, row in identify(read_rows(lines, skipped), "x", skipped)
    }
    assert not skipped.as_dict()
    entries = {entry.attempt: entry for entry in dataset.attempts()}
    assert found.keys() == entries.keys()
    for name, row in found.items():
        entry = entries[name]
        assert (row.start, row.nodes) == (entry.start, entry.nodes)
        assert row.state in {entry.state, "REQUEUED"}
        assert row.end == (None if entry.state == "RUNNING" else entry.end)


def test_nodes_say_what_broke_them(dataset: Dataset) -> None:
    assert {file.node for file in dataset.node_logs} == set(map(node_name, range(12)))
    text = "".join(Path(file.path).read_text("utf-8") for file in dataset.node_logs)
    assert "NVRM: Xid" in text
    for file in dataset.node_logs:
        lines = Path(file.path).read_text("utf-8").splitlines()
        assert lines == sorted(lines, key=lambda line: line[:26])


@pytest.fixture(scope="module")
def report(dataset: Dataset, tmp_path_factory: pytest.TempPathFactory) -> ScoreReport:
    return scored(dataset.folder, tmp_path_factory.mktemp("results"))


def test_a_backtest_of_it_makes_sense(report: ScoreReport) -> None:
    found = report.detection.by_kind
    assert found[Kind.CRASH].recall.right >= 0.8 * found[Kind.CRASH].recall.total > 0
    assert found[Kind.HANG].recall.total > 0
    assert report.counts.without_exposure == 0
    assert report.attribution.exclusions.workload > 0
    assert report.attribution.exclusions.on_workload == 0


@settings(max_examples=3, deadline=None)
@given(words=st.text(min_size=1, max_size=8))
def test_other_words_tell_the_same_truth(
    words: str, tmp_path_factory: pytest.TempPathFactory
) -> None:
    living = small_cluster(days=0.03)
    folder = tmp_path_factory.mktemp("words")
    told = [
        write_telemetry(living, folder / name, words=seed)
        for name, seed in (("one", "one"), ("other", words))
    ]
    one, other = ([_truth(entry) for entry in dataset.attempts()] for dataset in told)
    assert one == other


def _truth(entry: AttemptEntry) -> object:
    labels = [(one.domain, one.culprit_nodes, one.end) for one in failures_of(entry)]
    return entry.attempt, entry.nodes, entry.start, entry.end, labels


def test_the_same_seed_writes_the_same_bytes(tmp_path: Path) -> None:
    first, again = (
        write_telemetry(small_cluster(3, days=0.06), tmp_path / name).folder for name in "ab"
    )
    names = sorted(path.relative_to(first) for path in first.rglob("*") if path.is_file())
    assert names == sorted(path.relative_to(again) for path in again.rglob("*") if path.is_file())
    assert all((first / name).read_bytes() == (again / name).read_bytes() for name in names)


def test_there_has_to_be_room_for_what_is_written(living: Living, dataset: Dataset) -> None:
    files = [path for path in dataset.folder.rglob("*") if path.is_file()]
    written = sum(path.stat().st_size for path in files)
    assert 0.5 * expected_bytes(living) < written < expected_bytes(living)


def test_a_folder_with_files_and_too_much_telemetry_are_refused(tmp_path: Path) -> None:
    (tmp_path / "there").write_text("")
    with pytest.raises(InputError, match="expected a new or an empty folder"):
        write_telemetry(small_cluster(3, days=0.02), tmp_path)
    with pytest.raises(InputError, match="found 3000 node-days; expected at most 1000"):
        require_small(Setting(nodes=100, days=30.0))


def test_so_many_times_as_many_faults() -> None:
    rate = load().faults.per_node_day
    assert load().with_faults(3).faults.per_node_day == pytest.approx(3 * rate)
    with pytest.raises(InputError, match="times as many faults"):
        load().with_faults(-1)
