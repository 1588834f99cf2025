"""What Prometheus' HTTP API answers to a query, decoded and checked: live, or kept in a file."""

from __future__ import annotations

from typing import Any

import msgspec

from relume.errors import InputError, shown
from relume.ingest.metrics.raw import NAME, RawSeries
from relume.ingest.skips import SkipCounts

_MILLISECOND = 1_000
MAX_TIME = 2**62
"""UTC microseconds; later than any clock says."""
_Point = tuple[float, str]


class _Answered(msgspec.Struct, frozen=True):
    """One series of a matrix or a vector. Native histograms stand in keys of their own."""

    metric: dict[str, str] = msgspec.field(default_factory=dict)
    values: list[_Point] = msgspec.field(default_factory=list)
    value: _Point | None = None
    histograms: list[Any] = msgspec.field(default_factory=list)
    histogram: Any = None


class _Data(msgspec.Struct, frozen=True):
    result_type: str = msgspec.field(name="resultType")
    result: Any


class _Answer(msgspec.Struct, frozen=True):
    status: str
    data: _Data | None = None
    error: str | None = None


def read_result(result: object, skipped: SkipCounts, *, what: str) -> list[RawSeries]:
    """Return the series of the ``result`` of a query that gave a vector or a matrix.

    Parameters
    ----------
    result
        As decoded from JSON.
    skipped
        Where native histograms (`metric_histogram`) and values that are no number or have no
        possible time (`metric_value`) are counted.
    what
        The answer, for messages.

    Raises
    ------
    InputError
        For anything else.
    """
    try:
        series = msgspec.convert(result, list[_Answered])
    except msgspec.ValidationError as error:
        raise _no_answer(what, str(error)) from error
    return [_raw(one, skipped) for one in series]


def read_document(data: bytes, skipped: SkipCounts, *, what: str) -> list[RawSeries]:
    r"""Return the series of an answer that was kept: all of it, its ``data``, or its ``result``.

    `promtool query range -o json` prints the last of these.

    Raises
    ------
    InputError
        For what is no such answer, or is one that says that the query failed.

    Examples
    --------
    >>> [one] = read_document(
    ...     b'[{"metric": {"__name__": "up", "job": "dcgm"}, "value": [1700000000.5, "1"]}]',
    ...     SkipCounts(),
    ...     what="answer",
    ... )
    >>> one.name, one.times, one.values
    ('up', [1700000000500000], [1.0])
    """
    try:
        document = msgspec.json.decode(data)
        if isinstance(document, list):
            return read_result(document, skipped, what=what)
        if isinstance(document, dict) and "status" in document:
            answer = msgspec.convert(document, _Answer)
            if answer.data is None or answer.status != "success":
                raise _no_answer(what, f"status {answer.status}: {answer.error or 'no data'}")
            found = answer.data
        else:
            found = msgspec.convert(document, _Data)
    except (msgspec.DecodeError, RecursionError) as error:  # a ValidationError is one
        raise _no_answer(what, str(error)) from error
    if found.result_type not in ("matrix", "vector"):
        raise _no_answer(what, f"a result of type {shown(found.result_type)}")
    return read_result(found.result, skipped, what=what)


def _raw(one: _Answered, skipped: SkipCounts) -> RawSeries:
    if one.histograms or one.histogram is not None:
        skipped.add("metric_histogram")
    points = one.values if one.value is None else [one.value]
    times, values = [], []
    for at, text in points:
        time, value = _time(at), _number(text)
        if time is None or value is None:
            skipped.add("metric_value")
        else:
            times.append(time)
            values.append(value)
    labels = {name: value for name, value in one.metric.items() if name != NAME}
    return RawSeries(one.metric.get(NAME), labels, times, values)


def _time(seconds: float) -> int | None:
    """UTC microseconds; Prometheus counts milliseconds."""
    if not abs(seconds) < MAX_TIME / 1e6:
        return None
    return round(seconds * 1_000) * _MILLISECOND


def _number(text: str) -> float | None:
    try:
        return float(text)
    except ValueError:
        return None


def _no_answer(what: str, found: str) -> InputError:
    return InputError(
        what,
        found=found[:300],
        expected="an answer of Prometheus' query API: a vector or a matrix, as JSON",
    )
