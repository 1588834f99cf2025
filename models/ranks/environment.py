"""What processes print of themselves: ``key=value``, ``key: value``, or in words.

Launchers set RANK, LOCAL_RANK and WORLD_SIZE (torchrun), OMPI_COMM_WORLD_RANK (Open MPI), PMI_RANK;
Slurm sets SLURM_PROCID, SLURM_NODEID and the like (srun(1), OUTPUT ENVIRONMENT VARIABLES).
"""

from __future__ import annotations

import re
from collections.abc import Iterator

from relume.errors import RelumeError
from relume.slurm.hostlists import expand

MAX_NODES = 1 << 16
MAX_TEXT = 8192
"""How much of a line is read: a launcher's books, or a list, of a few hundred nodes fit."""

_IS = r"['\"]?[ \t]{0,4}[=:][ \t]{0,4}['\"]?"
_SPELLINGS: dict[str, tuple[str, ...]] = {
    "rank": (
        *("rank", "global_rank", "slurm_procid"),
        *("ompi_comm_world_rank", "pmi_rank", "pmix_rank"),
    ),
    "local_rank": ("local_rank", "slurm_localid", "ompi_comm_world_local_rank"),
    "world_size": ("world_size", "ompi_comm_world_size", "pmi_size"),
    "ranks_per_node": (
        *("local_world_size", "ompi_comm_world_local_size", "slurm_ntasks_per_node"),
        *("nproc_per_node", "gpus_per_node"),
    ),
    "tasks": ("slurm_ntasks", "slurm_nprocs"),
    "node_index": ("slurm_nodeid",),
    "node": ("host", "hostname", "node", "node_name", "nodename", "slurmd_nodename", "on"),
    "gpu": ("device", "gpu", "cuda"),
    "pid": ("pid",),
}
"""What programs call what a process is; `_` may be a space, case doesn't matter."""
_KEYS = {spelling: name for name, spellings in _SPELLINGS.items() for spelling in spellings}
_PAIR = re.compile(
    r"(?i)(?<![\w.-])(?P<key>"
    + "|".join(sorted(_KEYS, key=len, reverse=True)).replace("_", "[ _]")
    + rf")(?:{_IS}|['\"]?[ \t]{{1,4}})(?:node |host |cuda:)?"
    r"(?P<value>[A-Za-z0-9][\w.-]{0,252})(?:(?:/| of )(?P<of>\d{1,7})\b)?"
)
_OTHER_RANK = re.compile(
    r"(?i)\b(?:cp|data|dp|ep|expert|group|machine|mp|node|parallel|pipeline|pp|role|sp|tensor|tp)"
    r"[ _-]\Z"
)
"""Words before `rank` that make it another count."""
_OTHER_CHARACTERS = 12
_MEMBER = re.compile(r"\bMEMBER: {0,4}\d{1,7}/(?P<size>\d{1,7})")
_TASKS_PER_NODE = re.compile(
    rf"TASKS_PER_NODE{_IS}(?P<number>\d{{1,5}})(?:\(x\d{{1,6}}\))?(?![\d,(])"
)
_NODELIST = re.compile(
    rf"\b(?:SLURM_(?:JOB_|STEP_)?)?NODELIST{_IS}(?P<nodes>[A-Za-z][\w.,\[\]-]{{0,8000}})"
)
_DISTRIBUTION = re.compile(rf"SLURM_DISTRIBUTION{_IS}(?P<how>block|cyclic)")
_HOST = re.compile(r"(?=[^\d]*\d)(?=[\w.-]*[A-Za-z])[A-Za-z0-9][\w.-]+\Z")
_NO_HOST = re.compile(
    r"(?i)(?:cuda|gpu|device|rank|step|epoch|iter\w*|stage|layer|port|pid)[_-]?\d*\Z"
)


def pairs(text: str) -> Iterator[tuple[str, str]]:
    """Yield (field, value) of what a line says of a process, each field once.

    The fields are those of `_SPELLINGS`; all values but a node's are numbers.

    >>> dict(pairs("global rank: 9, local rank: 1 of node gpu-a02"))
    {'rank': '9', 'local_rank': '1', 'node': 'gpu-a02'}
    >>> dict(pairs("Rank 12/64 on gpu-a02, dp rank 3"))
    {'rank': '12', 'world_size': '64', 'node': 'gpu-a02'}
    """
    seen: set[str] = set()
    for found in _PAIR.finditer(text):
        name, value = _KEYS[found["key"].replace(" ", "_").lower()], found["value"]
        is_right = _is_host(value) if name == "node" else value.isdigit()
        if name in seen or not is_right or _is_other(text, found.start(), name):
            continue
        seen.add(name)
        yield name, value
        if name == "rank" and found["of"] and "world_size" not in seen:
            seen.add("world_size")
            yield "world_size", found["of"]
    for name, expression in (("world_size", _MEMBER), ("ranks_per_node", _TASKS_PER_NODE)):
        told = expression.search(text) if name not in seen else None
        if told is not None:
            yield name, told[1]


def node_list(text: str) -> tuple[str, ...]:
    """Return the nodes of the job, where a line prints Slurm's list of them; else none.

    A list that runs to the end of what is read may be cut, and counts as none.
    """
    found = _NODELIST.search(text)
    if found is None or (found.end() == len(text) and len(text) >= MAX_TEXT):
        return ()
    try:
        return tuple(expand(found["nodes"].rstrip(".,"), limit=MAX_NODES))
    except RelumeError:
        return ()


def is_cyclic(text: str) -> bool | None:
    """Whether Slurm gives tasks to the nodes in turns; null where a line doesn't say."""
    found = _DISTRIBUTION.search(text)
    return None if found is None else found["how"] == "cyclic"


def _is_other(text: str, start: int, name: str) -> bool:
    before = text[max(0, start - _OTHER_CHARACTERS) : start]
    return name == "rank" and _OTHER_RANK.search(before) is not None


def _is_host(word: str) -> bool:
    return _HOST.match(word) is not None and _NO_HOST.match(word) is None
