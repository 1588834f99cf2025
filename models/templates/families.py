"""Which jobs are alike: attempts of one family are expected to print the same kinds of lines."""

from __future__ import annotations

import re
from collections.abc import Iterable

MAX_KEYS = 8
_DEPTHS = (3, 2)
"""How much of a log's path tells jobs apart: two folders and the name, or one and the name. A name
alone, such as ``slurm-#.out``, is everybody's."""
_MAX_PART = 80
_PART = re.compile(r" \(part \d+\)$")
"""What a log's name ends with after it was truncated."""
_VALUE = re.compile(r"(?<![0-9A-Za-z])(?=[a-f]*\d)[0-9a-f]{6,}(?![0-9A-Za-z])|\d+(?:[-_.T]\d+)*")


def family_keys(run: str | None, logs: Iterable[str]) -> tuple[str, ...]:
    """Return the names of the families that a job belongs to, the narrowest first.

    Parameters
    ----------
    run
        User and run, where the job's comment names one; null where it doesn't.
    logs
        Paths of the files that the job writes. Numbers, dates and ids in them don't count, nor does
        what is above the two folders that they are in.

    Examples
    --------
    >>> family_keys("ada/llm", ["/scratch/ada/llm-7b/slurm-1234.out"])
    ('run ada/llm', 'log ada/llm-#b/slurm-#.out', 'log llm-#b/slurm-#.out')
    >>> family_keys(None, ["slurm-1234.out"])
    ()
    """
    paths = [[_shape(part) for part in _PART.sub("", log).split("/") if part] for log in logs]
    keys = [] if run is None else [f"run {run}"]
    keys += [
        f"log {'/'.join(parts[-depth:])}"
        for depth in _DEPTHS
        for parts in paths
        if len(parts) >= depth
    ]
    return tuple(dict.fromkeys(keys))[:MAX_KEYS]


def _shape(part: str) -> str:
    return _VALUE.sub("#", part[:_MAX_PART])
