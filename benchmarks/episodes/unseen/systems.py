"""How kernels and daemons of nodes are logged in the third group."""

from __future__ import annotations

from datetime import datetime

from relume.benchmarks.episodes.script import Record
from relume.benchmarks.episodes.systems import SystemStyle, one_file, program_and_text, uptime
from relume.benchmarks.episodes.world import World
from relume.benchmarks.episodes.writers import as_json


def _journal_iso(_world: World, record: Record, at: datetime) -> str:
    program, text = program_and_text(record)
    return f"{at:%a %Y-%m-%d %H:%M:%S} {_zone(at)} {record.node} {program}: {text}"


def _zone(at: datetime) -> str:
    return f"{at:%z}" if at.utcoffset() else "UTC"


def _relayed(world: World, record: Record, at: datetime) -> str:
    program, text = program_and_text(record)
    up = f"[{uptime(world, at):.6f}] " if program == "kernel" else ""
    return f"<3>{at:%b} {at.day:>2} {at:%H:%M:%S} {record.node} {program}: {up}{text}"


def _console(world: World, record: Record, at: datetime) -> str:
    return f"[{uptime(world, at):.6f}][ T{record.at * 7 % 9000 + 100:.0f}] {record.text}"


def _fluent(_world: World, record: Record, at: datetime) -> str:
    program, text = program_and_text(record)
    return as_json(date=round(at.timestamp(), 6), hostname=record.node, ident=program, log=text)


def _telemetry(_world: World, record: Record, at: datetime) -> str:
    program, text = program_and_text(record)
    return as_json(
        timeUnixNano=str(round(at.timestamp() * 1e6) * 1000),
        severityText="ERROR",
        body={"stringValue": text},
        resource={"host.name": record.node, "service.name": program},
    )


def _graylog(_world: World, record: Record, at: datetime) -> str:
    program, text = program_and_text(record)
    return as_json(
        version="1.1",
        host=record.node,
        short_message=text,
        timestamp=round(at.timestamp(), 3),
        level=3,
        _unit=program,
    )


def _table(_world: World, record: Record, at: datetime) -> str:
    program, text = program_and_text(record)
    quoted = text.replace('"', '""')
    stamp = f"{at:%Y-%m-%dT%H:%M:%S}.{at.microsecond // 1000:03d}{at:%z}"
    return f'"{stamp}","{record.node}","{program}","{quoted}"'


UNSEEN_SYSTEM = (
    SystemStyle("journal short-full", lambda n: f"{n}-journal.txt", _journal_iso),
    SystemStyle("relayed syslog", one_file("cluster.log"), _relayed),
    SystemStyle("serial console", lambda n: f"console.{n}", _console),
    SystemStyle("fluent records", one_file("fluent.ndjson"), _fluent),
    SystemStyle("telemetry records", one_file("otel-logs.jsonl"), _telemetry),
    SystemStyle("graylog records", lambda n: f"gelf-{n}.log", _graylog),
    SystemStyle("table export", one_file("search-export.csv"), _table),
)
