"""Who is on which node: whose the metrics of a node are."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, field


@dataclass(slots=True)
class Stays:
    """The nodes of the attempts that run now. Bounded by them.

    Examples
    --------
    >>> stays = Stays()
    >>> stays.move("a", ("n1", "n2"))
    >>> stays.move("b", ("n2",))
    >>> stays.alone_on("n1"), stays.alone_on("n2"), stays.alone_on("n3")
    ('a', None, None)
    >>> stays.move("b", ())
    >>> stays.alone_on("n2")
    'a'
    """

    _nodes: dict[str, frozenset[str]] = field(default_factory=dict)
    _on: dict[str, set[str]] = field(default_factory=dict)

    def move(self, attempt: str, nodes: Iterable[str]) -> None:
        """Take where an attempt is now: nowhere, once it is over."""
        now, before = frozenset(nodes), self._nodes.pop(attempt, frozenset())
        if now:
            self._nodes[attempt] = now
        for node in before - now:
            self._on[node].discard(attempt)
            if not self._on[node]:
                del self._on[node]
        for node in now - before:
            self._on.setdefault(node, set()).add(attempt)

    def alone_on(self, node: str) -> str | None:
        """Return who has a node for itself; null for nobody, and where several share it.

        What is measured on a shared node may be anybody's work.
        """
        found = self._on.get(node)
        return next(iter(found)) if found is not None and len(found) == 1 else None
