"""Logs of OpenTelemetry: both forms say the same, and whatever else may come."""

from __future__ import annotations

import contextlib
import json
from typing import Any

import pytest
from google.protobuf import json_format  # type: ignore[import-untyped]
from hypothesis import given, settings
from hypothesis import strategies as st
from opentelemetry.proto.collector.logs.v1.logs_service_pb2 import ExportLogsServiceRequest

from relume.errors import InputError
from relume.ingest.push import lines as lines_module
from relume.ingest.push.lines import NO_TIME, PushedLines
from relume.ingest.push.otlp import otlp_json, otlp_protobuf

NOON = 1_767_355_200_000_000_000
SCALARS: Any = st.one_of(
    st.builds(lambda text: {"stringValue": text}, st.text(max_size=8)),
    st.sampled_from(
        [{"boolValue": True}, {"intValue": "-7"}, {"doubleValue": 1.5}, {"bytesValue": "aGk="}, {}]
    ),
)
VALUES: Any = st.recursive(
    SCALARS,
    lambda inner: st.one_of(
        st.builds(lambda values: {"arrayValue": {"values": values}}, st.lists(inner, max_size=3)),
        st.builds(
            lambda values: {"kvlistValue": {"values": [{"key": "k", "value": v} for v in values]}},
            st.lists(inner, max_size=2),
        ),
    ),
    max_leaves=4,
)
ATTRIBUTES = st.lists(
    st.builds(
        lambda key, value: {"key": key, "value": value},
        st.sampled_from(["host.name", "slurm.job.id", "rank", "trace"]),
        SCALARS,
    ),
    max_size=3,
)
RECORDS = st.builds(
    lambda body, attributes, time, observed: {
        "timeUnixNano": str(time),
        "observedTimeUnixNano": str(observed),
        "body": body,
        "attributes": attributes,
        "severityNumber": 9,
    },
    VALUES,
    ATTRIBUTES,
    st.sampled_from([0, NOON]),
    st.sampled_from([0, NOON + 5]),
)
REQUESTS = st.lists(
    st.builds(
        lambda attributes, records: {
            "resource": {"attributes": attributes},
            "scopeLogs": [{"scope": {"name": "x"}, "logRecords": records}],
        },
        ATTRIBUTES,
        st.lists(RECORDS, max_size=4),
    ),
    max_size=3,
)


def told(lines: list[PushedLines]) -> list[Any]:
    return [(dict(one.labels), one.texts(), one.microseconds().tolist()) for one in lines]


def both(resources: Any) -> tuple[bytes, bytes]:
    document = {"resourceLogs": resources}
    message = json_format.ParseDict(document, ExportLogsServiceRequest())
    return json.dumps(document).encode(), message.SerializeToString()


@given(REQUESTS)
@settings(max_examples=80, deadline=None)
def test_both_forms_say_the_same(resources: Any) -> None:
    as_json, as_protobuf = both(resources)
    found = told(otlp_json(as_json))
    assert found == told(otlp_protobuf(as_protobuf))
    records = [record for one in resources for record in one["scopeLogs"][0]["logRecords"]]
    assert sum(len(texts) for _, texts, _ in found) == len(records)


def record(**fields: Any) -> dict[str, Any]:
    return {"resourceLogs": [{"scopeLogs": [{"logRecords": [fields]}]}]}


def attribute(key: str, text: str) -> dict[str, Any]:
    return {"key": key, "value": {"stringValue": text}}


