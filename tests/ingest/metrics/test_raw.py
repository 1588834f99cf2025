from __future__ import annotations

import math
from collections.abc import Sequence

import pytest

from relume.errors import InputError
from relume.events import Sample
from relume.features.metrics.names import load_names
from relume.ingest.metrics import raw as module
from relume.ingest.metrics.raw import RawSeries, Reading
from relume.ingest.skips import SkipCounts

READING = Reading(load_names(), "prometheus", "lab", node="n9")


def series(
    name: str | None, times: Sequence[int | None], values: Sequence[float], **labels: str
) -> RawSeries:
    return RawSeries(name, labels, times, values)


def samples(
    *found: RawSeries, reading: Reading = READING, skipped: SkipCounts | None = None
) -> list[Sample]:
    return list(reading.samples(found, SkipCounts() if skipped is None else skipped))


def test_a_series_becomes_samples_in_relumes_names_and_units() -> None:
    clock = series("DCGM_FI_DEV_SM_CLOCK", [1, 2], [1980, 345], Hostname="n1", gpu="3")
    assert samples(clock) == [
        Sample(source="prometheus", cluster="lab", event_time=time, metric="gpu_sm_clock_hertz",
               value=value, node="n1", gpu="3")
        for time, value in ((1, 1.98e9), (2, 3.45e8))
    ]  # fmt: skip


def test_who_has_no_label_for_a_node_gets_that_of_the_file() -> None:
    [one] = samples(series("node_load1", [None], [2.0]))
    assert (one.node, one.event_time, one.metric) == ("n9", None, "node_load_count")


def test_series_of_one_place_are_added_up_where_the_table_says_so() -> None:
    cpus = [
        series("node_cpu_seconds_total", [1, 2], [10.0, 20.0 + cpu], instance="n1:9100",
               cpu=str(cpu), mode=mode)
        for cpu in range(2) for mode in ("user", "system", "idle")
    ]  # fmt: skip
    skipped = SkipCounts()
    found = samples(*cpus, skipped=skipped)
    assert [(one.event_time, one.value) for one in found] == [(1, 40.0), (2, 82.0)]
    assert skipped.as_dict() == {"metric_unknown": 2}  # the idle ones


def test_a_series_that_is_there_twice_is_taken_once_and_counted() -> None:
    """Two exporters on one node, or two Prometheus jobs for one exporter."""
    skipped = SkipCounts()
    first, second = (
        series("DCGM_FI_DEV_POWER_USAGE", [1, 2], [watts, watts], Hostname="n1", gpu="0", job=job)
        for watts, job in ((100.0, "a"), (200.0, "b"))
    )
    assert {one.value for one in samples(first, second, skipped=skipped)} == {100.0}
    assert skipped.as_dict() == {"metric_twice": 1}


def test_a_series_that_goes_on_under_other_labels_is_one() -> None:
    """A pod name changes at a restart; the GPU doesn't."""
    parts = [
        series("DCGM_FI_DEV_POWER_USAGE", [time], [99.0], Hostname="n1", gpu="0", pod=f"p{time}")
        for time in (1, 2)
    ]
    assert [one.event_time for one in samples(*parts)] == [1, 2]


def test_samples_come_in_order_of_time() -> None:
    a = series("DCGM_FI_DEV_POWER_USAGE", [1, 3], [0, 0], gpu="0")
    b = series("DCGM_FI_DEV_POWER_USAGE", [2, 3], [0, 0], gpu="1")
    assert [(one.event_time, one.gpu) for one in samples(a, b)] == [
        *((1, "0"), (2, "1"), (3, "0"), (3, "1"))
    ]


@pytest.mark.parametrize("blank", [2.0**47, 2.0**47 + 2, 9223372036854775794.0])
def test_what_dcgm_writes_for_no_value_is_none(blank: float) -> None:
    [one] = samples(series("DCGM_FI_DEV_POWER_USAGE", [1], [blank], gpu="0"))
    assert math.isnan(one.value)
    [other] = samples(series("node_boot_time_seconds", [1], [blank]))
    assert other.value == blank


def test_an_expression_is_called_what_somebody_says() -> None:
    reading = Reading(load_names(), "prometheus", metric="gpu_power_watts")
    [one] = samples(series(None, [1], [5.0], instance="n1:9400", gpu="1"), reading=reading)
    assert (one.metric, one.node, one.gpu, one.value) == ("gpu_power_watts", "n1", "1", 5.0)


def test_series_without_a_name_or_with_an_unknown_one_are_counted() -> None:
    skipped = SkipCounts()
    assert samples(series(None, [1], [1.0]), series("go_threads", [1], [1.0]),
                   skipped=skipped) == []  # fmt: skip
    assert skipped.as_dict() == {"metric_unknown": 2}


def test_memory_is_bounded_whatever_comes(monkeypatch: pytest.MonkeyPatch) -> None:
    """Series are let go piece by piece; what must be added up can't be, and is refused."""
    many = (
        series("DCGM_FI_DEV_POWER_USAGE", [time], [1.0], gpu=str(time)) for time in range(10_000)
    )
    found = READING.samples(many, SkipCounts(), at_once=100)
    next(found)
    assert next(many).times == [101]  # no further than that was read
    monkeypatch.setattr(module, "MAX_SUMMED", 50)
    cpus = (series("node_cpu_seconds_total", [time], [1.0], mode="user") for time in range(100))
    with pytest.raises(InputError, match="more than 50 in one piece"):
        samples(*cpus)
