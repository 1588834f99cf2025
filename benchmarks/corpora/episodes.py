"""The generated failures of bench `episodes` as a data set: to look at, and to replay.

Every episode has a folder of its own below `logs`, which `relume diagnose` reads as it is: the
job's files, logs of the system beside, and the accounting row where there is one.
"""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

from relume.benchmarks.corpora.common import LOGS, attempt_name
from relume.benchmarks.episodes.generate import PER_STORY, SEED, Episode, episodes
from relume.benchmarks.episodes.label import Label
from relume.dataset import AttemptEntry, DatasetHeader, Incident, LogFile, Origin
from relume.ingest.datasets import Dataset, write_dataset
from relume.verdict import Domain, Kind

ACCOUNTING = "sacct.txt"
"""No log: read by `relume diagnose`, not by a replay."""


def write(data: Path | None, out: Path) -> Dataset:
    """Write all episodes as a data set in the folder `out`; `data` is not used.

    Raises
    ------
    InputError
        When `out` is a data set already, or can't be written.
    """
    del data
    header = DatasetHeader(
        name="episodes",
        origin=Origin.SIMULATED,
        description=(
            f"Generated failures of many ranks, {PER_STORY} of each story, seed {SEED}. Half of "
            "them look as no rule was written for. Labels: what their lines can tell."
        ),
    )
    entries = (_entry(episode, n, out) for n, episode in enumerate(episodes(), start=1))
    return write_dataset(out, header, entries)


def _entry(episode: Episode, number: int, out: Path) -> AttemptEntry:
    label = episode.label
    folder = Path(LOGS) / label.episode
    episode.write(out / folder)
    attempt = attempt_name("episodes", number)
    names = sorted(name for name in episode.files if name != ACCOUNTING)
    return AttemptEntry(
        attempt=attempt,
        name=label.episode,
        num_nodes=label.nodes,
        files=tuple(LogFile(path=(folder / name).as_posix()) for name in names),
        incidents=tuple(_incidents(label, attempt)),
    )


def _incidents(label: Label, attempt: str) -> Iterator[Incident]:
    """What the scheduler or a person ended is no incident (`docs/formats/dataset.md`)."""
    domain = Domain(label.domains[0])
    if domain is Domain.SCHEDULER:
        return
    yield Incident(
        incident_id=label.episode,
        attempt=attempt,
        kind=Kind(label.kinds[0]),
        domain=None if domain is Domain.UNKNOWN else domain,
        culprit_nodes=() if label.node is None else (label.node,),
        culprit_ranks=() if label.rank is None else (label.rank,),
        label_source="generated",
        watchdog={"hang", "crash"} <= set(label.kinds),
    )
