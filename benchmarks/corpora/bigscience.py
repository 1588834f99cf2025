"""BigScience: logs of training runs on 4 to 64 nodes, none ended by an infrastructure failure."""

from __future__ import annotations

import re
from pathlib import Path

from relume.benchmarks.corpora.common import attempt_name, find_files, nodes_in_name
from relume.dataset import AttemptEntry, DatasetHeader, LogFile
from relume.ingest.datasets import Dataset, write_dataset

FOLDER = "bigscience"
_JOB_ID = re.compile(r"-(\d{6,8})\.out$")
_STATES = {
    # Labels by the README's list of tails.
    "1999616": "TIMEOUT",
    "1999618": "TIMEOUT",
    "1809655": "TIMEOUT",
    "1809562": "CANCELLED",
    "1809577": "CANCELLED",
    "1809579": "CANCELLED",
    "1809620": "CANCELLED",
}


def load(data: Path) -> list[Path]:
    """Return the logs of training runs, in order.

    The bandwidth tests are none, and the diaries are prose.
    """
    return find_files(data, FOLDER, "experiments/gpt2-*/*.out")


def write(data: Path, out: Path) -> Dataset:
    """Write the runs as a data set of healthy attempts.

    A time limit and a user who cancelled are no incidents; the states of those jobs are the
    README's, those of the others are not known.
    """
    header = DatasetHeader(
        name=FOLDER,
        description=(
            "GPT-2 runs on 4 to 64 nodes of V100. Labels: the README's. The zone of the clocks is "
            "not stated."
        ),
    )
    return write_dataset(
        out, header, (_entry(path, number) for number, path in enumerate(load(data), start=1))
    )


def _entry(path: Path, number: int) -> AttemptEntry:
    found = _JOB_ID.search(path.name)
    return AttemptEntry(
        attempt=attempt_name(FOLDER, found[1] if found else number),
        name=f"{path.parent.name}/{path.stem}",
        num_nodes=nodes_in_name(path.stem),
        state=_STATES.get(found[1]) if found else None,
        files=(LogFile(path=str(path.absolute())),),
        incidents=(),
    )
