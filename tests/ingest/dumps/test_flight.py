"""Every format of the recorder gives the same; what is missing or wrong is null or passed over."""

from __future__ import annotations

import json
from typing import Any

import pytest

from recorders import START, document, entry
from relume.benchmarks.dumps.pickling import pickle_as_torch
from relume.ingest.dumps.documents import parse_document
from relume.ingest.dumps.flight import KEPT_COMPLETE, KEPT_PENDING, Flight, decode

OPEN = {"state": "scheduled"}


def as_json(told: dict[str, Any]) -> dict[str, Any]:
    """Return a document as PyTorch writes it as JSON: counters as text, 0 for what never was."""
    status = {
        number: {name: str(value) for name, value in counters.items()}
        for number, counters in told["pg_status"].items()
    }
    times = ("time_discovered_started_ns", "time_discovered_completed_ns")
    entries = [e | {name: e[name] or 0 for name in times} for e in told["entries"]]
    text = json.dumps(told | {"pg_status": status, "entries": entries})
    parsed: dict[str, Any] = parse_document(text.encode(), "json")
    return parsed


def states(flight: Flight) -> list[tuple[str, int, str]]:
    return [(c.operation, c.sequence_number, c.state) for c in flight.collectives]


def test_pickle_and_json_give_the_same() -> None:
    told = document([entry(5), entry(6, **OPEN)])
    pickled = decode(parse_document(pickle_as_torch(told), "pickle"))
    assert decode(as_json(told)) == pickled
    [done, waiting] = pickled.collectives
    assert (done.state, done.completed_time) == ("completed", START + 5_000_001)
    assert (waiting.state, waiting.completed_time, waiting.started_time) == (
        "scheduled",
        None,
        None,
    )
    assert (waiting.input_sizes, waiting.input_dtypes) == (((4, 2),), ("Float",))
    assert waiting.timeout_seconds == 600
    [group] = pickled.groups
    assert (group.ranks, group.last_enqueued, group.last_completed) == ((0, 1, 2, 3), 7, 6)
    assert pickled.candidates == frozenset({0, 1, 2, 3})


@pytest.mark.parametrize("version", ["2.1", "2.2", "2.4", "2.5", "2.9", "2.10"])
@pytest.mark.parametrize("backend", ["nccl", "nccl2", "gloo", "xccl"])
def test_versions_and_backends(version: str, backend: str) -> None:
    told = document([entry(6, profiling_name=f"{backend}:broadcast", **OPEN)], version=version)
    if version == "2.1":  # without counters, without a flag for sends
        del told["pg_status"], told["entries"][0]["is_p2p"], told["entries"][0]["timeout_ms"]
    flight = decode(told)
    assert states(flight) == [(f"{backend}:broadcast", 7, "scheduled")]
    assert flight.version == version


def test_an_empty_ring_as_json_has_no_entries() -> None:
    told = document()
    del told["entries"]
    assert decode(told).collectives == ()
    assert decode(told).groups[0].last_enqueued == 7


def test_a_started_kernel_is_known_by_its_state() -> None:
    began = (START + 7) * 1000
    told = document([entry(6, state="started", time_discovered_started_ns=began)])
    assert decode(told).collectives[0].started_time == START + 7


def test_gloo_is_through_when_it_is_retired() -> None:
    gloo = {"profiling_name": "gloo:all_reduce", **OPEN}
    told = document([entry(5, **gloo, retired=True), entry(6, **gloo)])
    assert [state for _, _, state in states(decode(told))] == ["completed", "scheduled"]
    nccl = document([entry(6, **OPEN, retired=True)])  # a time-out
    assert [state for _, _, state in states(decode(nccl))] == ["scheduled"]


def test_a_batch_has_the_state_of_its_last_entry() -> None:
    def batch(number: int, state: str) -> list[dict[str, Any]]:
        both = {"p2p_seq_id": number, "is_p2p": True, "collective_seq_id": 3}
        return [
            entry(number, **both, profiling_name="nccl:send 0->1", **OPEN),
            entry(number, **both, profiling_name="nccl:recv 0<-1", **OPEN),
            entry(number, **both, profiling_name="nccl:coalesced", state=state),
        ]

    flight = decode(document([*batch(1, "completed"), *batch(2, "scheduled")]))
    assert states(flight) == [
        ("nccl:send 0->1", 1, "completed"),
        ("nccl:recv 0<-1", 1, "completed"),
        ("nccl:send 0->1", 2, "scheduled"),
        ("nccl:recv 0<-1", 2, "scheduled"),
    ]
    assert flight.candidates == frozenset({0})  # who sends as 0 is the first of its group


