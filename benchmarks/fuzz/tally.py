"""What came of the requests of a campaign, counted."""

from __future__ import annotations

import threading
from collections import Counter
from dataclasses import dataclass, field

MAX_EXAMPLES = 20
"""Requests that went wrong, of which words are kept."""
UNAVAILABLE, SERVER_ERRORS = 503, 500


@dataclass(slots=True)
class Tally:
    """What was asked and answered. Counted from several threads.

    Attributes
    ----------
    statuses
        How often each status came; 0 for no answer.
    operations
        Methods and paths of the document that were asked.
    violations
        Answers that the document doesn't allow, by what is wrong with them.
    examples
        The first of the requests that went wrong, in words.
    """

    statuses: Counter[int] = field(default_factory=Counter)
    operations: set[str] = field(default_factory=set)
    violations: Counter[str] = field(default_factory=Counter)
    examples: list[str] = field(default_factory=list)
    _lock: threading.Lock = field(default_factory=threading.Lock)

    def answered(self, status: int, request: str) -> None:
        """Count an answer; `request` is what led to it, in words."""
        with self._lock:
            self.statuses[status] += 1
            if is_error(status) or status == 0:
                self._keep(f"{status}: {request}")

    def violated(self, what: str, request: str) -> None:
        """Count an answer that the document doesn't allow."""
        with self._lock:
            self.violations[what] += 1
            self._keep(f"{what}: {request}")

    @property
    def errors(self) -> int:
        """Answers that say that the service has a defect."""
        return sum(count for status, count in self.statuses.items() if is_error(status))

    def of_class(self, first: int) -> int:
        """Return how many answers were of a class of statuses.

        >>> Tally(statuses=Counter({200: 2, 204: 1, 404: 5})).of_class(2)
        3
        """
        return sum(count for status, count in self.statuses.items() if status // 100 == first)

    def _keep(self, words: str) -> None:
        if len(self.examples) < MAX_EXAMPLES:
            self.examples.append(words[:1000])


def is_error(status: int) -> bool:
    """Whether a status says that the service has a defect; 503 says that something is away.

    >>> is_error(500), is_error(503), is_error(422)
    (True, False, False)
    """
    return status >= SERVER_ERRORS and status != UNAVAILABLE
