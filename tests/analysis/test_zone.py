"""A lake whose clocks are of another zone than those who read it."""

from __future__ import annotations

from pathlib import Path

from recording import SECOND, START, entry, logged, steps
from relume.analysis.attempts import attempts
from relume.analysis.progress import progress
from relume.clock import from_datetime
from relume.dataset import DatasetHeader
from relume.ingest.datasets import write_dataset
from relume.ingest.importing import facts_of, import_units, units_of
from relume.ingest.lake import LakeWriter
from relume.ingest.lake.about import note_about


def test_progress_and_attempts_are_of_one_time(tmp_path: Path) -> None:
    log = logged(tmp_path, "7.out", steps(30, start=START + 3600 * SECOND))
    made = entry(files=(log,), state="COMPLETED", exit_code=0)
    write_dataset(tmp_path, DatasetHeader(name="winter", timezone="Europe/Berlin"), [made])
    with LakeWriter(tmp_path / "lake") as lake:
        note_about(lake, facts_of(tmp_path, "UTC"))
        import_units(lake, units_of([tmp_path]))
    [start] = attempts(tmp_path / "lake")["start"].to_list()
    first = progress(tmp_path / "lake", made.attempt)["event_time"].to_list()[0]
    assert from_datetime(first) == START + SECOND
    assert from_datetime(start) == START + 2 * SECOND  # read in the second after it