def test_a_batch_of_which_only_the_end_is_noted_is_kept() -> None:
    told = document([entry(6, profiling_name="nccl:coalesced", **OPEN)])
    assert states(decode(told)) == [("nccl:coalesced", 7, "scheduled")]


def test_counters_go_by_the_order_of_the_groups() -> None:
    config = {
        name: {"name": name, "desc": "", "ranks": ranks}
        for name, ranks in {"12": "[1, 3]", "0": "[0, 1, 2, 3]", "7": "[1, 2]"}.items()
    }
    status = {str(n): {"last_enqueued_collective": 10 * n} for n in (5, 0, 2)}
    flight = decode(document(pg_config=config, pg_status=status))
    assert {g.name: g.last_enqueued for g in flight.groups} == {"0": 0, "7": 20, "12": 50}
    assert flight.candidates == frozenset({1})


def test_counters_that_contradict_an_entry_are_left_open() -> None:
    config = {name: {"name": name, "ranks": "[0, 1]"} for name in ("0", "7")}
    status = {str(n): {"last_enqueued_collective": 10 + n} for n in (0, 1)}
    swapped = entry(0, pg_id=0, process_group=("7", "x"))
    flight = decode(document([swapped], pg_config=config, pg_status=status))
    assert {g.name: g.last_enqueued for g in flight.groups} == {"0": None, "7": 10}


def test_groups_that_name_no_ranks_are_known_by_their_entries() -> None:
    gloo = {"": {"name": "", "desc": "", "ranks": "[]"}}
    flight = decode(document([entry(0)], pg_config=gloo))
    assert [(g.name, g.description, g.ranks) for g in flight.groups] == [("0", "default_pg", ())]
    assert flight.candidates is None


@pytest.mark.parametrize("count", [1, 5])
def test_a_whole_ring_begins_at_0_and_has_no_gap(count: int) -> None:
    assert decode(document([entry(n) for n in range(count)])).is_whole
    assert not decode(document([entry(n + 1) for n in range(count)])).is_whole
    assert not decode(document([entry(0), entry(9)])).is_whole


def test_of_a_long_ring_what_is_open_is_kept_and_the_last_that_are_complete() -> None:
    done = [entry(n) for n in range(100)]
    other = entry(0, process_group=("1", "x"), pg_id=1)
    waiting = [entry(n, **OPEN) for n in range(100, 100 + KEPT_PENDING + 5)]
    flight = decode(document([other, *done, *waiting]))
    complete = [c for c in flight.collectives if c.state == "completed"]
    assert [c.group for c in complete].count("1") == 1
    assert [c.sequence_number for c in complete][-1] == 100
    assert len(complete) == KEPT_COMPLETE + 1
    assert len(flight.collectives) - len(complete) == KEPT_PENDING
    assert flight.collectives[len(complete)].sequence_number == 101


def test_what_a_file_states_of_itself() -> None:
    flight = decode(document(rank="3", hostname="gpu-a01"))
    assert (flight.rank, flight.node) == (3, "gpu-a01")
    flight = decode(document(rank=-1, host_name="no host\n"))
    assert (flight.rank, flight.node) == (None, None)


@pytest.mark.parametrize(
    "wrong",
    [
        {"entries": None},
        {"entries": {"a": 1}},
        {"entries": [None, 3, [], {}, {"process_group": []}]},
        {"entries": [{"process_group": [[]], "profiling_name": 7}]},
        {"entries": [entry(1, process_group=None, pg_name=None)]},
        {"entries": [entry(1, collective_seq_id="many")]},
        {"pg_config": [1], "pg_status": 7, "version": 2},
        {"pg_config": {"0": None, "1": {"ranks": "x" * 9}}, "pg_status": {"0": []}},
        {"pg_config": {"0": {"ranks": "[99999999999]"}, "1": {"ranks": [True, -1]}}},
    ],
)
def test_nonsense_is_passed_over(wrong: dict[str, Any]) -> None:
    assert decode(document([entry(1)]) | wrong).collectives == () or "pg_config" in wrong


def test_the_first_of_a_ring_is_kept_to_show_that_what_is_open_is_all_there() -> None:
    done = [entry(n) for n in range(1, 100)]
    flight = decode(document([*done, entry(100, **OPEN)]))
    assert (flight.collectives[0].sequence_number, flight.collectives[0].state) == (2, "completed")
    assert len(flight.collectives) == KEPT_COMPLETE + 2
