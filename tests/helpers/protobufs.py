"""Messages of Loki and Prometheus by the protobuf library: what our own decoding is held against.

Their definitions are written from those of the projects: `logproto.proto` of Loki, `remote.proto`
and `types.proto` of Prometheus.
"""

from __future__ import annotations

from typing import Any

from google.protobuf import (  # type: ignore[import-untyped]
    descriptor_pb2,
    descriptor_pool,
    message_factory,
)

_FORMS = {
    "LabelPair": [("name", 1, "STRING"), ("value", 2, "STRING")],
    "Stamp": [("seconds", 1, "INT64"), ("nanos", 2, "INT32")],
    "Entry": [("timestamp", 1, "Stamp"), ("line", 2, "STRING"), ("metadata", 3, "*LabelPair")],
    "Stream": [("labels", 1, "STRING"), ("entries", 2, "*Entry"), ("hash", 3, "UINT64")],
    "PushRequest": [("streams", 1, "*Stream")],
    "Sample": [("value", 1, "DOUBLE"), ("timestamp", 2, "INT64")],
    "Exemplar": [("labels", 1, "*LabelPair"), ("value", 2, "DOUBLE"), ("timestamp", 3, "INT64")],
    "Histogram": [("count", 1, "UINT64"), ("sum", 3, "DOUBLE")],
    "TimeSeries": [
        ("labels", 1, "*LabelPair"),
        ("samples", 2, "*Sample"),
        ("exemplars", 3, "*Exemplar"),
        ("histograms", 4, "*Histogram"),
    ],
    "Metadata": [("type", 1, "INT32"), ("family", 2, "STRING"), ("help", 4, "STRING")],
    "WriteRequest": [("timeseries", 1, "*TimeSeries"), ("metadata", 3, "*Metadata")],
}
_PACKAGE = "relume.tests"


def _pool() -> descriptor_pool.DescriptorPool:
    file = descriptor_pb2.FileDescriptorProto(
        name="pushed.proto", package=_PACKAGE, syntax="proto3"
    )
    kinds = descriptor_pb2.FieldDescriptorProto
    for name, fields in _FORMS.items():
        message = file.message_type.add(name=name)
        for field, number, kind in fields:
            made = message.field.add(name=field, number=number)
            made.label = kinds.LABEL_REPEATED if kind.startswith("*") else kinds.LABEL_OPTIONAL
            plain = kind.removeprefix("*")
            if plain in _FORMS:
                made.type, made.type_name = kinds.TYPE_MESSAGE, f".{_PACKAGE}.{plain}"
            else:
                made.type = kinds.Type.Value(f"TYPE_{plain}")
    pool = descriptor_pool.DescriptorPool()
    pool.Add(file)
    return pool


_POOL = _pool()


def message(kind: str, /, **fields: Any) -> Any:
    """Return a message of one of the forms above."""
    found = _POOL.FindMessageTypeByName(f"{_PACKAGE}.{kind}")
    return message_factory.GetMessageClass(found)(**fields)


def pairs(labels: dict[str, str]) -> list[Any]:
    """Return labels as messages."""
    return [message("LabelPair", name=name, value=value) for name, value in labels.items()]
