"""OpenTelemetry's logs over HTTP: JSON, and protocol buffers.

The forms are https://opentelemetry.io/docs/specs/otlp and its `logs.proto`. JSON writes numbers of
64 bits as texts, and takes them as numbers too.
"""

from __future__ import annotations

import base64
import re
from collections.abc import Callable, Iterable, Iterator
from typing import TYPE_CHECKING, Any, Final

import msgspec
from google.protobuf.message import DecodeError  # type: ignore[import-untyped]
from opentelemetry.proto.collector.logs.v1.logs_service_pb2 import ExportLogsServiceRequest

from relume.errors import InputError, shown
from relume.ingest.push.labels import telling
from relume.ingest.push.lines import NO_TIME, PushedLines, grouped, require_few

if TYPE_CHECKING:
    from opentelemetry.proto.common.v1.common_pb2 import AnyValue

MAX_DEPTH: Final = 32
"""Lists and maps within each other, in the body of a record."""
_INTEGER = re.compile(r"-?\d{1,18}", re.ASCII)
_Pair = tuple[str, str]


class _Value(msgspec.Struct, rename="camel"):
    """One of these is there; none is null."""

    string_value: str | None = None
    bool_value: bool | None = None
    int_value: int | str | None = None
    double_value: float | str | None = None
    bytes_value: str | None = None
    array_value: _Values | None = None
    kvlist_value: _Pairs | None = None


class _Values(msgspec.Struct):
    values: list[_Value] = []


class _Named(msgspec.Struct):
    key: str = ""
    value: _Value | None = None


class _Pairs(msgspec.Struct):
    values: list[_Named] = []


class _Attributed(msgspec.Struct):
    attributes: list[_Named] = []


class _Record(msgspec.Struct, rename="camel"):
    time_unix_nano: int | str = 0
    observed_time_unix_nano: int | str = 0
    body: _Value | None = None
    attributes: list[_Named] = []


class _Scope(msgspec.Struct, rename="camel"):
    log_records: list[_Record] = []


class _Resource(msgspec.Struct, rename="camel"):
    resource: _Attributed | None = None
    scope_logs: list[_Scope] = []


class _Request(msgspec.Struct, rename="camel"):
    resource_logs: list[_Resource] = []


def otlp_json(data: bytes) -> list[PushedLines]:
    """Decode a request in JSON.

    Raises
    ------
    InputError
        When it is none, or of too many records.

    Examples
    --------
    >>> body = b'''{"resourceLogs": [{
    ...     "resource": {"attributes": [{"key": "host.name", "value": {"stringValue": "n1"}}]},
    ...     "scopeLogs": [{"logRecords": [
    ...         {"timeUnixNano": "1700000000000000000", "body": {"stringValue": "hello"}}
    ...     ]}]
    ... }]}'''
    >>> [lines] = otlp_json(body)
    >>> lines.labels, lines.texts(), lines.microseconds().tolist()
    ({'host.name': 'n1'}, ['hello'], [1700000000000000])
    """
    try:
        request = msgspec.json.decode(data, type=_Request)
        return _decoded(
            (
                _texts([] if one.resource is None else one.resource.attributes, _from_json),
                (
                    (
                        _plain(_from_json(record.body)),
                        _time(record.time_unix_nano, record.observed_time_unix_nano),
                        _texts(record.attributes, _from_json),
                    )
                    for scope in one.scope_logs
                    for record in scope.log_records
                ),
            )
            for one in request.resource_logs
        )
    except (msgspec.DecodeError, UnicodeError, RecursionError) as error:
        raise _no_request(str(error)) from error


def otlp_protobuf(data: bytes) -> list[PushedLines]:
    """Decode a request in protocol buffers, unpacked already.

    Raises
    ------
    InputError
        When it is none, or of too many records.
    """
    request = ExportLogsServiceRequest()
    try:
        request.ParseFromString(data)
        return _decoded(
            (
                _texts(one.resource.attributes, _from_message),
                (
                    (
                        _plain(_from_message(record.body)),
                        _time(record.time_unix_nano, record.observed_time_unix_nano),
                        _texts(record.attributes, _from_message),
                    )
                    for scope in one.scope_logs
                    for record in scope.log_records
                ),
            )
            for one in request.resource_logs
        )
    except (DecodeError, RecursionError) as error:
        raise _no_request(str(error) or "no message of that kind") from error


def _decoded(
    resources: Iterable[tuple[Iterable[_Pair], Iterable[tuple[str, int, Iterable[_Pair]]]]],
) -> list[PushedLines]:
    found: list[PushedLines] = []
    count = 0
    for attributes, records in resources:
        entries = [(text, time, telling(own)) for text, time, own in records]
        count += len(entries)
        require_few(count)
        found += grouped(dict(attributes), entries)
    return found


def _texts(attributes: Iterable[Any], value_of: Callable[[Any], object]) -> Iterator[_Pair]:
    return ((one.key, _plain(value_of(one.value))) for one in attributes)


def _from_json(value: _Value | None, depth: int = 0) -> object:
    """Return a value as JSON has it; null where there is none."""
    if value is None:
        return None
    if depth > MAX_DEPTH:
        raise _no_request(f"values more than {MAX_DEPTH} deep")
    if value.array_value is not None:
        return [_from_json(one, depth + 1) for one in value.array_value.values]
    if value.kvlist_value is not None:
        return {one.key: _from_json(one.value, depth + 1) for one in value.kvlist_value.values}
    if isinstance(value.int_value, str) and _INTEGER.fullmatch(value.int_value):
        return int(value.int_value)
    alone = (value.string_value, value.bool_value, value.int_value, value.double_value)
    return next((one for one in alone if one is not None), value.bytes_value)


def _from_message(value: AnyValue, depth: int = 0) -> object:
    """Return a value as JSON would have it; null where there is none."""
    if depth > MAX_DEPTH:
        raise _no_request(f"values more than {MAX_DEPTH} deep")
    kind = value.WhichOneof("value")
    if kind == "array_value":
        return [_from_message(one, depth + 1) for one in value.array_value.values]
    if kind == "kvlist_value":
        return {one.key: _from_message(one.value, depth + 1) for one in value.kvlist_value.values}
    if kind == "bytes_value":
        return base64.b64encode(value.bytes_value).decode()
    return None if kind is None else getattr(value, kind)


def _plain(value: object) -> str:
    """Return a value as text: what isn't one is written as JSON, null is empty."""
    if isinstance(value, str):
        return value
    return "" if value is None else msgspec.json.encode(value).decode()


def _time(*said: int | str) -> int:
    """Return the first time that is said, in nanoseconds: 0 says none."""
    for one in said:
        try:
            time = int(one) if isinstance(one, int) or len(one) <= 20 else -1  # noqa: PLR2004
        except ValueError:
            time = -1
        if not 0 <= time < 2**63:
            raise _no_request(f"the time {shown(one)}")
        if time:
            return time
    return NO_TIME


def _no_request(found: str) -> InputError:
    return InputError(
        "body",
        found=found[:300],
        expected="an ExportLogsServiceRequest of OTLP",
        hint="does its Content-Type say what it is, application/json or application/x-protobuf?",
    )