def test_what_a_record_says_of_itself_goes_before_its_resource() -> None:
    resources = [
        {
            "resource": {"attributes": [attribute("host.name", "n1"), attribute("job_id", "7")]},
            "scopeLogs": [
                {
                    "logRecords": [
                        {"body": {"stringValue": "a"}, "attributes": [attribute("rank", "1")]}
                    ]
                },
                {
                    "logRecords": [
                        {"body": {"stringValue": "b"}, "attributes": [attribute("id", "x")]}
                    ]
                },
                {
                    "logRecords": [
                        {"body": {"stringValue": "c"}, "attributes": [attribute("rank", "1")]}
                    ]
                },
            ],
        }
    ]
    for decode, body in zip((otlp_json, otlp_protobuf), both(resources), strict=True):
        ranked, plain = decode(body)
        assert ranked.labels == {"host.name": "n1", "job_id": "7", "rank": "1"}
        assert (ranked.texts(), ranked.microseconds().tolist()) == (["a", "c"], [NO_TIME, NO_TIME])
        assert (plain.labels, plain.texts()) == ({"host.name": "n1", "job_id": "7"}, ["b"])


@pytest.mark.parametrize(
    ("value", "text"),
    [
        ({"stringValue": "x\ny"}, "x\ny"),
        ({"intValue": 5}, "5"),
        ({"boolValue": False}, "false"),
        ({"arrayValue": {"values": [{"doubleValue": 0.5}, {}]}}, "[0.5,null]"),
        ({"kvlistValue": {"values": [attribute("msg", "hi")]}}, '{"msg":"hi"}'),
        ({"bytesValue": "aGk="}, "aGk="),
        (None, ""),
    ],
)
def test_bodies_of_any_kind_are_text(value: Any, text: str) -> None:
    [lines] = otlp_json(json.dumps(record(body=value)).encode())
    assert lines.texts() == [text]


@pytest.mark.parametrize(
    ("body", "words"),
    [
        (b"", "truncated"),
        (b'{"resourceLogs": 7}', "array"),
        (json.dumps(record(timeUnixNano="x")).encode(), "the time 'x'"),
        (json.dumps(record(timeUnixNano=-1)).encode(), "the time -1"),
        (json.dumps(record(timeUnixNano="9" * 30)).encode(), "the time"),
    ],
)
def test_json_that_is_no_request_is_refused(body: bytes, words: str) -> None:
    with pytest.raises(InputError, match=words):
        otlp_json(body)


def test_values_too_deep_are_refused() -> None:
    value: Any = {"stringValue": "x"}
    for _ in range(40):
        value = {"arrayValue": {"values": [value]}}
    as_json, as_protobuf = both(record(body=value)["resourceLogs"])
    with pytest.raises(InputError, match="more than 32 deep"):
        otlp_json(as_json)
    with pytest.raises(InputError, match="more than 32 deep"):
        otlp_protobuf(as_protobuf)
    with pytest.raises(InputError):
        otlp_json(b'{"resourceLogs": ' + b"[" * 100_000)


def test_too_many_records_are_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(lines_module, "MAX_ENTRIES", 1)
    resources: Any = [{"scopeLogs": [{"logRecords": [{}, {}]}]}]
    for decode, body in zip((otlp_json, otlp_protobuf), both(resources), strict=True):
        with pytest.raises(InputError, match="2 lines; expected at most 1"):
            decode(body)


SOME = both(
    [
        {
            "resource": {"attributes": [attribute("host.name", "n1")]},
            "scopeLogs": [{"logRecords": [{"timeUnixNano": str(NOON), "body": {"intValue": 7}}]}],
        }
    ]
)


@given(st.data(), st.sampled_from([0, 1]))
@settings(max_examples=150, deadline=None)
def test_whatever_comes_only_our_error_is_raised(data: st.DataObject, form: int) -> None:
    body = bytearray(SOME[form])
    for _ in range(data.draw(st.integers(0, 3))):
        body[data.draw(st.integers(0, len(body) - 1))] ^= 1 << data.draw(st.integers(0, 7))
    raw = bytes(body[: data.draw(st.integers(0, len(body)))]) + data.draw(st.binary(max_size=20))
    for decode in (otlp_json, otlp_protobuf):
        with contextlib.suppress(InputError):
            decode(raw)
