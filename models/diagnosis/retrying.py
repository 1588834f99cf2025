r"""Lines that tell of a failure and of the next try in one breath: no failure of the job.

Whoever gives up says so in another line, which has no such words.
"""

from __future__ import annotations

import re

from relume.models.signatures.hit import Hit
from relume.models.signatures.rule import Tier
from relume.verdict import JOB_STREAMS

MAX_CHARACTERS = 2000
"""How much of a line is read for such words."""
_AGAIN = re.compile(
    r"(?i)\bretrying\b|\bwill (?:be )?retr(?:y|ied)\b|\bstill trying\b|\b(?:trying|try) again in\b"
    r"|\btrying again\b|\bwill try again\b|\b(?:next|another) (?:try|attempt|retry) in\b"
    r"|\breconnecting\b|\bback(?:ing)?[- ]off\b|\bentering retry loop\b"
)
_NO_MORE = re.compile(
    r"(?i)\b(?:not|never|stop(?:ped)?|without|no longer|after|instead of|gave up|giving up) "
    r"(?:\w+ ){0,2}(?:retry|retries|retrying|trying|reconnecting)|\bgiv(?:ing|es?) up\b|\bgave up\b"
    r"|\b(?:retries|retry|attempts?)\b.{0,20}\b(?:exceeded|exhausted|failed)\b"
    r"|\bmax(?:imum)? (?:number of )?(?:retries|attempts)\b(?! ?[=:])"
)


def is_retried(hit: Hit) -> bool:
    """Whether the line of `hit` says that what failed is tried again.

    >>> from relume.events import LogLine
    >>> def line(text):
    ...     return Hit(None, LogLine(text, 0, 0, "log"), {})
    >>> is_retried(line("OSError: [Errno 5] Input/output error, retrying in 5 s"))
    True
    >>> is_retried(line("OSError: [Errno 5] Input/output error, giving up after retrying 5 times"))
    False
    """
    if hit.line.stream not in JOB_STREAMS and hit.signature.tier is Tier.TIMEOUT:
        return False  # a kernel that waits for its storage and goes on trying: that is the stall
    text = hit.line.text[:MAX_CHARACTERS]
    return _AGAIN.search(text) is not None and _NO_MORE.search(text) is None
