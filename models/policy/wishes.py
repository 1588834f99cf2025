"""What a job's comment asks of the policy, as far as the site allows (DESIGN 5)."""

from __future__ import annotations

import json

from relume.advice import RequestKind
from relume.identity import read_comment
from relume.models.policy.view import JobWishes


def read_wishes(comment: str | None) -> JobWishes:
    """Read the wishes in a job's comment; it never raises.

    A value of another type than expected counts as not given: whoever mistypes a limit gets the
    site's, which is never looser. Of the ``APS`` form `max_requeue_times` is read.

    Examples
    --------
    >>> wishes = read_wishes('{"relume": {"max_restarts": 1, "exclude": false}}')
    >>> wishes.max_restarts, wishes.exclude, wishes.stop_on_repeat
    (1, False, True)
    >>> read_wishes('{"relume": {"capture": ["py_spy"], "checkpoint_signal": "USR1"}}').requests
    (<RequestKind.SIGNAL: 'signal'>, <RequestKind.PY_SPY: 'py_spy'>)
    >>> read_wishes('{"APS": {"auto_resume_mode": "requeue", "max_requeue_times": 2}}').max_restarts
    2
    """
    if not read_comment(comment).opted_in:
        return JobWishes()
    document = json.loads(comment or "{}")
    if "relume" not in document:
        return JobWishes(max_restarts=_count(document["APS"].get("max_requeue_times")))
    section = document["relume"]
    return JobWishes(
        max_restarts=_count(section.get("max_restarts")),
        exclude=_flag(section.get("exclude"), default=True),
        stop_on_repeat=_flag(section.get("stop_on_repeat"), default=True),
        restart_on_time_limit=_flag(section.get("restart_on_time_limit"), default=False),
        requests=_requests(section),
    )


def _requests(section: dict[str, object]) -> tuple[RequestKind, ...]:
    """Return the evidence that the comment names, in the order of `RequestKind`."""
    capture = section.get("capture")
    named = set(filter(_is_text, capture)) if isinstance(capture, list) else set()
    named.discard(RequestKind.SIGNAL.value)  # which one, only `checkpoint_signal` says
    if section.get("checkpoint_signal"):
        named.add(RequestKind.SIGNAL.value)
    return tuple(kind for kind in RequestKind if kind.value in named)


def _is_text(value: object) -> bool:
    return isinstance(value, str)


def _count(value: object) -> int | None:
    is_count = isinstance(value, int) and not isinstance(value, bool) and value >= 0
    return value if is_count and isinstance(value, int) else None


def _flag(value: object, *, default: bool) -> bool:
    return value if isinstance(value, bool) else default
