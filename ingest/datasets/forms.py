"""The form of a data set's two files, and the way between it and the types of the core.

Times are ISO 8601 texts with a zone, nodes are hostlists.
"""

from __future__ import annotations

from typing import Any

import msgspec

from relume.clock import from_iso, to_iso
from relume.dataset import AttemptEntry, IgnoreInterval, Incident, LogFile
from relume.slurm.hostlists import expand, fold
from relume.verdict import Domain, Kind

SCHEMA_VERSION = 1
HEADER_FILE = "dataset.toml"
ATTEMPTS_FILE = "attempts.jsonl"


class FileForm(msgspec.Struct, forbid_unknown_fields=True, omit_defaults=True):
    """A log."""

    path: str
    stream: str | None = None
    node: str | None = None


class HeaderForm(msgspec.Struct, forbid_unknown_fields=True, omit_defaults=True):
    """``dataset.toml``."""

    schema_version: int
    name: str
    origin: str = "recorded"
    timezone: str = "UTC"
    description: str = ""
    node_logs: list[FileForm] = []


class IncidentForm(msgspec.Struct, forbid_unknown_fields=True, omit_defaults=True):
    """An incident of an attempt; its `incident_id` is made from its place when it has none."""

    kind: Kind
    incident_id: str | None = None
    domain: Domain | None = None
    cause: str | None = None
    culprit_nodes: list[str] = []
    culprit_ranks: list[int] = []
    onset: str | None = None
    visible: str | None = None
    end: str | None = None
    severity: str | None = None
    label_source: str | None = None
    watchdog: bool = False


class IgnoreForm(msgspec.Struct, forbid_unknown_fields=True):
    """A time that isn't scored."""

    start: str
    end: str
    reason: str


class AttemptForm(msgspec.Struct, forbid_unknown_fields=True, omit_defaults=True):
    """A line of ``attempts.jsonl``."""

    attempt: str
    name: str | None = None
    run: str | None = None
    user: str | None = None
    nodes: list[str] = []
    num_nodes: int | None = None
    job_name: str | None = None
    gpus: int | None = None
    eligible: str | None = None
    start: str | None = None
    end: str | None = None
    state: str | None = None
    exit_code: int | None = None
    signal: int | None = None
    reason: str | None = None
    comment: str | None = None
    time_limit_seconds: int | None = None
    files: list[FileForm] = []
    incidents: list[IncidentForm] | None = None
    ignore: list[IgnoreForm] = []


_SAME = (
    "attempt",
    "name",
    "run",
    "user",
    "num_nodes",
    "job_name",
    "gpus",
    "state",
    "exit_code",
    "signal",
    "reason",
    "comment",
    "time_limit_seconds",
)
_SAME_OF_INCIDENT = ("kind", "domain", "cause", "severity", "label_source", "watchdog")
_TIMES_OF_INCIDENT = ("onset", "visible", "end")


def entry_of(form: AttemptForm) -> AttemptEntry:
    """Return the attempt that a line describes.

    Raises
    ------
    InputError
        For an identity, a time, a hostlist or an interval that makes no sense.
    """
    incidents = form.incidents
    return AttemptEntry(
        **{name: getattr(form, name) for name in _SAME},
        nodes=_names(form.nodes),
        eligible=_time(form.eligible),
        start=_time(form.start),
        end=_time(form.end),
        files=tuple(map(file_of, form.files)),
        incidents=None
        if incidents is None
        else tuple(_incident(one, form.attempt, place) for place, one in enumerate(incidents)),
        ignore=tuple(
            IgnoreInterval(start=from_iso(one.start), end=from_iso(one.end), reason=one.reason)
            for one in form.ignore
        ),
    )


def form_of_entry(entry: AttemptEntry) -> AttemptForm:
    """Return the line that describes an attempt."""
    incidents = entry.incidents
    return AttemptForm(
        **{name: getattr(entry, name) for name in _SAME},
        nodes=_hostlist(entry.nodes),
        eligible=_text(entry.eligible),
        start=_text(entry.start),
        end=_text(entry.end),
        files=list(map(form_of_file, entry.files)),
        incidents=None if incidents is None else list(map(_form_of_incident, incidents)),
        ignore=[
            IgnoreForm(start=to_iso(one.start), end=to_iso(one.end), reason=one.reason)
            for one in entry.ignore
        ],
    )


def file_of(form: FileForm) -> LogFile:
    """Return the log that a form names."""
    return LogFile(path=form.path, stream=form.stream, node=form.node)


def form_of_file(file: LogFile) -> FileForm:
    """Return the form of a log."""
    return FileForm(path=file.path, stream=file.stream, node=file.node)


def _incident(form: IncidentForm, attempt: str, place: int) -> Incident:
    times: dict[str, Any] = {name: _time(getattr(form, name)) for name in _TIMES_OF_INCIDENT}
    same: dict[str, Any] = {name: getattr(form, name) for name in _SAME_OF_INCIDENT}
    return Incident(
        incident_id=form.incident_id or f"{attempt}#{place}",
        attempt=attempt,
        culprit_nodes=_names(form.culprit_nodes),
        culprit_ranks=tuple(form.culprit_ranks),
        **times,
        **same,
    )


def _form_of_incident(incident: Incident) -> IncidentForm:
    times: dict[str, Any] = {name: _text(getattr(incident, name)) for name in _TIMES_OF_INCIDENT}
    same: dict[str, Any] = {name: getattr(incident, name) for name in _SAME_OF_INCIDENT}
    return IncidentForm(
        incident_id=incident.incident_id,
        culprit_nodes=_hostlist(incident.culprit_nodes),
        culprit_ranks=list(incident.culprit_ranks),
        **times,
        **same,
    )


def _names(hostlists: list[str]) -> tuple[str, ...]:
    return tuple(expand(",".join(hostlists))) if hostlists else ()


def _hostlist(names: tuple[str, ...]) -> list[str]:
    return [fold(names)] if names else []


def _time(text: str | None) -> int | None:
    return None if text is None else from_iso(text)


def _text(time: int | None) -> str | None:
    return None if time is None else to_iso(time)
