"""From decoded bodies to what the runner takes."""

from __future__ import annotations

from collections.abc import Callable, Sequence

from relume.errors import InputError
from relume.events import CollectiveDump, Event
from relume.identity import AttemptId
from relume.ingest.dumps.documents import parse_document
from relume.ingest.dumps.flight import decode, is_flight
from relume.ingest.eventlines import decode_event
from relume.ingest.lake import SampleBatch
from relume.ingest.push.arrowstreams import event_stream
from relume.ingest.push.lines import PushedLines
from relume.ingest.skips import SkipCounts
from relume.schemas import to_table
from relume.serve.intake.bodies import MAX_REASONS, Body

MAX_LINES = 500_000
"""Events of one request."""
SOURCE = "push"


def body_of_lines(data: bytes, sender: str) -> Body:
    r"""Decode events that stand one a line; a line that is none is refused, not the others.

    Raises
    ------
    InputError
        For more lines than one request may have.

    Examples
    --------
    >>> body = body_of_lines(b'{"event": "Tick", "schema_version": 1}\n', "agent")
    >>> body.refused, len(body.events)
    (1, 0)
    """
    if data.count(b"\n") > MAX_LINES:
        raise InputError(
            "body", found=f"more than {MAX_LINES} lines", expected="a part of them at a time"
        )
    events, reasons, refused = list[Event](), dict[str, None](), 0
    for number, line in enumerate(data.split(b"\n"), 1):
        if not line.strip():
            continue
        try:
            events.append(_checked(decode_event(line)))
        except InputError as error:
            refused += 1
            if len(reasons) < MAX_REASONS:
                reasons[f"line {number}: {error}"] = None
    return Body(sender=sender, events=events, refused=refused, reasons=list(reasons))


def body_of_stream(data: bytes, sender: str) -> Body:
    """Decode events that are a stream of Arrow IPC: a table of one event.

    Raises
    ------
    InputError
        When it is none; a row that is no event is refused, not the others.
    """
    skipped, events, samples = SkipCounts(), list[Event](), list[SampleBatch]()
    for one in event_stream(data, skipped):
        if isinstance(one, SampleBatch):
            samples.append(one)
        else:
            events.append(one)
    return Body(
        sender=sender,
        events=events,
        samples=samples,
        refused=skipped.as_dict().get("event", 0),
        reasons=skipped.files().get("event", [])[:MAX_REASONS],
    )


def body_of_streams(
    decode: Callable[[bytes], Sequence[PushedLines]], data: bytes, sender: str
) -> Body:
    """Decode lines; raises `InputError` as `decode` does."""
    return Body(sender=sender, streams=decode(data))


def body_of_dump(data: bytes, attempt: str, rank: int, sender: str) -> Body:
    """Decode the flight-recorder dump of one rank, a pickle of plain data or JSON.

    Raises
    ------
    InputError
        For one that isn't used: broken, hostile, no flight recorder, or of no attempt.
    """
    named = AttemptId.parse(attempt)
    document = parse_document(data, f"rank {rank}")
    if not is_flight(document):
        raise InputError(
            f"dump of rank {rank}",
            found="data that is no flight recorder",
            expected="what PyTorch writes to TORCH_NCCL_DEBUG_INFO_TEMP_FILE",
        )
    flight = decode(document)
    event = CollectiveDump(
        source=SOURCE,
        cluster=named.job_key.cluster,
        attempt=attempt,
        rank=rank,
        version=flight.version,
        groups=flight.groups,
        collectives=flight.collectives,
    )
    return Body(sender=sender, events=[_checked(event)])


def _checked(event: Event) -> Event:
    """Refuse a value that no column can hold here, where only the one event is refused for it."""
    to_table([event])
    return event
