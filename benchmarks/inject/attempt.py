"""A fault in one attempt: where its logs end or become slower, what is said, and the label."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass, field, replace
from datetime import UTC, datetime
from functools import partial
from itertools import chain
from random import Random

from relume.benchmarks.episodes.staging import RANKS_A_NODE, Told, make_stage, tell
from relume.benchmarks.inject.faults import Injection
from relume.benchmarks.inject.sources import Speakers, speakers
from relume.benchmarks.inject.timeline import RecordedFile, Span
from relume.clock import from_seconds
from relume.dataset import AttemptEntry, DatasetHeader, Incident
from relume.errors import InputError
from relume.identity import AttemptId
from relume.ingest.timestamps import zone_of
from relume.verdict import Kind

LABEL_SOURCE = "injected"
_STORY_SECONDS = 120.0
"""How long a crash may take to the last word."""
_AFTER_SECONDS = 5.0
"""From there to the end of the attempt."""
_OTHERS = frozenset({"kernel", "slurmctld"})


@dataclass(slots=True)
class Broken:
    """An attempt with a fault in it.

    Attributes
    ----------
    entry
        Its times, end and label; the files are those of before.
    logs
        What is in the logs that change, by their path; read when it is written.
    left_out
        Logs without clocks: nobody knows what of them came before the fault.
    nodes, controller
        Lines of nodes' system logs and of slurmctld that are added.
    cuts_pipe
        Whether the logs that change break off.
    """

    entry: AttemptEntry
    logs: dict[str, Callable[[], Iterator[bytes]]]
    left_out: frozenset[str]
    nodes: dict[str, list[str]] = field(default_factory=dict)
    controller: list[str] = field(default_factory=list)
    cuts_pipe: bool = False


def break_attempt(
    entry: AttemptEntry, header: DatasetHeader, injection: Injection, rng: Random
) -> Broken:
    """Put a fault into an attempt; nothing is written yet.

    Raises
    ------
    InputError
        When no log of it has clocks, or the node isn't one of its nodes.
    """
    fault = injection.fault
    every = [RecordedFile(file, header.timezone, entry.start) for file in entry.files]
    files = [one for one in every if one.stream not in _OTHERS]
    spans = {one.file.path: one.span() for one in files}
    main, span = _main(entry, files, spans)
    second = span.at(injection.at)
    left_out = frozenset(path for path, one in spans.items() if one is None)
    timed = [one for one in files if one.file.path not in left_out]
    who = speakers(entry)
    node = _node(entry, who, injection, rng)
    nodes = who.nodes or tuple(filter(None, [node]))
    broken = Broken(
        entry=replace(entry, nodes=nodes, attempt=_identity(entry, span)),
        logs={one.file.path: partial(one.until, second) for one in timed},
        left_out=left_out,
        cuts_pipe=fault.cuts_pipe,
    )
    if fault.slows:
        _slow(broken, timed, second, span, injection)
    elif fault.tells:
        _tell(broken, main, second, injection, node, who.rank + 1, rng)
    elif fault.cuts_pipe:
        broken.entry = replace(broken.entry, end=entry.end or from_seconds(span.last))
    else:
        end = from_seconds(second) + from_seconds(injection.silent_seconds)
        broken.entry = replace(broken.entry, end=end, state="CANCELLED", exit_code=0, signal=15)
    _label(broken, second, injection, node)
    return broken


def _main(
    entry: AttemptEntry, files: list[RecordedFile], spans: dict[str, Span | None]
) -> tuple[RecordedFile, Span]:
    """Return the log that says most, by its clocks."""
    known = [(one, span) for one in files if (span := spans[one.file.path]) is not None]
    if not known:
        raise InputError(
            f"attempt {entry.title}",
            found="no log with clocks on its lines",
            expected="one that tells when its lines were written",
            hint="faults have a time; choose another --attempt",
        )
    return max(known, key=lambda one: len(one[1].seconds))


def _node(entry: AttemptEntry, who: Speakers, injection: Injection, rng: Random) -> str | None:
    """Return the node to blame; null for a fault of no node."""
    if injection.node is not None and who.nodes and injection.node not in who.nodes:
        shown = ", ".join(who.nodes[:8])
        raise InputError(
            f"node {injection.node}",
            found=f"attempt {entry.title} on {shown}",
            expected="one of its nodes",
        )
    if not injection.fault.of_node:
        return None
    if injection.node is None and not who.nodes:
        raise InputError(
            f"attempt {entry.title}",
            found="neither its record nor its lines name a node",
            expected="a node to blame",
            hint="name it by --node",
        )
    return injection.node or rng.choice(who.nodes)


def _identity(entry: AttemptEntry, span: Span) -> str:
    """Return the identity; without a time of submission it gets the first second of the log."""
    found = AttemptId.parse(entry.attempt)
    if found.job_key.first_submit_time or entry.start is not None:
        return entry.attempt
    key = replace(found.job_key, first_submit_time=from_seconds(span.first))
    return str(replace(found, job_key=key))


def _slow(
    broken: Broken, files: list[RecordedFile], second: int, span: Span, injection: Injection
) -> None:
    for one in files:
        broken.logs[one.file.path] = partial(one.slowed, second, injection.factor)
    end, at = broken.entry.end or from_seconds(span.last + 1), from_seconds(second)
    later = at + round((end - at) * injection.factor)
    broken.entry = replace(broken.entry, end=later)


def _tell(  # noqa: PLR0913, PLR0917 - what is told of whom, when and how
    broken: Broken,
    main: RecordedFile,
    second: int,
    injection: Injection,
    node: str | None,
    ranks: int,
    rng: Random,
) -> None:
    """Let a story be told at the end of the log; at least `ranks` ranks are known."""
    nodes = broken.entry.nodes or ("node1",)
    start = datetime.fromtimestamp(second + 1, UTC).astimezone(zone_of(main.zone))
    job = AttemptId.parse(broken.entry.attempt).job_key.job_id
    stage = make_stage(nodes, int(job) if job.isdecimal() else 1, start, culprit=node)
    per_node = -(-ranks // len(nodes)) if ranks > len(nodes) else RANKS_A_NODE
    told = tell(
        injection.fault.tells,
        replace(stage, per_node=per_node),
        f"{injection.seed}/{rng.random()}",
        seconds=_STORY_SECONDS,
        fits=lambda one: not one.shows_hang,
    )
    before = broken.logs[main.file.path]
    words = "".join(f"{line.text}\n" for line in told.job).encode()
    broken.logs[main.file.path] = lambda: chain(before(), [words])
    broken.nodes = {name: [one.text for one in lines] for name, lines in told.nodes.items()}
    broken.controller = [line.text for line in told.controller]
    broken.entry = _ended(broken.entry, second, told)


def _ended(entry: AttemptEntry, second: int, told: Told) -> AttemptEntry:
    code, _, signal = told.truth.exit_code.partition(":")
    return replace(
        entry,
        end=from_seconds(second + 1) + from_seconds(told.seconds + _AFTER_SECONDS),
        state=told.truth.state,
        exit_code=int(code),
        signal=int(signal or 0),
    )


def _label(broken: Broken, second: int, injection: Injection, node: str | None) -> None:
    fault, entry = injection.fault, broken.entry
    if fault.kind is None:
        return
    incident = Incident(
        incident_id=f"{entry.attempt} {fault.name}",
        attempt=entry.attempt,
        kind=fault.kind,
        domain=fault.domain,
        culprit_nodes=() if node is None else (node,),
        onset=from_seconds(second),
        visible=from_seconds(second),
        end=entry.end,
        severity=f"{injection.factor:g}" if fault.kind is Kind.STRAGGLER else None,
        label_source=LABEL_SOURCE,
    )
    broken.entry = replace(entry, incidents=(incident,))
