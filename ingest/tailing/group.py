"""Many tails, polled fairly within a budget."""

from __future__ import annotations

from collections.abc import Iterator

from relume.ingest.tail import POLL_BYTES, Tailer, TailResult

BUDGET_BYTES = 4 * POLL_BYTES
"""How much one round reads over all files: bounds memory, and the time until the next tick."""


class TailGroup:
    """Polls its tails in turn. Whom the budget of a round doesn't reach comes first in the next.

    Each tail holds a file descriptor: the limit of open files (`ulimit -n`) must be above their
    number, and a tail that meets it says so as its reason.

    Examples
    --------
    >>> group = TailGroup()
    >>> group.add("job 12", Tailer("/nowhere/slurm-12.out"))
    >>> [(key, sorted(result.events)) for key, result in group.poll()]
    [('job 12', [<TailEvent.MISSING: 'missing'>])]
    """

    def __init__(self) -> None:
        self._tailers: dict[str, Tailer] = {}

    def __len__(self) -> int:
        return len(self._tailers)

    def __contains__(self, key: str) -> bool:
        return key in self._tailers

    def __getitem__(self, key: str) -> Tailer:
        return self._tailers[key]

    def add(self, key: str, tailer: Tailer) -> None:
        """Poll `tailer` from now on; one that had the key is closed."""
        self.discard(key)
        self._tailers[key] = tailer

    def discard(self, key: str) -> Tailer | None:
        """Stop polling the tail of `key`, close it, and return it; null if there is none."""
        tailer = self._tailers.pop(key, None)
        if tailer is not None:
            tailer.close()
        return tailer

    def poll(self, budget_bytes: int = BUDGET_BYTES) -> Iterator[tuple[str, TailResult]]:
        """Poll each tail at most once, and yield what it gave, until the budget is used up."""
        for key in list(self._tailers):
            if budget_bytes <= 0:
                return
            tailer = self._tailers.get(key)
            if tailer is None:  # discarded by whoever took an earlier result
                continue
            before = tailer.position.offset
            result = tailer.poll(min(POLL_BYTES, budget_bytes))
            budget_bytes -= max(0, result.position.offset - before)
            self._tailers[key] = self._tailers.pop(key)
            yield key, result

    def close(self) -> None:
        """Close every tail."""
        for key in list(self._tailers):
            self.discard(key)
