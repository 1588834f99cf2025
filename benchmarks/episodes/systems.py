"""How lines of kernels, node daemons and slurmctld look, and what their files are called."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from datetime import datetime, timedelta

import orjson

from relume.benchmarks.episodes.label import Forms
from relume.benchmarks.episodes.script import Record, Source
from relume.benchmarks.episodes.world import World

UPTIME_SECONDS = 1_814_400
"""How long a node had been up when the job started."""


@dataclass(frozen=True, slots=True)
class SystemStyle:
    """One way to write a system log.

    `file` names the file of a node (all nodes of one name share a file);
    """

    name: str
    file: Callable[[str], str]
    write: Callable[[World, Record, datetime], str]


def _program(record: Record) -> str:
    return "kernel: " if record.source is Source.KERNEL else ""


def program_and_text(record: Record) -> tuple[str, str]:
    """Program (with its number, if it prints one) and message."""
    if record.source is Source.KERNEL:
        return "kernel", record.text
    program, _, text = record.text.partition(": ")
    return program, text


def uptime(world: World, at: datetime) -> float:
    """Seconds since the node booted."""
    return UPTIME_SECONDS + (at - world.start).total_seconds()


def _syslog(_world: World, record: Record, at: datetime) -> str:
    return f"{at:%b} {at.day:>2} {at:%H:%M:%S} {record.node} {_program(record)}{record.text}"


def _iso(_world: World, record: Record, at: datetime) -> str:
    stamp = at.isoformat(timespec="microseconds")
    return f"{stamp} {record.node} {_program(record)}{record.text}"


def _dmesg_t(_world: World, record: Record, at: datetime) -> str:
    return f"[{at:%a %b} {at.day:>2} {at:%H:%M:%S %Y}] {record.text}"


def _dmesg(world: World, record: Record, at: datetime) -> str:
    return f"[{uptime(world, at):12.6f}] {record.text}"


def _journal_json(_world: World, record: Record, at: datetime) -> str:
    program, text = program_and_text(record)
    fields = {
        "__REALTIME_TIMESTAMP": str(round(at.timestamp() * 1e6)),
        "_HOSTNAME": record.node,
        "SYSLOG_IDENTIFIER": program.partition("[")[0],
        "PRIORITY": "3",
        "MESSAGE": text,
    }
    return orjson.dumps(fields).decode()


def _rfc5424(_world: World, record: Record, at: datetime) -> str:
    program, text = program_and_text(record)
    stamp = at.isoformat(timespec="milliseconds")
    return f"<3>1 {stamp} {record.node} {program.partition('[')[0]} - - - {text}"


def _logfmt(_world: World, record: Record, at: datetime) -> str:
    program, text = program_and_text(record)
    quoted = orjson.dumps(text).decode()
    return f"time={at.isoformat(timespec='seconds')} host={record.node} unit={program} msg={quoted}"


def _loki(_world: World, record: Record, at: datetime) -> str:
    program, text = program_and_text(record)
    stamp = at.isoformat(timespec="seconds")
    return f'{stamp} {{host="{record.node}", unit="{program.partition("[")[0]}"}} {text}'


def _dshbak(world: World, record: Record, at: datetime) -> str:
    """`clush -w NODES dmesg -T`: the host before each line."""
    return f"{record.node}: {_dmesg_t(world, record, at)}"


def one_file(name: str) -> Callable[[str], str]:
    """All nodes share a file of that name."""
    return lambda _node: name


SYSLOG = SystemStyle("syslog", lambda n: f"syslog-{n}.log", _syslog)
KERNEL_ONLY = frozenset({"dmesg", "dmesg -T", "clush dmesg", "folder", "serial console"})
"""Styles of the kernel's own ring: daemons are not in it, they have a system log beside."""
UNZONED = frozenset({"syslog", "dmesg -T", "clush dmesg", "folder", "relayed syslog"})
"""Styles whose clocks name no zone."""
UNDATED = frozenset({"dmesg", "serial console"})
"""Styles that tell no day."""
KNOWN_SYSTEM = (
    SYSLOG,
    SystemStyle("iso", lambda n: f"kern-{n}.log", _iso),
    SystemStyle("dmesg -T", lambda n: f"dmesg-{n}.log", _dmesg_t),
    SystemStyle("dmesg", lambda n: f"dmesg-{n}.log", _dmesg),
)
OTHER_SYSTEM = (
    SystemStyle("journal -o json", lambda n: f"journal-{n}.json", _journal_json),
    SystemStyle("rfc5424", one_file("central-syslog.log"), _rfc5424),
    SystemStyle("logfmt of units", one_file("nodes.log"), _logfmt),
    SystemStyle("loki export", one_file("loki-export.txt"), _loki),
    SystemStyle("clush dmesg", one_file("dmesg-all.txt"), _dshbak),
    SystemStyle("folder", lambda n: f"nodes/{n}/dmesg.txt", _dmesg_t),
    SystemStyle("iso, one file", one_file("messages"), _iso),
)


def controller_line(world: World, record: Record, forms: Forms) -> str:
    """A line of slurmctld's own log, or of it in the system log of its host."""
    at = world.clock(record.at)
    if forms is Forms.UNSEEN:
        stamp = at.isoformat(timespec="milliseconds")
        return f"{stamp} mgmt1 daemon.info slurmctld: {record.text}"
    if forms is Forms.KNOWN:
        return f"[{at:%Y-%m-%dT%H:%M:%S}.{at.microsecond // 1000:03d}] {record.text}"
    return f"{at:%b} {at.day:>2} {at:%H:%M:%S} head01 slurmctld[2211]: {record.text}"


def controller_file(forms: Forms) -> str:
    """Name of its file."""
    return _CONTROLLER_FILES[forms]


_CONTROLLER_FILES = {
    Forms.KNOWN: "slurmctld.log",
    Forms.OTHER: "head01-slurmctld.log",
    Forms.UNSEEN: "mgmt1.scheduler.log",
}


def accounting(world: World, state: str, exit_code: str, seconds: float) -> str:
    """The row of the attempt as `sacct -P` prints it."""
    start, end = world.clock(0.0), world.clock(0.0) + timedelta(seconds=seconds)
    return (
        "JobID|JobName|State|ExitCode|NNodes|NodeList|Start|End\n"
        f"{world.job_id}|pretrain|{state}|{exit_code}|{len(world.nodes)}|{world.hostlist()}|"
        f"{start:%Y-%m-%dT%H:%M:%S}|{end:%Y-%m-%dT%H:%M:%S}\n"
    )
