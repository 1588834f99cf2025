"""What a live run works with, the same for all of its parts."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

from relume.clock import Clock
from relume.serve.ledger import Ledger
from relume.serve.live.metrics import RunnerMetrics
from relume.serve.live.options import RunnerOptions
from relume.serve.offline import Analyzer


@dataclass(frozen=True, slots=True, kw_only=True)
class Surroundings:
    """The lake's folder, the open ledger, and so on.

    Attributes
    ----------
    lake
        Folder of the lake; one live run at a time.
    ledger
        Where attempts and Advice go.
    options
        What is read, and how it is decided.
    analyzer
        Compiled rules.
    clock
        Dates what is read.
    metrics
        Counts.
    """

    lake: Path
    ledger: Ledger
    options: RunnerOptions
    analyzer: Analyzer
    clock: Clock
    metrics: RunnerMetrics
