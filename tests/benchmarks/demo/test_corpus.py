from __future__ import annotations

import hashlib
import json
from collections import Counter
from dataclasses import asdict
from pathlib import Path

import pytest

from relume.benchmarks.demo.corpus import SEED, Label, generate
from relume.benchmarks.demo.faults import FAULTS
from relume.benchmarks.demo.frameworks import FRAMEWORKS
from relume.benchmarks.demo.world import make_world
from relume.verdict import Domain, Kind

CALM = {"healthy", "still_running", "slowdown"}


@pytest.fixture(scope="module")
def corpus(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("corpus")
    generate(folder)
    return folder


@pytest.fixture(scope="module")
def labels(corpus: Path) -> list[Label]:
    lines = (corpus / "labels.jsonl").read_text(encoding="utf-8").splitlines()
    return [Label(**json.loads(line)) for line in lines]


def digest(folder: Path) -> str:
    found = hashlib.sha256()
    for path in sorted(folder.rglob("*")):
        if path.is_file():
            found.update(str(path.relative_to(folder)).encode() + path.read_bytes())
    return found.hexdigest()


def text_of(folder: Path, label: Label) -> str:
    logs = sorted((folder / label.attempt).glob("*.log"))
    return "".join(log.read_bytes().decode() for log in logs)


def test_the_same_seed_writes_the_same_bytes(corpus: Path, tmp_path: Path) -> None:
    written = generate(tmp_path, SEED)
    assert digest(tmp_path) == digest(corpus)
    lines = (corpus / "labels.jsonl").read_text(encoding="utf-8").splitlines()
    assert [json.loads(line) for line in lines] == [asdict(label) for label in written]


def test_another_seed_writes_another_corpus_of_the_same_kind(
    corpus: Path, labels: list[Label], tmp_path: Path
) -> None:
    others = generate(tmp_path, SEED + 1)
    assert [(x.attempt, x.kind, x.domain) for x in others] == [
        (x.attempt, x.kind, x.domain) for x in labels
    ]
    for label in labels:
        log = Path(label.attempt, "job.log")
        assert (tmp_path / log).read_bytes() != (corpus / log).read_bytes()


def test_another_seed_leaves_nothing_of_the_last(tmp_path: Path) -> None:
    generate(tmp_path / "used", SEED + 1)
    generate(tmp_path / "used")
    generate(tmp_path / "new")
    assert digest(tmp_path / "used") == digest(tmp_path / "new")


def test_every_framework_is_calm_and_every_fault_strikes_two(labels: list[Label]) -> None:
    assert len({label.attempt for label in labels}) == len(labels)
    seen = Counter(label.scenario for label in labels)
    assert seen["healthy"] == seen["still_running"] == len(FRAMEWORKS)
    assert all(seen[fault] == 2 for fault in FAULTS)
    assert {label.framework for label in labels} == set(FRAMEWORKS)


def test_labels_speak_the_words_of_verdicts(labels: list[Label]) -> None:
    for label in labels:
        assert Kind(label.kind).value == label.kind
        assert Domain(label.domain).value == label.domain
        assert set(label.culprit) <= {"node", "rank", "local_rank", "gpu", "nic"}


def test_labels_point_at_the_line_that_holds_the_words(corpus: Path, labels: list[Label]) -> None:
    pointed = 0
    for label in labels:
        words = FAULTS[label.scenario](make_world("any")).root if label.scenario in FAULTS else None
        if words is None:
            assert (label.root_file, label.root_line) == (None, None)
            continue
        assert label.root_file is not None
        assert label.root_line is not None
        lines = (corpus / label.attempt / label.root_file).read_bytes().decode().split("\n")
        assert words in lines[label.root_line]
        assert not any(words in line for line in lines[: label.root_line])
        pointed += 1
    assert pointed == 2 * (len(FAULTS) - 1)


def test_the_culprit_is_somewhere_in_the_logs(corpus: Path, labels: list[Label]) -> None:
    named = [label for label in labels if label.culprit]
    assert named
    for label in named:
        text = text_of(corpus, label)
        for key, value in label.culprit.items():
            assert (f"[rank{value}]" if key == "rank" else str(value)) in text


def test_calm_logs_hold_no_line_of_a_fault(corpus: Path, labels: list[Label]) -> None:
    endings = [fault(make_world("any")) for fault in FAULTS.values()]
    words = [ending.root for ending in endings if ending.root] + ["Watchdog caught", "exitcode"]
    for label in labels:
        if label.scenario in CALM:
            assert not [w for w in words if w in text_of(corpus, label)]
            assert [p.name for p in (corpus / label.attempt).glob("*.log")] == ["job.log"]


def test_kernel_logs_are_those_of_the_nodes_to_blame(corpus: Path, labels: list[Label]) -> None:
    for label in labels:
        found = {path.name for path in (corpus / label.attempt).glob("kernel-*.log")}
        node = label.culprit.get("node")
        assert found == (
            {f"kernel-{node}.log"} if label.scenario == "gpu_fell_off_the_bus" else set()
        )


def test_accounting_knows_every_attempt_that_ended(corpus: Path, labels: list[Label]) -> None:
    for label in labels:
        path = corpus / label.attempt / "sacct.txt"
        assert path.is_file() is (label.scenario != "still_running")
        if path.is_file():
            header, row = (line.split("|") for line in path.read_text().splitlines())
            fields = dict(zip(header, row, strict=True))
            assert (fields["State"] == "COMPLETED") is (label.scenario in CALM)
            assert (fields["ExitCode"] == "0:0") is (label.scenario in CALM)
