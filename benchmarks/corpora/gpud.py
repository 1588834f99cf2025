"""gpud: kernel logs of GPU nodes from a project's test data. What they say is all that is known."""

from __future__ import annotations

from pathlib import Path

from relume.benchmarks.corpora.common import attempt_name, find_files
from relume.dataset import AttemptEntry, DatasetHeader, LogFile
from relume.ingest.datasets import Dataset, write_dataset
from relume.ingest.forms import KERNEL

FOLDER = "gpud-kernel-logs"
_PATTERNS = ("files/**/dmesg*", "files/**/kmsg*", "files/**/fabricmanager.log")


def write(data: Path, out: Path) -> Dataset:
    """Write each log as an attempt of one kernel log, unlabelled.

    A label would have to be made of the very message that is to be found, and of whether a job was
    hurt by it nothing is known. So alarms are counted and not scored.
    """
    header = DatasetHeader(
        name=FOLDER,
        description="Kernel logs from test data of gpud: no labels, and no jobs that ran there.",
    )
    paths = find_files(data, FOLDER, *_PATTERNS)
    return write_dataset(
        out,
        header,
        (
            AttemptEntry(
                attempt=attempt_name(FOLDER, number),
                name="/".join(path.parts[-4:]),
                files=(LogFile(path=str(path.absolute()), stream=KERNEL),),
            )
            for number, path in enumerate(paths, start=1)
        ),
    )
