from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from labelling import make_case
from relume.benchmarks.corpora.excerpts import has_failed, incident_of, is_decided, write
from relume.dataset import AttemptEntry
from relume.ingest.datasets import read_dataset
from relume.verdict import Domain, Kind

ATTEMPT = "failure-cases/1@0.0"


def record(name: str, kind: str, accepted: list[str], **fields: Any) -> dict[str, Any]:
    made: dict[str, Any] = {
        "id": name,
        "class": "made_up",
        "kind": kind,
        "fault_domain": "user",
        "root_cause_line": 0,
        "culprit": None,
        "text": ["step 1", "\u25cf lost"],
    }
    accept = {
        "kind": accepted,
        "line": [0],
        "domain": ["workload"],
        "culprit_optional": False,
        "culprit_also": [],
    }
    return made | {"accept": accept} | fields


def test_each_excerpt_is_an_attempt_with_what_both_readings_support(tmp_path: Path) -> None:
    records = [
        record("made-1", "crash", ["crash"]),
        record("made-2", "benign", ["benign", "unknown"]),
        record("made-3", "hang", ["hang", "benign"]),
    ]
    (tmp_path / "cases.jsonl").write_text("\n".join(map(json.dumps, records)), encoding="utf-8")
    write(tmp_path, tmp_path / "out")
    dataset = read_dataset(tmp_path / "out")
    assert dataset.header.name == "failure-cases"
    crash, benign, undecided = dataset.attempts()
    assert [entry.name for entry in (crash, benign, undecided)] == ["made-1", "made-2", "made-3"]
    assert Path(crash.files[0].path).read_text(encoding="utf-8") == "step 1\n\u25cf lost\n"
    assert crash.incidents is not None
    (incident,) = crash.incidents
    assert (incident.kind, incident.domain) == (Kind.CRASH, Domain.WORKLOAD)
    assert (incident.onset, incident.end, crash.state) == (None, None, None)
    assert benign.incidents == ()
    assert undecided.incidents is None
    assert len(set(map(attempt_of, (crash, benign, undecided)))) == 3


def attempt_of(entry: AttemptEntry) -> str:
    return entry.attempt


@pytest.mark.parametrize(
    ("accepted", "decided"),
    [
        ({"crash"}, True),
        ({"crash", "hang"}, True),
        ({"benign", "unknown"}, True),
        ({"benign", "numeric"}, False),
        ({"benign", "straggler", "unknown"}, False),
    ],
)
def test_readings_must_agree_on_whether_anything_failed(
    accepted: set[str], *, decided: bool
) -> None:
    assert is_decided(make_case(accept_kind=frozenset(accepted))) is decided


@pytest.mark.parametrize(
    ("accepted", "decided"),
    [
        ({"scheduler"}, True),
        ({"scheduler", "unknown"}, True),
        ({"workload", "hardware"}, True),
        ({"scheduler", "workload"}, False),
    ],
)
def test_readings_must_agree_on_whether_the_scheduler_ended_it(
    accepted: set[str], *, decided: bool
) -> None:
    assert is_decided(make_case(accept_domain=frozenset(accepted))) is decided


def test_what_the_scheduler_ended_is_no_incident() -> None:
    assert has_failed(make_case())
    assert not has_failed(make_case(kind="benign"))
    assert not has_failed(make_case(fault_domain="scheduler"))


@pytest.mark.parametrize(
    ("fault_domain", "accepted", "domain"),
    [
        ("user", {"workload"}, Domain.WORKLOAD),
        ("user", {"workload", "unknown"}, Domain.WORKLOAD),
        ("infrastructure", {"hardware", "network"}, None),
        ("unknown", {"network", "unknown"}, None),
        ("infrastructure", set(), None),
    ],
)
def test_a_domain_is_labelled_where_it_is_one(
    fault_domain: str, accepted: set[str], domain: Domain | None
) -> None:
    case = make_case(fault_domain=fault_domain, accept_domain=frozenset(accepted))
    assert incident_of(case, ATTEMPT).domain is domain


@pytest.mark.parametrize(
    ("label", "optional", "nodes", "ranks"),
    [
        ("rank 7", False, (), (7,)),
        ("node031 gpu 3", False, ("node031",), ()),
        ("node001 rank 0", False, ("node001",), (0,)),
        ("node031", True, (), ()),
        ("local_rank 4", False, (), ()),
        ("PCI 0000:1a:00", False, (), ()),
        ("mlx5_7", False, (), ()),
        (None, False, (), ()),
    ],
)
def test_a_culprit_is_labelled_where_it_is_a_node_or_a_rank_that_must_be_named(
    label: str | None, *, optional: bool, nodes: tuple[str, ...], ranks: tuple[int, ...]
) -> None:
    incident = incident_of(make_case(culprit=label, culprit_optional=optional), ATTEMPT)
    assert (incident.culprit_nodes, incident.culprit_ranks) == (nodes, ranks)


@pytest.mark.parametrize(
    ("kind", "accepted", "text", "watchdog"),
    [
        ("hang", {"hang"}, "heartbeat lost", True),
        ("hang", {"hang"}, "still waiting", False),
        ("hang", {"hang", "crash"}, "still waiting", True),
        ("crash", {"crash"}, "collective timed out", True),
        ("crash", {"crash"}, "killed", False),
        ("straggler", {"straggler"}, "timed out", False),
    ],
)
def test_a_hang_that_a_watchdog_ended_may_be_called_a_crash(
    kind: str, accepted: set[str], text: str, *, watchdog: bool
) -> None:
    case = make_case(kind=kind, accept_kind=frozenset(accepted), text=(text,))
    assert incident_of(case, ATTEMPT).watchdog is watchdog
