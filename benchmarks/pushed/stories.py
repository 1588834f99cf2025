"""What agents push of an attempt from its start to its end, step by step."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import msgspec

from relume.benchmarks.corpora.failure_cases import Case
from relume.benchmarks.serving import CLUSTER
from relume.clock import MICROSECONDS_PER_SECOND
from relume.events import SchedulerEvent
from relume.identity import AttemptId, JobKey
from relume.ingest.eventlines import encode_event

EVENTS, LOKI = "/v1/events", "/loki/api/v1/push"
STEPS = 12
"""Steps of training before anything happens."""
SIMULATED: tuple[tuple[str, ...], ...] = (
    ("[rank0]: Traceback (most recent call last):", "[rank0]: KeyError: 'vocabulary'"),
    ("[rank1]: RuntimeError: CUDA error: an illegal memory access was encountered",),
    ("torch.OutOfMemoryError: CUDA out of memory. Tried to allocate 2.00 GiB.",),
    ("srun: error: node1: task 0: Killed",),
    ("OSError: [Errno 28] No space left on device",),
    ("[rank2]: Traceback (most recent call last):", "[rank2]: ValueError: loss is nan"),
)
"""Ends of made-up attempts."""


@dataclass(frozen=True, slots=True)
class Push:
    """One request: so many seconds after the start, to a route, of so many lines."""

    seconds: float
    route: str
    body: bytes
    lines: int = 0


def endings(cases: Sequence[Case]) -> tuple[tuple[str, ...], ...]:
    """Return how recorded attempts ended; made-up ones when there is no recording."""
    return tuple(case.text for case in cases) or SIMULATED


def story(number: int, began: int, ending: Sequence[str]) -> list[Push]:
    """Return what is pushed of attempt `number`, which began at `began` (UTC microseconds).

    >>> [push.route for push in story(7, 0, ["x"])[:2]], sum(p.lines for p in story(7, 0, ["x"]))
    (['/v1/events', '/loki/api/v1/push'], 13)
    """
    key = JobKey(CLUSTER, str(number), began // MICROSECONDS_PER_SECOND * MICROSECONDS_PER_SECOND)
    attempt, end = str(AttemptId(key, 0)), STEPS + 2
    pushes = [Push(0.0, EVENTS, _event(attempt, "RUNNING", began))]
    for step in range(1, STEPS + 1):
        text = f"iter {step}: loss {4 - step / 10:.2f}, time 1000.00ms"
        pushes.append(_lines(number, began, float(step), [text]))
    pushes.append(_lines(number, began, STEPS + 1.0, ending))
    ended = began + end * MICROSECONDS_PER_SECOND
    pushes.append(Push(float(end), EVENTS, _event(attempt, "FAILED", ended)))
    return pushes


def _lines(number: int, began: int, seconds: float, texts: Sequence[str]) -> Push:
    """Lines of one push, a microsecond apart."""
    at = (began + int(seconds * MICROSECONDS_PER_SECOND)) * 1000
    values = [[str(at + 1000 * index), text] for index, text in enumerate(texts)]
    labels = {"job_id": str(number), "host": f"node{number % 8}"}
    document = {"streams": [{"stream": labels, "values": values}]}
    return Push(seconds, LOKI, msgspec.json.encode(document), sum(map(_count, texts)))


def _count(text: str) -> int:
    """How many lines an entry is to Relume."""
    plain = text.replace("\r\n", "\n").replace("\r", "\n").removesuffix("\n")
    return plain.count("\n") + 1


def _event(attempt: str, state: str, at: int) -> bytes:
    number = int(AttemptId.parse(attempt).job_key.job_id)
    return encode_event(
        SchedulerEvent(
            source="agent",
            cluster=CLUSTER,
            event_time=at,
            attempt=attempt,
            state=state,
            nodes=(f"node{number % 8}",),
            exit_code=1 if state == "FAILED" else None,
            user="ann",
            name=f"job{number}",
            comment='{"relume": {}}',
        )
    )
