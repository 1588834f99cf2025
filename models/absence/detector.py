"""Finds what isn't measured any more while what is beside it still is.

Silence is measured against the newest sample there is, not against a clock: a source that is late
makes everything late, and nothing of it absent. Only when nothing at all comes the ticks count.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Iterator
from dataclasses import dataclass

import msgspec

from relume.errors import InputError
from relume.events import Sample
from relume.models.absence.finding import Absence, AbsenceKind
from relume.models.absence.units import EVERYTHING, Seen, Unit, units_of

SECOND = 1_000_000
MAX_PENDING = 1_000
"""Different times of one unit that wait for a tick; clocks of next year wait for ever."""


@dataclass(frozen=True, slots=True)
class AbsenceSettings:
    """When something counts as gone.

    Attributes
    ----------
    patience_seconds, patience_gaps
        It was not measured for longer than both this and so many times what is usual between two
        values of it.
    fresh_share
        What is beside it must have been measured within this share of its own patience: when a node
        dies its exporters don't stop in the same second.
    min_times
        What was measured at fewer different times was never really there.
    look_seconds
        How often it is looked, in time of the events.
    forget_seconds
        What was gone for so long is taken for taken away.
    max_units
        GPUs, exporters and nodes that are watched together; those gone longest are let go first.
    """

    patience_seconds: float = 90.0
    patience_gaps: float = 5.0
    fresh_share: float = 0.5
    min_times: int = 3
    look_seconds: float = 10.0
    forget_seconds: float = 7 * 86_400.0
    max_units: int = 500_000


class _State(msgspec.Struct):
    seen: list[tuple[Unit, Seen]]
    pending: list[tuple[Unit, list[int]]]
    found: list[tuple[Unit, int]]
    looked: int


class AbsenceDetector:
    """One for a cluster.

    Samples may come in any order between two ticks: they count when the tick comes.

    Examples
    --------
    >>> detector = AbsenceDetector()
    >>> for at in range(0, 600, 15):
    ...     for gpu in ("0", "1"):
    ...         if gpu == "0" or at < 300:
    ...             detector.update(
    ...                 [
    ...                     Sample(
    ...                         source="x",
    ...                         metric="gpu_power_watts",
    ...                         value=99.0,
    ...                         node="n1",
    ...                         gpu=gpu,
    ...                         event_time=at * SECOND,
    ...                     )
    ...                 ]
    ...             )
    ...     for absence in detector.advance(at * SECOND):
    ...         print(absence.kind.value, absence.gpu, absence.reason)
    gpu_vanished 1 GPU 1 of n1 was not measured for 105 s, others of it were
    """

    def __init__(self, settings: AbsenceSettings | None = None) -> None:
        self._settings = settings or AbsenceSettings()
        self._seen: dict[Unit, Seen] = {}
        self._pending: dict[Unit, set[int]] = defaultdict(set)
        self._found: dict[Unit, int] = {}
        self._looked = 0

    def update(self, samples: Iterable[Sample]) -> None:
        """Take samples. One without a time, or without a number, shows nothing to be there."""
        for sample in samples:
            if sample.event_time is None or sample.value != sample.value:
                continue
            for unit in units_of(sample.metric, sample.node, sample.gpu):
                times = self._pending[unit]
                if len(times) < MAX_PENDING:
                    times.add(sample.event_time)

    def advance(self, event_time: int) -> list[Absence]:
        """Take the clock: every sample before it was delivered. Return what is gone, or back."""
        over = list(self._settle(event_time))
        look = int(self._settings.look_seconds * SECOND)
        if event_time // look <= self._looked:
            return over
        self._looked = event_time // look
        self._forget()
        return [*over, *self._look(event_time)]

    def save(self) -> bytes:
        """Return all that it knows, for `restore`."""
        pending = [(unit, sorted(times)) for unit, times in self._pending.items()]
        state = _State(list(self._seen.items()), pending, list(self._found.items()), self._looked)
        return msgspec.json.encode(state)

    def restore(self, state: bytes) -> None:
        """Take up what `save` returned.

        Raises
        ------
        InputError
            For anything else.
        """
        try:
            known = msgspec.json.decode(state, type=_State)
        except msgspec.DecodeError as error:
            raise InputError(
                "state of the detector of absences", found=str(error), expected="what it saved"
            ) from error
        self._seen, self._found = dict(known.seen), dict(known.found)
        self._pending = defaultdict(set, {unit: set(times) for unit, times in known.pending})
        self._looked = known.looked

    def _settle(self, event_time: int) -> Iterator[Absence]:
        """Make the samples up to a time count, in their order; say what is back with them."""
        later: dict[Unit, set[int]] = defaultdict(set)
        for unit, times in sorted(self._pending.items(), key=_by_name):
            for time in sorted(times):
                if time > event_time:
                    later[unit].add(time)
                    continue
                seen = self._seen.get(unit)
                if seen is None:
                    self._seen[unit] = Seen(time, time)
                    continue
                since = self._found.pop(unit, None) if time > seen.last else None
                if since is not None:
                    yield _finding(unit, since, time, is_over=True, words="is measured again")
                if time - seen.last > self._patience(seen):
                    seen.resumed = time
                seen.take(time)
        self._pending = later

    def _look(self, now: int) -> Iterator[Absence]:
        everything = self._seen.get(EVERYTHING)
        if everything is None:
            return
        if self._is_gone(EVERYTHING, now):
            yield from self._report(EVERYTHING, now, "")
            return
        front = everything.last
        by_node: dict[str, list[Unit]] = defaultdict(list)
        for unit in self._seen:
            if unit.node is not None:
                by_node[unit.node].append(unit)
        for node in sorted(by_node):
            whole = Unit(node)
            if self._is_gone(whole, front):
                yield from self._report(whole, front, "something else was")
                continue
            yield from self._look_inside(by_node[node], front)

    def _look_inside(self, units: list[Unit], front: int) -> Iterator[Absence]:
        """Look at the exporters of a node that lives, and at the GPUs of those that do."""
        exporters = sorted(x for x in units if x.exporter is not None and x.gpu is None)
        for exporter in exporters:
            beside = [x for x in exporters if x != exporter]
            if self._is_gone(exporter, front):
                if any(self._is_fresh(x, front) for x in beside):
                    yield from self._report(exporter, front, "the node's other exporter was")
                continue
            gpus = sorted(x for x in units if x.exporter == exporter.exporter and x.gpu is not None)
            gone = [x for x in gpus if self._is_gone(x, front)]
            if not gone or not any(self._is_fresh(x, front) for x in gpus if x not in gone):
                continue
            for unit in gone:
                if self._is_replaced(unit, gpus, len(gone)):
                    self._seen.pop(unit)
                    self._found.pop(unit, None)
                else:
                    yield from self._report(unit, front, "others of it were")

    def _is_replaced(self, unit: Unit, gpus: list[Unit], gone: int) -> bool:
        """Whether as many GPUs came since: they are called otherwise now, or were exchanged."""
        last = self._seen[unit].last
        new = sum(x in self._seen and self._seen[x].first > last for x in gpus)
        return new >= gone

    def _report(self, unit: Unit, now: int, words: str) -> Iterator[Absence]:
        if unit in self._found:
            return
        since = self._found[unit] = self._seen[unit].last
        words = f"was not measured for {(now - since) / SECOND:.0f} s, {words}"
        if unit == EVERYTHING:
            words = f"was measured for {(now - since) / SECOND:.0f} s"
        yield _finding(unit, since, now, is_over=False, words=words)

    def _is_gone(self, unit: Unit, now: int) -> bool:
        """Whether a unit is silent for too long; what it is part of may have been gone till then.

        When all comes back it doesn't come in the same second.
        """
        seen = self._seen[unit]
        if seen.count < self._settings.min_times:
            return False
        parts = {EVERYTHING, Unit(unit.node), Unit(unit.node, unit.exporter)} - {unit}
        since = max(seen.last, *(self._seen[x].resumed for x in parts if x in self._seen), 0)
        return now - since > self._patience(seen)

    def _is_fresh(self, unit: Unit, now: int) -> bool:
        seen = self._seen[unit]
        return now - seen.last <= self._settings.fresh_share * self._patience(seen)

    def _patience(self, seen: Seen) -> float:
        s = self._settings
        return max(s.patience_seconds, s.patience_gaps * seen.gap) * SECOND

    def _forget(self) -> None:
        """Let go of what was gone for too long, and of the oldest where there are too many."""
        if EVERYTHING not in self._seen:
            return
        oldest = self._seen[EVERYTHING].last - self._settings.forget_seconds * SECOND
        known = [unit for unit, seen in self._seen.items() if seen.last < oldest]
        if len(self._seen) - len(known) > self._settings.max_units:
            by_age = sorted(self._seen, key=self._age)
            known = by_age[: len(self._seen) - self._settings.max_units]
        for unit in known:
            if unit != EVERYTHING:
                self._seen.pop(unit)
                self._found.pop(unit, None)

    def _age(self, unit: Unit) -> tuple[int, int, tuple[str, ...]]:
        """Oldest first, and no node before what is in it."""
        return self._seen[unit].last, unit.count(None), _text(unit)


def _finding(unit: Unit, since: int, at: int, *, is_over: bool, words: str) -> Absence:
    kind, name = AbsenceKind.EVERYTHING, "something" if is_over else "nothing"
    if unit.gpu is not None:
        kind, name = AbsenceKind.GPU, f"GPU {unit.gpu} of {unit.node}"
    elif unit.exporter is not None:
        kind, name = AbsenceKind.EXPORTER, f"the {unit.exporter} of {unit.node}"
    elif unit.node is not None:
        kind, name = AbsenceKind.NODE, f"node {unit.node}"
    place = (unit.node, unit.gpu, unit.exporter)
    return Absence(kind, *place, since=since, at=at, is_over=is_over, reason=f"{name} {words}")


def _text(unit: Unit) -> tuple[str, ...]:
    return tuple(part or "" for part in unit)


def _by_name(item: tuple[Unit, object]) -> tuple[str, ...]:
    return _text(item[0])
