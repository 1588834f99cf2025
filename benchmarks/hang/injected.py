"""Hangs at known lines of recorded runs, at paces from half a second to two and a half minutes."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field, replace
from random import Random
from statistics import fmean

from relume.benchmarks.hang.play import Play, Played, play
from relume.benchmarks.hang.recordings import WARM_UP, Run, families
from relume.models.family.attempt import AttemptGaps
from relume.serve.live.watch import WatchSettings
from relume.serve.offline import Analyzer

SEED = 20261102
PACES = (0.5, 2.0, 8.0, 30.0, 75.0, 150.0)
"""Seconds from steps to the next ones to which each run is played."""
LEAST_SILENT_SECONDS = 7200.0
SILENT_GAPS = 40.0
"""How long a hang is recorded, at least, and in usual gaps."""
SIGN_SECONDS = 5.0, 90.0
"""When another source begins to see the hang."""
PAUSE_SECONDS = 1800.0
PAUSE_SPREAD = 0.1
"""How much longer or shorter than half an hour a pause may be."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Found:
    """What was said of one injected hang. Seconds from the last steps; null was never said.

    Attributes
    ----------
    gap_seconds, longest_seconds
        The expected gap, the mean of those that the attempt had shown in that phase; and the
        longest one of all, of it and its family.
    sign_seconds
        When another source began to see it; null for none.
    early
        Whether it was called hung before it was.
    trained_seconds
        From its first steps to the last ones.
    """

    gap_seconds: float
    longest_seconds: float
    suspected: float | None
    acted: float | None
    sign_seconds: float | None = None
    early: bool = False
    trained_seconds: int = 0


@dataclass(frozen=True, slots=True)
class Pauses:
    """How many long pauses had been seen before, and how many of them were called a hang."""

    seen: int
    acted: int


