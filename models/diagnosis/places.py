"""Where ranks run, read from NCCL init lines: `comm … rank R nranks N cudaDev D busId B`."""

from __future__ import annotations

import re

from relume.events import LogLine
from relume.models.diagnosis.episode import RankPlace

PLACE_PATTERNS: tuple[str, ...] = (r"nranks \d+ cudaDev \d+",)
_INIT = re.compile(r"\brank (?P<rank>\d+) nranks (?P<nranks>\d+) cudaDev (?P<gpu>\d+)")
MAX_WORLD = 1 << 20
"""No job has more ranks; a hostile line must not make us believe so."""


def read_place(line: LogLine) -> tuple[int, int, RankPlace] | None:
    """Return (rank, ranks in the communicator, place), null when the line is no init line.

    >>> text = "comm 0x1 rank 11 nranks 16 cudaDev 3 busId 4e000 - Init COMPLETE"
    >>> read_place(LogLine(text, 0, 0, "log", node="gpu-a01"))
    (11, 16, RankPlace(node='gpu-a01', gpu='3'))
    """
    found = _INIT.search(line.text)
    if found is None or len(found["nranks"]) > len(str(MAX_WORLD)):
        return None
    rank, nranks = int(found["rank"]), int(found["nranks"])
    if not 0 <= rank < nranks <= MAX_WORLD:
        return None
    return rank, nranks, RankPlace(line.node, found["gpu"])
