"""Our marker in a job's AdminComment: which job it is, whatever happens to its job id.

AdminComment survives requeues and is for admins only, so a marker is our own word. It is one key of
a JSON object; everything else in there belongs to others and is kept.
"""

from __future__ import annotations

import json
from dataclasses import dataclass
from typing import Any, TypeGuard

from relume.clock import MICROSECONDS_PER_SECOND

KEY = "relume"
MAX_SEEN = 16
"""Submit times kept, the newest ones; each takes 11 characters of the AdminComment."""
MAX_CHARACTERS = 1000
"""Of the whole AdminComment: Slurm allows users' comments 1024."""


@dataclass(frozen=True, slots=True)
class Marker:
    """What we know of a job. Times are UTC microseconds, whole seconds.

    Attributes
    ----------
    first_submit
        Submit time of the first attempt: the job's identity.
    seen
        Submit times under which the controller has seen the job.
    advice
        Id of the Advice that was last carried out on it, null if none was.
    message
        Words for the job's user, null if there are none.
    """

    first_submit: int
    seen: tuple[int, ...] = ()
    advice: str | None = None
    message: str | None = None


def read_marker(admin_comment: str | None) -> Marker | None:
    """Return the marker in an AdminComment, null if there is none; it never raises.

    Examples
    --------
    >>> read_marker('{"relume":{"first_submit":7,"seen":[7,9]},"ticket":12}')
    Marker(first_submit=7000000, seen=(7000000, 9000000), advice=None, message=None)
    >>> read_marker("moved by hand") is None
    True
    """
    section = (_document(admin_comment) or {}).get(KEY)
    if not isinstance(section, dict):
        return None
    first, seen = section.get("first_submit"), section.get("seen", [])
    if not _is_epoch(first) or not isinstance(seen, list) or not all(map(_is_epoch, seen)):
        return None
    advice, message = section.get("advice"), section.get("message")
    return Marker(
        first_submit=first * MICROSECONDS_PER_SECOND,
        seen=tuple(moment * MICROSECONDS_PER_SECOND for moment in seen),
        advice=advice if isinstance(advice, str) else None,
        message=message if isinstance(message, str) else None,
    )


def with_marker(admin_comment: str | None, marker: Marker) -> str | None:
    """Return the AdminComment with `marker` in it and all else kept.

    Null when it holds text that is no JSON object, which is somebody's note that we leave alone,
    and when there is no room.

    Examples
    --------
    >>> with_marker('{"ticket": 12}', Marker(7000000, (7000000,)))
    '{"ticket":12,"relume":{"first_submit":7,"seen":[7]}}'
    >>> with_marker("moved by hand", Marker(7000000)) is None
    True
    """
    document = _document(admin_comment)
    if document is None:
        return None
    before = document.get(KEY)
    section: dict[str, Any] = dict(before) if isinstance(before, dict) else {}
    section["first_submit"] = marker.first_submit // MICROSECONDS_PER_SECOND
    section["seen"] = [moment // MICROSECONDS_PER_SECOND for moment in marker.seen[-MAX_SEEN:]]
    for name, value in (("advice", marker.advice), ("message", marker.message)):
        section.pop(name, None)
        if value is not None:
            section[name] = value
    # ASCII without spaces: it goes through an argument list and comes back unquoted.
    text = json.dumps(document | {KEY: section}, separators=(",", ":"))
    return text if len(text) <= MAX_CHARACTERS else None


def _document(text: str | None) -> dict[str, Any] | None:
    if text is None or not text.strip():
        return {}
    try:
        document = json.loads(text)
    except (ValueError, RecursionError):
        return None
    return document if isinstance(document, dict) else None


def _is_epoch(value: object) -> TypeGuard[int]:
    return isinstance(value, int) and not isinstance(value, bool) and 0 <= value < 10**12
