"""One attempt as a scan sees it, and attempts judged by what a service would have said of them."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from pathlib import Path

from relume.advice import Advice, Operation
from relume.dataset import AttemptEntry
from relume.ingest.lake import LakeReader
from relume.ingest.lake.about import zone_of_lake
from relume.models.diagnosis.scheduler import FAILED_STATES
from relume.models.policy.fingerprint import known_fingerprint
from relume.serve.backtest.lakes import is_live, lake_units
from relume.serve.backtest.live import replay_live
from relume.serve.backtest.replay import Replayed, replay_unit
from relume.serve.backtest.sources import AttemptSource, Unit
from relume.serve.live.history import RunKey
from relume.serve.live.watch import WatchSettings
from relume.serve.offline import Analyzer
from relume.verdict import Domain, Verdict


@dataclass(frozen=True, slots=True, kw_only=True)
class Scanned:
    """One attempt: what accounting says, what its logs say, what would have been advised.

    Attributes
    ----------
    entry
        What accounting says.
    run
        Whose try it is.
    verdict
        Null when there was nothing to judge: neither a log nor a state.
    advice
        The newest Advice that the service would have written while something could be done; null
        when it would have kept quiet.
    start, end
        When it ran, by accounting or by the clocks of its logs (UTC microseconds); null without.
    first_step, last_step
        The steps that its logs show; null without any.
    logs, missing
        The logs that were read, and what should have been read and wasn't, with the reason.
    skipped
        What was left out of the logs, by reason.
    """

    entry: AttemptEntry
    run: RunKey
    verdict: Verdict | None
    advice: Advice | None = None
    start: int | None = None
    end: int | None = None
    first_step: int | None = None
    last_step: int | None = None
    logs: tuple[str, ...] = ()
    missing: tuple[str, ...] = ()
    skipped: Mapping[str, int] = field(default_factory=dict)

    @property
    def is_finding(self) -> bool:
        """Whether it failed, by Slurm's word or by the verdict; limits and preemptions are none."""
        verdict = self.verdict
        if self.entry.state in FAILED_STATES:
            return True
        is_failure = verdict is not None and verdict.kind.is_failure
        return is_failure and verdict is not None and verdict.domain is not Domain.SCHEDULER

    @property
    def fingerprint(self) -> str | None:
        """Which failure it was; null for none, and for one of which nothing is known but that."""
        is_told = self.is_finding and self.verdict is not None
        return known_fingerprint(self.verdict) if is_told and self.verdict else None


def scan_units(
    units: Iterable[Unit], analyzer: Analyzer, settings: WatchSettings, zone: str = "UTC"
) -> Iterator[Scanned]:
    """Yield every attempt of `units`, judged; attempts of one unit in the unit's order.

    Each unit is replayed by its own clocks through the judge of the live service, so what is
    advised here is what would have been advised then. Holds one unit.
    """
    for unit in units:
        replayed = replay_unit(unit, analyzer, settings, zone)
        for source in unit.attempts:
            yield _scanned(source, replayed[source.entry.attempt])


def scan_lake(
    folder: Path, analyzer: Analyzer, settings: WatchSettings, zone: str = "UTC"
) -> Iterator[Scanned]:
    """Yield every attempt of a lake, judged: recordings by their clocks, a service's as landed.

    `zone` is that of clocks that name none, where the lake doesn't say itself.

    Raises
    ------
    LakeError
        When the lake can't be read.
    """
    zone = zone_of_lake(folder, zone)
    reader = LakeReader(folder, zone=zone)
    if not is_live(reader):
        yield from scan_units(lake_units(reader), analyzer, settings, zone)
        return
    unit, replayed = replay_live(reader, analyzer, settings, zone)
    for source in unit.attempts:
        yield _scanned(source, replayed[source.entry.attempt])


def _scanned(source: AttemptSource, found: Replayed) -> Scanned:
    start, end = found.extent.span
    return Scanned(
        entry=source.entry,
        run=source.run,
        verdict=found.told(source.entry.state),
        advice=_advice(source.entry, found),
        start=start,
        end=end,
        first_step=found.first_step,
        last_step=found.last_step,
        logs=tuple(log.name for log in source.logs) or _files(found),
        missing=found.missing(source),
        skipped=source.skipped,
    )


def _advice(entry: AttemptEntry, found: Replayed) -> Advice | None:
    """Return the newest Advice; where that only says that it ended, the one from before."""
    told = [finding.advice for finding in found.decisions]
    while (
        len(told) > 1
        and told[-1].operation is Operation.OBSERVE
        and entry.end is not None
        and told[-1].created_at >= entry.end
    ):
        told.pop()
    return told[-1] if told else None


def _files(found: Replayed) -> tuple[str, ...]:
    """The logs of which lines were read, where nobody listed them beforehand."""
    return () if found.verdict is None else found.verdict.files
