"""Remote-write: what it says, against the protobuf library, and whatever else may come."""

from __future__ import annotations

import contextlib
import math
import struct
from typing import Any

import pytest
from google.protobuf.message import DecodeError  # type: ignore[import-untyped]
from hypothesis import given, settings
from hypothesis import strategies as st

from protobufs import message, pairs
from relume.errors import InputError
from relume.features.metrics.names import load_names
from relume.features.metrics.stale import STALE, is_stale
from relume.ingest.push import remotewrite
from relume.ingest.push.remotewrite import RemoteWrite
from relume.ingest.skips import SkipCounts

NAMES = load_names()
POWER, LOAD, CLOCK = "DCGM_FI_DEV_POWER_USAGE", "node_load1", "DCGM_FI_DEV_SM_CLOCK"
CPU, NOTHING = "node_cpu_seconds_total", "go_goroutines"
Told = list[tuple[Any, ...]]
Series = tuple[dict[str, str], list[tuple[float, int]]]

LABELS = st.fixed_dictionaries(
    {"__name__": st.sampled_from([POWER, LOAD, CLOCK, NOTHING, ""])},
    optional={
        "instance": st.sampled_from(["gpu-a01:9400", "gpu-a02:9100", ""]),
        "Hostname": st.sampled_from(["gpu-a01", "gpu-a03:9400", "", "n\u00fc"]),
        "gpu": st.sampled_from(["0", "7"]),
        "rank": st.sampled_from(["3", "x"]),
        "GPU_I_ID": st.sampled_from(["2", "ü"]),
        "job": st.text(max_size=5),
    },
)
VALUES = st.floats() | st.sampled_from([STALE, 2.0**47 + 1, 2.0**63, -0.0])
TIMES = st.sampled_from([0, 15, -15]) | st.integers(-(2**63), 2**63 - 1)
SERIES = st.lists(st.tuples(LABELS, st.lists(st.tuples(VALUES, TIMES), max_size=4)), max_size=6)


def request(series: list[Series], **more: Any) -> Any:
    made = [
        message(
            "TimeSeries",
            labels=pairs(labels),
            samples=[message("Sample", value=value, timestamp=time) for value, time in points],
        )
        for labels, points in series
    ]
    return message("WriteRequest", timeseries=made, **more)


def body_of(*series: Series) -> bytes:
    made: bytes = request(list(series)).SerializeToString()
    return made


def cpu(node: str, core: int, value: float, time: int, mode: str = "user") -> Series:
    labels = {"__name__": CPU, "instance": node, "cpu": str(core), "mode": mode}
    return labels, [(value, time)]


def decoded(body: bytes, by: RemoteWrite | None = None, skipped: SkipCounts | None = None) -> Told:
    batches = (by or RemoteWrite(NAMES)).decode(body, SkipCounts() if skipped is None else skipped)
    return [
        (one.event_time, repr(one.value), one.metric, one.node, one.gpu, one.rank, one.device)
        for batch in batches
        for one in batch.samples()
    ]


def expected_of(parsed: Any) -> Told:
    """What the library says of a request, by the table of names; nothing of it is summed."""
    found: Told = []
    for series in parsed.timeseries:
        labels = {pair.name: pair.value for pair in series.labels}
        name = labels.pop("__name__", "")
        named = NAMES.named(name, labels)
        if named is None:
            continue
        for sample in series.samples:
            value, time = sample.value, sample.timestamp * 1000
            if is_stale(value) or abs(time) > 2**62:
                continue
            is_blank = 2.0**47 <= value <= 2.0**47 + 3 or value >= 2.0**63 - 1024
            if name.startswith("DCGM_") and is_blank:
                value = math.nan
            place = named.series
            where = (place.metric, place.node, place.gpu, named.rank, place.device)
            found.append((time, repr(named.scale * value), *where))
    return sorted(found, key=lambda one: one[0])


