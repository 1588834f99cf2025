"""A service that starts on what a death left, lives the story to its end, and what it came to."""

from __future__ import annotations

import random
import time
from collections import Counter
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from hashlib import sha256
from pathlib import Path
from unittest.mock import patch

from relume.advice import Advice, Scope
from relume.benchmarks.killpoints.disk import restore
from relume.benchmarks.killpoints.recorder import Point, Recorder
from relume.benchmarks.killpoints.story import Moment, Service, World, story
from relume.benchmarks.loop.replayed import differences
from relume.ingest.lake import LakeReader, LakeWriter, Landing, LineBatch
from relume.ingest.lake import journal as lake_journal
from relume.ingest.lake.batches import logical_lines
from relume.ingest.lake.journal import read_commits, read_pruned
from relume.serve.live.judge import Judge
from relume.serve.offline import Analyzer

LIVES_ON = 8
"""Moves after the one in which it died: what was lost or comes twice shows by then."""
ROTATES_AT = 6 << 10
"""Bytes after which the lake's journal begins a new file here: it should happen, too."""
Said = tuple[str, int, str, bool, str | None, tuple[str, ...]]


@dataclass(slots=True)
class Told:
    """What became of deaths.

    `lost_commits` and `lost_advice` were acknowledged and are not there; `lost_lines` and
    `doubled_lines` are lines of logs; `unlike` are endings with other Advice than without a death,
    or than a replay gives; `failures` says in words what went wrong, at most a few.
    """

    deaths: dict[str, int] = field(default_factory=dict)
    calls: int = 0
    lost_commits: int = 0
    lost_advice: int = 0
    doubled_advice: int = 0
    lost_lines: int = 0
    doubled_lines: int = 0
    unlike: int = 0
    failures: list[str] = field(default_factory=list)

    def add(self, other: Told) -> None:
        """Add what became of others."""
        for kind, count in other.deaths.items():
            self.deaths[kind] = self.deaths.get(kind, 0) + count
        self.calls = max(self.calls, other.calls)
        for name in NUMBERS:
            setattr(self, name, getattr(self, name) + getattr(other, name))
        self.failures = [*self.failures, *other.failures][:20]


NUMBERS = (
    *("lost_commits", "lost_advice", "doubled_advice", "lost_lines", "doubled_lines", "unlike"),
)


