"""The pace of recorded runs: how step times vary by themselves, for slowdowns to be put into."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np

from relume.benchmarks.corpora import healthy
from relume.benchmarks.false_alarms.plans import generator
from relume.ingest.attempts import JOB, find_attempts
from relume.ingest.loglines import LineParser
from relume.ingest.opening import read_blocks
from relume.ingest.skips import SkipCounts
from relume.models.straggler.settings import StragglerSettings
from relume.models.straggler.steps import Printer, StepTime
from relume.serve.offline import Analyzer

if TYPE_CHECKING:
    from numpy.typing import NDArray

LEAST = 40
"""Undisturbed step times that a recording needs: fewer don't show how they vary."""
WARM_UP = StragglerSettings().warm_up
BLOCK = 10
"""Steps that stay together when a recording is made longer: what hangs together in time stays so
for as long."""


@dataclass(frozen=True, slots=True, eq=False)
class Recording:
    """How the steps of a healthy run varied.

    Attributes
    ----------
    name
        The group of the recording, its number, and the format of its lines.
    relative
        Step times over their median, in order.
    """

    name: str
    relative: NDArray[np.float64]

    @property
    def spread(self) -> float:
        """Their standard deviation, by the median deviation."""
        return float(1.4826 * np.median(np.abs(self.relative - 1.0)))

    def longer(self, count: int, *words: int) -> NDArray[np.float64]:
        """Return `count` step times made of blocks of the recording, drawn by `words`."""
        draws = generator(*words)
        starts = draws.integers(0, len(self.relative) - BLOCK + 1, -(-count // BLOCK))
        places = (starts[:, None] + np.arange(BLOCK)).ravel()[:count]
        return np.asarray(self.relative[places], np.float64)


def load(data: Path) -> list[Recording]:
    """Read the pace of every healthy log that shows enough of it, by the printer that tells most.

    Raises
    ------
    InputError
        When the recordings aren't there.
    """
    analyzer = Analyzer()
    found: list[Recording] = []
    for log in healthy.load(data).logs:
        if log.lines is None:
            paces = [one for one in _paces(analyzer, log.path) if len(one[1]) >= LEAST]
            if paces:
                form, steps = max(paces, key=lambda one: one[1][-1].trust)
                values = np.array([step.value for step in steps])
                name = f"{log.group} {len(found) + 1}, {form}"
                found.append(Recording(name, values / np.median(values)))
    return found


def _paces(analyzer: Analyzer, path: Path) -> Iterator[tuple[str, list[StepTime]]]:
    """Yield the format and the step times of each printer of a log.

    Without those of the warm-up, and without disturbed ones.
    """
    by_printer: dict[Printer, list[StepTime]] = {}
    for attempt in find_attempts([path]):
        analysis = analyzer.begin(attempt.name, ())
        analysis.progress.step_times()
        for source in attempt.files:
            if source.form != JOB:
                continue
            parser = LineParser(str(source.path), stream=source.form)
            for block in read_blocks(source.path, skipped=SkipCounts()):
                analysis.feed(block, parser)
                for printer, step in analysis.progress.step_times():
                    by_printer.setdefault(printer, []).append(step)
    for printer, steps in by_printer.items():
        steady = [step for step in steps[WARM_UP:] if not step.disturbed]
        yield printer.format, steady