@given(SERIES, SERIES)
@settings(max_examples=60, deadline=None)
def test_it_says_what_the_library_says_the_first_time_and_later(
    first: list[Series], second: list[Series]
) -> None:
    receiver = RemoteWrite(NAMES)
    for series in (first, second, first):
        made = request(series)
        assert decoded(made.SerializeToString(), receiver) == expected_of(made)


SOME = request(
    [
        ({"__name__": POWER, "Hostname": "n1", "gpu": "0"}, [(412.5, 1_000), (413.0, 2_000)]),
        ({"__name__": LOAD, "instance": "n1:9100"}, [(1.0, 1_000)]),
    ],
    metadata=[message("Metadata", type=1, family=LOAD, help="load")],
)


@given(st.data())
@settings(max_examples=150, deadline=None)
def test_a_damaged_body_is_refused_or_read_as_the_library_does(data: st.DataObject) -> None:
    body = bytearray(SOME.SerializeToString())
    for _ in range(data.draw(st.integers(0, 3))):
        body[data.draw(st.integers(0, len(body) - 1))] ^= 1 << data.draw(st.integers(0, 7))
    raw = bytes(body[: data.draw(st.integers(0, len(body)))]) + data.draw(st.binary(max_size=4))
    parsed = message("WriteRequest")
    try:
        parsed.ParseFromString(raw)
    except DecodeError:
        # Of fields that don't matter (exemplars, metadata) only the length is looked at.
        with contextlib.suppress(InputError):
            decoded(raw)
        return
    with contextlib.suppress(InputError):  # groups
        assert decoded(raw) == expected_of(parsed)


@given(st.binary(max_size=60))
@settings(max_examples=150, deadline=None)
def test_any_bytes_give_samples_or_our_error(body: bytes) -> None:
    with contextlib.suppress(InputError):
        decoded(body)


def test_what_is_no_sample_is_counted() -> None:
    skipped = SkipCounts()
    made = request(
        [
            ({"__name__": NOTHING}, [(1.0, 1), (2.0, 2)]),
            ({"__name__": LOAD}, [(STALE, 1), (math.nan, 2), (1.0, 2**60)]),
        ]
    )
    histograms = [message("Histogram", sum=1.0)]
    labels = pairs({"__name__": "request_seconds"})
    made.timeseries.append(message("TimeSeries", labels=labels, histograms=histograms))
    assert [one[:3] for one in decoded(made.SerializeToString(), None, skipped)] == [
        (2_000, "nan", "node_load_count")
    ]
    assert skipped.as_dict() == {
        "metric_histogram": 1,
        "metric_stale": 1,
        "metric_unknown": 2,
        "metric_value": 1,
    }


def test_origin_and_times_are_those_of_the_batch() -> None:
    receiver = RemoteWrite(NAMES, source="prom", cluster="lab")
    [batch] = receiver.decode(SOME.SerializeToString(), SkipCounts(), observed_at=7)
    assert (batch.source, batch.cluster, batch.observed_at) == ("prom", "lab", 7)
    assert batch.event_time.tolist() == [1_000_000, 1_000_000, 2_000_000]
    assert receiver.decode(b"", SkipCounts()) == []


def test_samples_come_by_the_cluster_that_labels_name() -> None:
    receiver = RemoteWrite(NAMES, cluster="lab")
    clusters: tuple[dict[str, str], ...]
    clusters = ({"cluster": "b"}, {}, {"slurm_cluster": "a"}, {"cluster": ""}, {"cluster": "b"})
    series: list[Series] = [
        ({"__name__": LOAD, "instance": f"n{one}", **more}, [(one, 9 - one)])
        for one, more in enumerate(clusters)
    ]
    for _ in range(2):
        found = [
            (batch.cluster, [(one.node, one.value, one.event_time) for one in batch.samples()])
            for batch in receiver.decode(body_of(*series), SkipCounts())
        ]
        assert found == [
            ("lab", [("n3", 3.0, 6_000), ("n1", 1.0, 8_000)]),
            ("b", [("n4", 4.0, 5_000), ("n0", 0.0, 9_000)]),
            ("a", [("n2", 2.0, 7_000)]),
        ]
    [batch] = receiver.decode(body_of(series[0]), SkipCounts())
    assert (batch.cluster, len(batch)) == ("b", 1)