@dataclass(slots=True)
class Injections:
    """Plays recorded runs that hang, and some that don't; remembers what whole runs leave."""

    runs: Sequence[Run]
    analyzer: Analyzer
    settings: WatchSettings
    _whole: dict[Play, Played] = field(default_factory=dict)

    def cold(self, cuts: int) -> list[Found]:
        """Return what is said of hanging attempts of which nothing is known beforehand."""
        return [self._found(one) for one in self._cut(self.runs, cuts)]

    def known(self, cuts: int) -> list[Found]:
        """Return what is said of the same when the other runs of the family came before."""
        return [
            self._found(one, [self._before(other, one) for other in others])
            for run, others in self._relatives()
            for one in self._cut([run], cuts)
        ]

    def signed(self, cuts: int) -> list[Found]:
        """Return what is said of hangs of which nothing is known, but another source agrees."""
        draws = Random(f"{SEED}/signs")
        return [
            self._found(replace(one, sign_seconds=draws.uniform(*SIGN_SECONDS)))
            for one in self._cut(self.runs, cuts)
        ]

    def with_metrics(self, cuts: int) -> list[Found]:
        """Return what is said of the same hangs as `cold` where the nodes are measured, too."""
        return [self._found(replace(one, has_metrics=True)) for one in self._cut(self.runs, cuts)]

    def startups(self) -> list[Found]:
        """Return what is said of attempts that never come to a first step, after others that did.

        Their `longest_seconds` is the longest start-up of the family.
        """
        found = []
        for run, others in self._relatives():
            one = Play(run=run, cut=-1, silent_seconds=LEAST_SILENT_SECONDS)
            before = [self._before(other, one) for other in others]
            longest = max(other.seconds_of(0) for other in before)
            found.append(replace(self._found(one, before), longest_seconds=longest))
        return found

    def unread(self) -> int:
        """Return how often a job whose log can't be read any more is called hung."""
        broken = (replace(one, breaks_pipe=True) for one in self._cut(self.runs, 1))
        return sum(bool(self._played(one).acted) for one in broken)

    def pauses(self) -> Pauses:
        """Return what is said of pauses of half an hour that were seen before.

        By the attempt itself (its second and third one), or by its family (all three).
        """
        seen = acted = 0
        for run in self.runs:
            one = _with_pauses(run, "own")
            first = one.seconds_of(one.pauses[0][0] + 1)
            seen += len(one.pauses) - 1
            acted += _ends(second for second in self._played(one).acted if second > first)
        for run, others in self._relatives():
            one = _with_pauses(run, "family")
            before = [_with_pauses(other, "family") for other in others]
            seen += len(one.pauses)
            acted += _ends(self._played(one, before).acted)
        return Pauses(seen, acted)

    def _relatives(self) -> Iterator[tuple[Run, list[Run]]]:
        """Yield runs that have others of their family, with these."""
        for members in families(self.runs).values():
            for run in members if len(members) > 1 else ():
                yield run, [one for one in members if one is not run]

    def _cut(self, runs: Sequence[Run], cuts: int) -> Iterator[Play]:
        for run in runs:
            for pace in PACES:
                draws = Random(f"{SEED}/{run.name}/{pace}")
                for _ in range(cuts):
                    yield Play(
                        run=run,
                        speed=pace / run.gap_seconds,
                        cut=draws.randint(WARM_UP, len(run.steps) - 2),
                        silent_seconds=max(LEAST_SILENT_SECONDS, SILENT_GAPS * pace),
                    )

    def _before(self, run: Run, one: Play) -> Play:
        """Return a whole run at the pace of another one."""
        return Play(run=run, speed=one.speed * one.run.gap_seconds / run.gap_seconds)

    def _found(self, one: Play, before: Sequence[Play] = ()) -> Found:
        played, onset, gaps = self._played(one, before), one.onset, one.gaps_like_this()
        longest = max((gap for play in (one, *before) for gap in play.gaps()), default=0)
        return Found(
            gap_seconds=fmean(gaps) if gaps else 0.0,
            longest_seconds=longest,
            suspected=_first((*played.suspected, *played.acted), onset),
            acted=_first(played.acted, onset),
            sign_seconds=one.sign_seconds,
            early=any(second <= onset for second in played.acted),
            trained_seconds=0 if one.cut == -1 else onset - one.seconds_of(0),
        )

    def _played(self, one: Play, before: Sequence[Play] = ()) -> Played:
        left = []
        for number, other in enumerate(before):
            if other not in self._whole:
                self._whole[other] = play(other, self.analyzer, self.settings)
            whole = self._whole[other].left
            left += [] if whole is None else [_as_member(whole, number)]
        return play(one, self.analyzer, self.settings, left)


def _with_pauses(run: Run, why: str) -> Play:
    draws = Random(f"{SEED}/{run.name}/{why}")
    # In one phase, so that a later one is of the same kind as those before.
    phase = Counter(run.phases[WARM_UP:-1]).most_common(1)[0][0]
    alike = [place for place, one in enumerate(run.phases[:-1]) if one == phase]
    places = sorted(draws.sample(alike[-max(3, len(alike) - WARM_UP) :], 3))
    lasting = (PAUSE_SECONDS * draws.uniform(1 - PAUSE_SPREAD, 1 + PAUSE_SPREAD) for _ in places)
    return Play(run=run, pauses=tuple(zip(places, lasting, strict=True)))


def _as_member(left: AttemptGaps, number: int) -> AttemptGaps:
    """Return what an attempt left as one of several tries of the job that came before."""
    return replace(left, attempt=f"{left.job}.{number}", known_at=number)


def _first(seconds: Sequence[int], onset: int) -> float | None:
    return min((second - onset for second in seconds if second > onset), default=None)


def _ends(seconds: Iterator[int] | Sequence[int]) -> int:
    """How many hangs were claimed, where each is told twice: at once, and settled."""
    times = sorted(seconds)
    return sum(
        not place or second - times[place - 1] > PAUSE_SECONDS / 2
        for place, second in enumerate(times)
    )