class Stage:
    """A folder with a world and a service, and the points that a run in it recorded."""

    def __init__(self, folder: Path, analyzer: Analyzer, *, torn: int, seed: int) -> None:
        self.folder, self._analyzer = folder, analyzer
        self.data, logs = folder / "data", folder / "logs"
        self.data.mkdir(parents=True)
        logs.mkdir()
        self.world = World(logs)
        self.moves = story(seed)
        self.points: list[Point] = []
        self._seen: set[bytes] = set()
        self._torn, self._seed = torn, seed
        self._worlds: list[Moment] = []
        self.calls = 0
        self._commits: dict[int, tuple[int, int]] = {}
        self._said: list[list[Said]] = []
        self._landed: dict[str, list[bytes]] = {}
        self._lines: list[dict[str, int]] = []

    def record(self) -> None:
        """Live the story once, and keep every disk on the way."""
        draw = random.Random(self._seed)
        recorder = Recorder(self.data, self._take, draw, torn=self._torn)
        service = Service(self.data, self.world, self._analyzer)
        with patch.object(lake_journal, "FILE_BYTES", ROTATES_AT):
            service.start()
            noting = patch.object(LakeWriter, "append", self._note(LakeWriter.append))
            with noting, recorder.watching():
                for number, move in enumerate(self.moves):
                    move.change(self.world)
                    self._worlds.append(self.world.kept())
                    recorder.move = number
                    move.act(service)
                    self._said.append(_said(service.advice()))
                    self._lines.append({name: len(one) for name, one in self._landed.items()})
        self.calls = recorder.calls
        self._commits = _commits(service.lake)
        service.let_go()

    def _take(self, point: Point) -> None:
        """Keep a point whose disk differs from all others at this place of the story."""
        digest = sha256(f"{point.move} {point.commits} {point.advice}".encode())
        for name, data in sorted(point.image.items()):
            digest.update(f"\n{name} {-1 if data is None else len(data)}\n".encode())
            digest.update(data or b"")
        if digest.digest() not in self._seen:
            self._seen.add(digest.digest())
            self.points.append(point)

    def drawn(self, limit: int | None = None) -> list[Point]:
        """Return the points in a drawn order, `limit` of them at most."""
        return random.Random(self._seed).sample(self.points, len(self.points))[:limit]

    def die(self, point: Point) -> Told:
        """Start on the disk of a point, live on, and say what became of it."""
        told = Told(deaths={point.kind: 1}, calls=self.calls)
        self.world.back_to(self._worlds[point.move])
        restore(point.image, self.data)
        service = Service(self.data, self.world, self._analyzer)
        try:
            with patch.object(lake_journal, "FILE_BYTES", ROTATES_AT):
                service.start()
                self._check_acknowledged(service, point, told)
                if self.world.shown:
                    service.tell()
                last = self._live(service, point.move)
            self._check_end(service, last, told)
        except Exception as error:  # noqa: BLE001 - whatever it is, it is what we look for
            told.unlike += 1
            told.failures.append(f"{_words(point)}: {type(error).__name__}: {error}")
        finally:
            service.let_go()
        if told.failures:
            told.failures = [f"{_words(point)}: {one}" for one in told.failures]
        return told

    def _live(self, service: Service, begin: int) -> int:
        """Do the move that was interrupted again, and some that follow; return the last one."""
        last = min(begin + LIVES_ON, len(self.moves) - 1)
        for number in range(begin, last + 1):
            if number > begin:
                self.moves[number].change(self.world)
            self.moves[number].act(service)
        return last

    def _check_acknowledged(self, service: Service, point: Point, told: Told) -> None:
        found = _commits(service.lake)
        for sequence in range(1, point.commits + 1):
            if found.get(sequence) != self._commits.get(sequence):
                told.lost_commits += 1
                told.failures.append(f"commit {sequence} is lost")
        missing = point.advice - len(service.advice())
        if missing > 0:
            told.lost_advice += missing
            told.failures.append(f"{missing} Advice lost")

    def _check_end(self, service: Service, number: int, told: Told) -> None:
        """Compare what was said and landed by the end of a move with the run without a death."""
        advice = service.advice()
        said, wanted = _said(advice), self._said[number]
        told.lost_advice += len(set(wanted) - set(said))
        told.doubled_advice += len(said) - len(set(said)) + len(set(said) - set(wanted))
        if said != wanted:
            told.failures.append(f"other Advice: {said}")
        service.session.flush()
        judge = Judge(self._analyzer, service.options.watch, service.options.zone)
        again: list[Advice] = []
        found = landed_lines(service.lake, lambda landing: again.extend(judge.take(landing)))
        if not read_pruned(service.lake):
            unlike = differences(advice, (one for one in again if one.scope is Scope.ATTEMPT))
            told.unlike += bool(unlike)
            told.failures += unlike
        self._check_lines(found, number, told, is_pruned=read_pruned(service.lake) > 0)

    def _check_lines(
        self, found: dict[str, list[bytes]], number: int, told: Told, *, is_pruned: bool
    ) -> None:
        for attempt, count in self._lines[number].items():
            mine, wanted = found.get(attempt, []), self._landed[attempt][:count]
            if is_pruned:  # something is gone from the front
                wanted = wanted[max(0, len(wanted) - len(mine)) :]
            lost, doubled = Counter(wanted) - Counter(mine), Counter(mine) - Counter(wanted)
            told.lost_lines += lost.total()
            told.doubled_lines += doubled.total()
            if lost or doubled:
                words = f"{lost.total()} lines lost, {doubled.total()} doubled"
                told.failures.append(f"{attempt}, as of move {number}: {words}")

    def _note(self, real: Callable[..., None]) -> Callable[..., None]:
        """Note the lines that land in the run without a death."""

        def append(lake: LakeWriter, landings: Sequence[Landing]) -> None:
            for landing in landings:
                _take_lines(landing, self._landed)
            real(lake, landings)

        return append


def _take_lines(landing: Landing, landed: dict[str, list[bytes]]) -> None:
    if isinstance(landing, LineBatch) and landing.attempt is not None:
        rows = (line for _, line in logical_lines(landing.block.data))
        landed.setdefault(landing.attempt, []).extend(rows)


def landed_lines(
    lake: Path, also: Callable[[Landing], None] = lambda _: None
) -> dict[str, list[bytes]]:
    """Return what landed of each attempt's logs; `also` is told of everything that did."""
    landed: dict[str, list[bytes]] = {}
    for landing in LakeReader(lake).landings():
        also(landing)
        _take_lines(landing, landed)
    return landed


def _said(advice: Sequence[Advice]) -> list[Said]:
    return [
        (
            one.attempt,
            one.generation,
            one.operation.value,
            one.settled,
            one.cause,
            one.exclude_nodes,
        )
        for one in advice
    ]


def _commits(lake: Path) -> dict[int, tuple[int, int]]:
    """Return each commit with when it was made and what it landed."""
    return {one.sequence: (one.committed_at, one.next_landed) for one in read_commits(lake)}


def _words(point: Point) -> str:
    return f"{point.kind} at {point.call}, move {point.move}"


def die_everywhere(
    stage: Stage, points: Sequence[Point], until: Callable[[], bool] = lambda: False
) -> Told:
    """Die at each of some points, in order, until it is enough."""
    told = Told(calls=stage.calls)
    for point in points:
        if until():
            break
        told.add(stage.die(point))
    return told


def deadline(minutes: float) -> Callable[[], bool]:
    """Return what says when so many minutes are over."""
    end = time.monotonic() + 60.0 * minutes
    return lambda: time.monotonic() > end
