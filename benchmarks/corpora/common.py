"""What loaders of recordings share: where a corpus is, and names of its attempts."""

from __future__ import annotations

import re
from collections.abc import Sequence
from pathlib import Path

from relume.errors import InputError
from relume.identity import AttemptId, JobKey

_NODES = re.compile(
    r"(?:^|_)n(\d{1,4})(?=[_.-]|$)"  # dgxa100_n128_pytorch, perf_n16-1999618
    r"|_(\d{1,4})N(?=_|$)"  # A100-SXM-80GB_16N_pytorch
    r"|^(\d{1,4})_node_"  # 8_node_64_A100
    r"|^(\d{1,4})x[A-Z]+\d+x\d"  # 32xXE8545x4A100: of so many GPUs each
)
LOGS = "logs"
"""Folder of a data set that holds the logs made for it."""


def attempt_name(corpus: str, job_id: int | str) -> str:
    """Return the identity of an attempt of which nobody knows when it was submitted.

    Examples
    --------
    >>> attempt_name("mlperf", 3)
    'mlperf/3@0.0'
    """
    return str(AttemptId(JobKey(corpus, str(job_id), 0), 0))


def nodes_in_name(name: str) -> int | None:
    """Return how many nodes a run had by the name of its system; null where it doesn't say.

    Examples
    --------
    >>> [nodes_in_name(name) for name in ("dgxa100_n128_x", "XL675d_A100_16N_pytorch", "8xA100")]
    [128, 16, None]
    >>> nodes_in_name("8_node_64_A100"), nodes_in_name("32xXE8545x4A100")
    (8, 32)
    """
    found = _NODES.search(name)
    return next((int(number) for number in found.groups() if number), None) if found else None


def find_files(data: Path, folder: str, *patterns: str) -> list[Path]:
    """Return the files of a corpus in order; `data` holds its `folder`, or is that folder.

    Raises
    ------
    InputError
        When there is none.
    """
    root = data / folder if (data / folder).is_dir() else data
    files = sorted({path for pattern in patterns for path in root.glob(pattern) if path.is_file()})
    if not files:
        raise InputError(
            f"corpus {folder}",
            found=f"no {' or '.join(patterns)} below {root}",
            expected=f"the folder {folder}, or the one that holds it",
            hint="name it with --data",
        )
    return files


def write_log(out: Path, name: str, lines: Sequence[str]) -> Path:
    """Write the lines of a log of a data set in the folder `out`; return its path within it."""
    path = Path(LOGS) / name
    (out / LOGS).mkdir(parents=True, exist_ok=True)
    text = "".join(f"{line}\n" for line in lines)
    (out / path).write_bytes(text.encode("utf-8", "surrogateescape"))
    return path


def read_lines(path: Path) -> list[str]:
    """Return the lines of a log; bytes that are no UTF-8 survive `write_log`."""
    # Not in text mode, which breaks lines at the carriage returns of progress bars, too.
    return path.read_bytes().decode("utf-8", "surrogateescape").removesuffix("\n").split("\n")
