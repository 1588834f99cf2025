"""A whole backtest: units in, results on disk."""

from __future__ import annotations

import hashlib
from collections.abc import Collection, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING, Self

from relume import __version__
from relume.advice import Mode
from relume.dataset import AttemptEntry, Origin
from relume.errors import InputError
from relume.ingest.datasets import is_dataset, read_dataset
from relume.ingest.datasets.forms import HEADER_FILE
from relume.ingest.lake import LakeReader
from relume.ingest.lake.about import ORIGIN, ZONE, read_about
from relume.ingest.lake.journal import FOLDER as JOURNAL
from relume.models.templates.history import TemplateHistory
from relume.serve.backtest.engines.record import Record
from relume.serve.backtest.engines.work import HERE, Advance, Engine, Work
from relume.serve.backtest.lakes import is_live, lake_plans
from relume.serve.backtest.live import UNIT, replay_live
from relume.serve.backtest.replay import Look, Note, Replayed, replay_unit
from relume.serve.backtest.results import About, Results, UnitResult, unit_result
from relume.serve.backtest.sources import Planned, Unit
from relume.serve.backtest.units import dataset_plans
from relume.serve.descriptors import allow_many_files
from relume.serve.healthy import LakeHistory
from relume.serve.live.watch import WatchSettings
from relume.serve.offline import Analyzer

if TYPE_CHECKING:
    from relume.settings import Settings

HASH_DIGITS = 16


@dataclass(frozen=True, slots=True, kw_only=True)
class Judging:
    """How attempts are judged: what is compiled once, thresholds and policy.

    `zone` is that of clocks that name none, where the data doesn't say; `progress` are the site's
    own progress patterns, for the record.
    """

    analyzer: Analyzer
    settings: WatchSettings
    zone: str = "UTC"
    progress: tuple[str, ...] = ()

    @classmethod
    def of(
        cls, settings: Settings, rules: Sequence[Path] = (), *, lake: Path | None = None
    ) -> Judging:
        """Return how a configuration judges, with `rules` besides its own; it takes a second.

        Which lines are usual is known from the healthy attempts of `lake`, else of the configured
        one.

        Raises
        ------
        RelumeError
            For rules or patterns that can't be used.
        """
        # A worker, which gets all of this made, does without a tenth of its start.
        from relume.serve.configured import analyzer_of  # noqa: PLC0415
        from relume.serve.live.options import RunnerOptions  # noqa: PLC0415

        return cls(
            analyzer=analyzer_of(settings, rules=rules, lake=lake),
            settings=RunnerOptions.of(settings).watch,
            zone=settings.cluster.timezone,
            progress=tuple(map(str, settings.progress.patterns)),
        )

    def digest(self) -> str:
        """Return a hash of everything that results depend on besides the data."""
        settings = repr(replace(self.settings, mode=Mode.MONITOR))
        rules = self.analyzer.catalogue.content_hash
        parts = (settings, rules, self.zone, repr(self.progress))
        return hashlib.sha256("\x1f".join(parts).encode()).hexdigest()[:HASH_DIGITS]