def test_parts_of_two_clusters_are_not_added_up() -> None:
    receiver = RemoteWrite(NAMES)
    sums: list[float] = []
    for second in range(6):
        ours, other = cpu("n1", 0, 2.0, second), cpu("n1", 0, 5.0, second)
        other[0]["cluster"] = "other"
        for batch in receiver.decode(body_of(ours, other), SkipCounts()):
            sums += [one.value for one in batch.samples()]
    assert sorted(set(sums)) == [2.0, 5.0]


@pytest.mark.parametrize(
    ("body", "words"),
    [
        (b"\x0a\x05", "goes on after its message"),
        (b"\x0a\x02\x0a\x05", "goes on after its message"),
        (b"\x0a\x04\x12\x02\x09\x00", "goes on after its message"),
        (b"\x0a\x04\x0a\x02\x0a\x05", "goes on after its message"),
        (b"\x0a\x05\x0a\x03\x0a\x01\xff", "no UTF-8"),
        (body_of(({"__name__": "x" * 70_000}, [])), "more than 65,536 bytes of labels"),
        (body_of(({str(one): "" for one in range(129)}, [])), "a series with 129 labels"),
    ],
)
def test_what_is_no_request_is_refused(body: bytes, words: str) -> None:
    with pytest.raises(InputError, match=words):
        decoded(body)


def test_too_many_samples_are_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(remotewrite, "MAX_SAMPLES", 2)
    with pytest.raises(InputError, match="2 series with 3 samples; expected at most 2"):
        decoded(SOME.SerializeToString())


def test_what_is_remembered_is_bounded() -> None:
    receiver = RemoteWrite(NAMES, max_series=50)
    for round_ in range(40):
        series: list[Series] = [
            ({"__name__": LOAD, "instance": f"n{round_ % 7 * 10 + one}"}, [(one, round_)])
            for one in range(10)
        ]
        made = request(series)
        assert decoded(made.SerializeToString(), receiver) == expected_of(made)
        assert receiver.known <= 50


def test_a_value_too_large_for_its_unit_is_infinite_and_any_bits_are_a_value() -> None:
    signalling = struct.unpack("<d", struct.pack("<Q", 0x7FF0_0000_0000_0001))[0]
    labels = {"__name__": CLOCK, "Hostname": "n1"}
    found = decoded(body_of((labels, [(-1.7e308, 1), (signalling, 2)])))
    assert [value for _, value, *_ in found] == ["-inf", "nan"]


def test_thousands_of_series_are_told_apart() -> None:
    series: list[Series] = [
        ({"__name__": POWER, "Hostname": f"n{one // 8}", "gpu": str(one % 8)}, [(one, 5)])
        for one in range(5_000)
    ]
    made, receiver = request(series), RemoteWrite(NAMES)
    for _ in range(2):
        assert decoded(made.SerializeToString(), receiver) == expected_of(made)


def test_a_sum_is_told_when_all_of_its_parts_came_in_whatever_bodies() -> None:
    receiver = RemoteWrite(NAMES)
    told: list[Told] = []
    for second in range(8):
        parts = [cpu("n1", core, second + core, second) for core in range(3)]
        idle = cpu("n1", 0, 99.0, second, "idle")
        told += [decoded(body_of(one), receiver) for one in (*parts, idle)]
    sums = [one[:4] for batch in told for one in batch]
    assert sums == [(second * 1_000, repr(3.0 * second + 3), CPU, "n1") for second in range(4, 8)]
    assert [len(batch) for batch in told[-4:]] == [0, 0, 1, 0]


def test_a_bit_pattern_of_the_marker_is_known_quiet_or_not() -> None:
    quiet = struct.unpack("<d", struct.pack("<Q", 0x7FF8_0000_0000_0002))[0]
    assert decoded(body_of(({"__name__": LOAD}, [(quiet, 1), (STALE, 2)]))) == []
