from __future__ import annotations

from pathlib import Path

from recording import SECOND, START, entry, judging, logged, recorded, steps
from relume.ingest.datasets import read_dataset
from relume.serve.backtest.units import dataset_units
from relume.serve.scan.scanned import scan_units


def test_what_could_not_be_used_of_a_log_is_told(tmp_path: Path) -> None:
    """It was there when the scan began."""
    old = logged(tmp_path, "1.out", steps(60, start=START - 7200 * SECOND))
    gone = logged(tmp_path, "2.out", steps(60))
    times = {"start": START, "end": START + 61 * SECOND}
    recorded(tmp_path, entry(1, files=(old,), **times), entry(2, files=(gone,), **times))
    units = list(dataset_units(read_dataset(tmp_path)))
    (tmp_path / "2.out").unlink()
    found = scan_units(units, judging().analyzer, judging().settings)
    words = ["its clocks begin before the attempt", "2.out"]
    for one, word in zip(found, words, strict=True):
        assert word in " ".join(one.missing)