class Recording:
    """What is replayed: a data set, or a lake with or without labels.

    Parameters
    ----------
    path
        A folder of either kind.
    labels
        A data set whose attempts label those of a lake; null for none.

    Raises
    ------
    RelumeError
        When it can't be read, and for labels of a data set, which has its own.
    """

    def __init__(self, path: Path, labels: Path | None = None) -> None:
        self._from = path.absolute(), None if labels is None else labels.absolute()
        self._dataset = read_dataset(path) if is_dataset(path) else None
        if self._dataset is not None and labels is not None:
            raise InputError(
                f"labels for {path}",
                found="a data set, which has its own",
                expected="a lake",
                hint="leave --labels out",
            )
        self._reader = None if self._dataset is not None else _lake(path)
        source = self._dataset or (read_dataset(labels) if labels is not None else None)
        about = {} if self._reader is None else read_about(path)
        self.name = path.resolve().name if source is None else source.header.name
        # What a service landed is nobody's recording.
        origin = about.get(ORIGIN, Origin.PRODUCTION.value)
        self.origin = Origin(origin) if source is None else source.header.origin
        zone = None if source is None else source.header.timezone
        self.zone = about.get(ZONE, zone)
        self._labels = source
        is_service = self._reader is not None and is_live(self._reader)
        self._live = self._reader if is_service else None

    @property
    def lake(self) -> Path | None:
        """The folder of a lake; null for a data set."""
        return None if self._reader is None else Path(self._reader.folder)

    @property
    def is_live(self) -> bool:
        """Whether a service landed it: then its Advice was heard when it was written."""
        return self._live is not None

    def digest(self, *, labels: bool = True) -> str:
        """Return a hash of the data and its labels, or without them; of a data set its own."""
        if self._dataset is not None:
            return self._dataset.digest(labels=labels)
        digest = hashlib.sha256()
        if self._reader is not None:
            for commit in self._reader.commits():
                digest.update(repr([(one.path, one.crc32) for one in commit.segments]).encode())
        if labels and self._labels is not None:
            digest.update(self._labels.digest().encode())
        return digest.hexdigest()[:HASH_DIGITS]

    def labels(self) -> dict[str, AttemptEntry]:
        """Return the labelled attempts, by their identity."""
        return {} if self._labels is None else {one.attempt: one for one in self._labels.attempts()}

    def __reduce__(self) -> tuple[type[Self], tuple[Path, Path | None]]:
        """Pickle where it is: another process reads it anew, wherever it works."""
        return type(self), self._from

    def replay(  # noqa: PLR0913 - what is replayed how, each by its name
        self,
        judging: Judging,
        results: Results,
        advance: Advance = lambda _done, _total: None,
        *,
        only: Collection[str] | None = None,
        learns: bool = True,
        engine: Engine = HERE,
        note: Note | None = None,
    ) -> None:
        """Replay every unit that `results` doesn't have; of those named `only` where it is given.

        `advance` is told how many units are done, and how many there are. A lake learns what
        healthy attempts print, unless `only` some are replayed or it isn't to (`learns`). The
        results are the same, in the same order, whatever `engine` replays; units that it had to
        give up are in `Results.given_up`. `note` is told all Advice and what becomes of it, unit by
        unit, where all is replayed in this process.

        Raises
        ------
        RelumeError
            When the data can't be read, or the engine can't be had.
        OSError
            When results can't be written.
        """
        allow_many_files()
        if self._live is not None:
            advance(0, 1)
            if UNIT not in results.done:
                results.add(unit_result(*self._replay_live(self._live, judging, note=note)))
            advance(1, 1)
            return
        # What is learned now is for the next time: no result depends on the order of replays.
        may_learn = learns and only is None
        taught = LakeHistory(self.lake) if self.lake is not None and may_learn else None
        about = self.about(judging)
        work = Work(self, judging, about, learns=taught is not None, note=note)
        units = [one for one in self._planned if only is None or one in only]
        record = Record(results, units, advance, None if taught is None else taught.history)
        try:
            record.take(engine.run(work, record.pieces))
        finally:
            if taught is not None:
                taught.close()

    def replay_one(
        self,
        unit: str,
        judging: Judging,
        *,
        teaches: TemplateHistory | None = None,
        note: Note | None = None,
    ) -> UnitResult:
        """Replay the unit of that name; `note` as in `replay`.

        Raises
        ------
        RelumeError
            When the data can't be read.
        """
        planned = self._planned[unit]
        return unit_result(*self._replay_unit(planned, judging, teaches=teaches, note=note))

    def attempts(self) -> list[str]:
        """Return the attempts that it holds.

        Raises
        ------
        RelumeError
            When it can't be read.
        """
        if self._dataset is not None:
            return [one.attempt for one in self._dataset.attempts()]
        return list(self._reader.index().attempts) if self._reader is not None else []

    def observe(
        self, attempt: str, judging: Judging, look: Look
    ) -> tuple[Unit, dict[str, Replayed]]:
        """Replay the unit of an attempt while somebody looks; nothing is kept or learned.

        Raises
        ------
        RelumeError
            When the data can't be read.
        """
        allow_many_files()
        if self._live is not None:
            return self._replay_live(self._live, judging, look)
        planned = next(one for one in self._planned.values() if attempt in one.attempts)
        return self._replay_unit(planned, judging, look=look)

    def _replay_live(
        self,
        lake: LakeReader,
        judging: Judging,
        look: Look | None = None,
        note: Note | None = None,
    ) -> tuple[Unit, dict[str, Replayed]]:
        zone = self.zone or judging.zone
        reader = LakeReader(lake.folder, zone=zone)
        analyzer, settings = judging.analyzer, judging.settings
        return replay_live(reader, analyzer, settings, zone, look=look, note=note)

    def _replay_unit(
        self,
        planned: Planned,
        judging: Judging,
        *,
        teaches: TemplateHistory | None = None,
        look: Look | None = None,
        note: Note | None = None,
    ) -> tuple[Unit, dict[str, Replayed]]:
        unit, zone = planned.make(), self.zone or judging.zone
        analyzer, settings = judging.analyzer, judging.settings
        found = replay_unit(unit, analyzer, settings, zone, teaches=teaches, look=look, note=note)
        return unit, found

    @cached_property
    def _planned(self) -> dict[str, Planned]:
        """Every unit by its name, in the order in which they come."""
        return {one.name: one for one in self.plans()}

    def plans(self) -> list[Planned]:
        """Return the units, each put together when it is replayed.

        Raises
        ------
        RelumeError
            When the data can't be read.
        """
        if self._dataset is not None:
            return dataset_plans(self._dataset)
        return lake_plans(self._reader) if self._reader is not None else []

    def about(self, judging: Judging) -> About:
        """Return what results of a replay are of."""
        return About(
            data=self.name,
            digest=self.digest(labels=False),
            settings=judging.digest(),
            version=__version__,
        )


def _lake(path: Path) -> LakeReader:
    reader = LakeReader(path)
    if not (path / JOURNAL).is_dir():
        raise InputError(
            f"backtest of {path}",
            found="neither a data set nor a lake",
            expected=f"a folder with {HEADER_FILE}, or one that serve or lake import wrote",
            hint="docs/formats/dataset.md shows a data set",
        )
    return reader
