"""One unit through the judge of the live service, second by second."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass, field

from relume.advice import Advice, Scope
from relume.clock import MICROSECONDS_PER_SECOND
from relume.events import Tick
from relume.ingest.lake.batches import Landing, LineBatch
from relume.ingest.lake.samplebatches import SampleBatch
from relume.models.diagnosis.scheduler import COMPLETED
from relume.models.policy.rules import SUSPECTED_HANG_RULE
from relume.models.straggler.windows import Window
from relume.models.templates.history import TemplateHistory
from relume.models.worth.outcomes import STEPS_TO_REFUTE
from relume.serve.backtest.attempt import Extent
from relume.serve.backtest.logs import SOURCE, Timed
from relume.serve.backtest.sources import AttemptSource, Unit
from relume.serve.backtest.steps import StepRecord
from relume.serve.backtest.timeline import split_at, unit_landings
from relume.serve.backtest.together import Beside
from relume.serve.live.aftermath import Told
from relume.serve.live.judge import BLIND_SECONDS, LINGER_SECONDS, Judge
from relume.serve.live.watch import AttemptWatch, WatchSettings
from relume.serve.offline import Analyzer
from relume.verdict import Kind, Verdict

TICK = MICROSECONDS_PER_SECOND
MAX_TICK = int(BLIND_SECONDS) * TICK
"""Ticks further apart would say that nobody looked."""
MAX_SILENCE = 2 * 24 * 3600 * MICROSECONDS_PER_SECOND
"""How long the clock goes on without a landing. Whatever hangs was found long before; a line whose
clock is years ahead must not cost years of seconds. The judge then takes that nobody looked."""


Look = Callable[[Judge, Landing], None]
"""Looks at a judge before it takes a landing, and changes nothing."""
Note = Callable[[Advice | Told], object]
"""Is told Advice and what becomes of it, in order, as a service writes it into its ledger."""


@dataclass(frozen=True, slots=True)
class Finding:
    """Advice, and the verdict from which it was made."""

    advice: Advice
    verdict: Verdict | None

    @property
    def is_suspicion(self) -> bool:
        """Whether it only asks for a closer look at a silence."""
        return self.advice.rule == SUSPECTED_HANG_RULE


@dataclass(slots=True)
class Replayed:
    """What came of one attempt of a unit.

    `wider` is what was advised by its failure about a node, or about the cluster.
    `verdict` is that on everything seen, null for an attempt that was never looked at; steps are
    null where none were shown. `windows` are those in which slow steps would have been seen,
    `steps` has the times of all. `resumed` says when the attempt had shown `STEPS_TO_REFUTE` new
    steps after an alarm about a hang, by the Advice's id; without an entry it never did.
    """

    extent: Extent = field(default_factory=Extent)
    findings: list[Finding] = field(default_factory=list)
    wider: list[Advice] = field(default_factory=list)
    verdict: Verdict | None = None
    first_step: int | None = None
    last_step: int | None = None
    windows: list[Window] = field(default_factory=list)
    steps: StepRecord = field(default_factory=StepRecord)
    resumed: dict[str, int] = field(default_factory=dict)

    @property
    def decisions(self) -> list[Finding]:
        """The findings that claim something."""
        return [one for one in self.findings if not one.is_suspicion]

    def told(self, state: str | None) -> Verdict | None:
        """Return the verdict behind the last Advice about a failure, else that on everything.

        A hang is known by the silence while the attempt ran; its whole log only shows that somebody
        ended it. Whoever ended well (`state` is Slurm's word) got over what was said before.
        """
        told = self.decisions[-1].verdict if self.decisions else None
        if state != COMPLETED and told is not None and told.kind.is_failure:
            return told
        return self.verdict

    def missing(self, source: AttemptSource) -> tuple[str, ...]:
        """What of the attempt's logs could not be used, and why; known before the replay, or not.

        An attempt that was never opened has only the former.
        """
        return tuple(self.extent.missing) or source.missing


class Findings:
    """Takes landings into a judge, and notes what comes of each attempt.

    Attributes
    ----------
    judge
        Who takes them.
    results
        What came of each attempt so far, by attempt.
    """

    def __init__(  # noqa: PLR0913 - what is judged how, each by its name
        self,
        analyzer: Analyzer,
        settings: WatchSettings,
        zone: str,
        *,
        teaches: TemplateHistory | None = None,
        look: Look | None = None,
        note: Note | None = None,
        beside: Beside = lambda _: 0,
    ) -> None:
        self._look, self._note = look, note
        self.judge = Judge(
            analyzer, settings, zone, retired=self._over, teaches=teaches, beside=beside
        )
        self.results: defaultdict[str, Replayed] = defaultdict(Replayed)
        self._hangs: dict[str, list[tuple[str, int]]] = {}

    def take(self, landing: Landing) -> None:
        """Take one landing, in order."""
        if self._look is not None:
            self._look(self.judge, landing)
        made = self.judge.take(landing)
        if self._note is not None:
            for one in (*made, *self.judge.told):
                self._note(one)
        for advice in made:
            if advice.scope is not Scope.ATTEMPT:
                self.results[advice.attempt].wider.append(advice)
                continue
            watch, result = self.judge.watches.get(advice.attempt), self.results[advice.attempt]
            verdict = result.verdict if watch is None else watch.shown_verdict()
            finding = Finding(advice, verdict)
            result.findings.append(finding)
            if watch is not None and advice.kind is Kind.HANG and not finding.is_suspicion:
                alarms = self._hangs.setdefault(advice.attempt, [])
                alarms.append((advice.advice_id, watch.progress.new_steps))
        if isinstance(landing, LineBatch) and landing.attempt is not None:
            self._note_steps(landing.attempt, landing.observed_at)

    def _note_steps(self, attempt: str, at: int | None) -> None:
        """Note the steps in lines that landed `at`, and whether they refute a hang."""
        watch = self.judge.watches.get(attempt)
        if watch is None or at is None:
            return
        result = self.results[attempt]
        result.steps.note(watch.progress, at)
        open_alarms = self._hangs.get(attempt)
        if not open_alarms:
            return
        enough = watch.progress.new_steps - STEPS_TO_REFUTE
        result.resumed |= {name: at for name, before in open_alarms if before <= enough}
        self._hangs[attempt] = [one for one in open_alarms if one[1] > enough]

    def finish(self) -> dict[str, Replayed]:
        """Return the results, when the recording has ended; some may still be running."""
        for watch in self.judge.watches.values():
            if self.judge.teaches is not None:
                watch.teach(self.judge.teaches)
            self._over(watch)
        return self.results

    def _over(self, watch: AttemptWatch) -> None:
        result = self.results[watch.name]
        result.verdict = watch.full_verdict()
        result.first_step, result.last_step = watch.steps
        pace = watch.detectors[1]
        result.windows = [] if pace is None else pace.windows.all
        self._hangs.pop(watch.name, None)


def replay_unit(  # noqa: PLR0913 - what is replayed how, each by its name
    unit: Unit,
    analyzer: Analyzer,
    settings: WatchSettings,
    zone: str,
    *,
    teaches: TemplateHistory | None = None,
    look: Look | None = None,
    note: Note | None = None,
) -> dict[str, Replayed]:
    """Replay a unit and return what came of each of its attempts, by attempt.

    Attempts that ended well teach `teaches` what they printed, which changes nothing here;
    `look` looks at the judge before each landing, `note` is told what comes of it.
    Holds what a live service holds of the attempts that run at the same time, and a block of each
    of their logs.
    """
    found = Findings(
        analyzer, settings, zone, teaches=teaches, look=look, note=note, beside=unit.beside
    )
    names = [source.entry.attempt for source in unit.attempts]
    extents = {name: found.results[name].extent for name in names}
    cluster = unit.attempts[0].run.cluster
    for landing in ticked(unit_landings(unit, zone, extents), found.judge, cluster):
        found.take(landing)
    return found.finish()


def ticked(timed: Iterable[Timed], judge: Judge, cluster: str) -> Iterator[Landing]:
    """Yield landings with a tick after each whole second in which an attempt is watched.

    A tick tells that all before it have landed, so it comes after those of its own time. While
    nothing can change but the time (`Judge.next_change`), ticks are as far apart as they may be.
    After the last landing the clock goes on until nothing is watched any more, `LINGER_SECONDS` at
    most.

    Parameters
    ----------
    timed
        Landings in the order of their times.
    judge
        Who takes them.
    cluster
        Whose clock it is.
    """
    following = now = 0
    for first, landed in timed:
        time, landing, rest = first, landed, None
        while True:
            end = min(time, now + MAX_SILENCE)
            while judge.watches and following < end:
                yield _tick(following, cluster)
                following = min(_next(judge, following), max(following + TICK, _whole(time)))
            if not judge.watches or end < time:
                following = _whole(time)
            now = time
            if isinstance(landing, SampleBatch):  # what comes before the next tick goes together
                landing, rest = split_at(landing, following)
                now = int(landing.event_time[-1])
            yield landing
            if rest is None:
                break
            time, landing = int(rest.event_time[0]), rest
    end = now + int(LINGER_SECONDS * TICK)
    while judge.watches and following <= end:
        yield _tick(following, cluster)
        following += TICK


def _next(judge: Judge, now: int) -> int:
    """When the next tick is due after the one of `now`."""
    change = judge.next_change(now)
    far = now + MAX_TICK
    if change is not None:
        far = min(far, change // TICK * TICK)
    return max(far, now + TICK)


def _tick(time: int, cluster: str) -> Tick:
    return Tick(event_time=time, observed_at=time, cluster=cluster, source=SOURCE)


def _whole(time: int) -> int:
    """The first whole second at or after a time."""
    return -(-time // TICK) * TICK
