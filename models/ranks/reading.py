"""Reads one line for what it says of where ranks run. Pure; the cost of a line is bounded.

Formats by their printers: NCCL `src/init.cc` (``comm … rank R nranks N cudaDev D nvmlDev V busId
B``) and `nccl-tests` (``#  Rank  0 Group  0 Pid  71 on  host device  0 [0x07]``); torchrun's
``global_ranks=[…]`` (elastic/agent/server/api.py); DeepSpeed's ``global_rank_mapping``
(launcher/launch.py); and what programs print of themselves (`relume.models.ranks.environment`).
"""

from __future__ import annotations

import re
from collections.abc import Callable

from relume.errors import RelumeError
from relume.events import LogLine
from relume.models.ranks.environment import MAX_NODES, MAX_TEXT, is_cyclic, node_list, pairs
from relume.models.ranks.facts import NOTHING, Origin, RankFact, Said, Source
from relume.models.ranks.pci import normal_pci, unpacked_pci
from relume.slurm.hostlists import expand
from relume.verdict import JOB_STREAMS

MAX_WORLD = 1 << 20
"""No job has more ranks; a hostile line must not make us believe so."""
NEAR_CHARACTERS = 600
"""What a process says of its place stands together, ..."""
BEFORE_CHARACTERS = 150
"""... around the word rank."""
RANK_PATTERNS: tuple[str, ...] = (
    r"n[rR]anks \d+ (?:cudaDev|nNodes|busId) ?\d",
    r"\d {1,8}Pid {1,8}\d{1,10} on ",
    r"NCCL INFO (?:Bootstrap|NET/Socket) ?: Using ",
    r"global_ranks=\[",
    r"global_world_sizes=\[",
    r"global_rank_mapping=",
    r"(?i)local[_ ]rank['\x22]?[ \t]{0,4}[=:]?[ \t]{0,4}['\x22]?\d",
    r"GLOBAL_RANK['\x22]?[ \t]{0,4}[=:]",
    (
        r"\b(?:[Rr]ank|RANK)[ =:]{1,3}\d{1,7}(?:/\d{1,7}| of \d{1,7})?[,;)]? {1,4}"
        r"(?:\w{1,12} ){0,2}[oO][nN] [A-Za-z]"
    ),
    r"SLURM_(?:PROCID|LOCALID|NODEID|NTASKS|NPROCS|DISTRIBUTION)['\x22]?[ \t]{0,4}[=:]",
    r"SLURM_(?:STEP_)?TASKS_PER_NODE['\x22]?[ \t]{0,4}[=:]",
    r"NODELIST['\x22]?[ \t]{0,4}[=:]",
    r"(?:Started|Allocate) JobId=\d",
    r"[\w-]\[\d[\d,-]{1,200}\].{0,120}\b\d{1,7} (?:processes|procs|ranks|tasks|workers|GPUs)\b",
    r"launch task StepId=\d",
)
"""Patterns that find the lines worth reading; rare in the log of a healthy job."""

_COMM = re.compile(
    r"\brank (?P<rank>\d{1,7}) n[rR]anks (?P<size>\d{1,7})(?: nNodes \d{1,6})?"
    r"(?: localRanks \d{1,5})?(?: localRank (?P<local_rank>\d{1,5}))?"
    r"(?: cudaDev (?P<cuda>\d{1,3}))?(?: nvmlDev (?P<nvml>\d{1,3}))?"
    r"(?: busId (?P<bus>[0-9a-fA-F]{2,12})\b)?"
)
_PROCESS = re.compile(r"(?<![\w.-])[A-Za-z0-9][\w.-]{0,252}:(?P<pid>\d{1,10}):\d{1,10} \[")
_NCCL_TESTS = re.compile(
    r"\bRank {1,8}(?P<rank>\d{1,7})(?: {1,8}Group {1,8}\d{1,7})? {1,8}Pid {1,8}(?P<pid>\d{1,10})"
    r" on {1,20}(?P<node>[A-Za-z0-9][\w.-]{0,252}) device {1,8}(?P<gpu>\d{1,3})"
    r"(?: \[(?:0x(?P<bus>[0-9a-f]{2})|(?P<pci>[0-9a-f:.]{7,16}))\])?"
)
_ADDRESS = re.compile(r"[\w.-]{1,40}:(?P<ip>\d{1,3}(?:\.\d{1,3}){3})<\d{1,5}>")
_LAUNCH = re.compile(r"launch task StepId=(?P<job>\d{1,12})")
_ALLOCATION = re.compile(
    r"(?:Started JobId=(?P<job>[\d_]{1,20})\S* in \S{1,80} on|Allocate JobId=(?P<id>[\d_]{1,20})"
    r"\S* NodeList=) ?(?P<nodes>[A-Za-z0-9][\w.,\[\]-]{0,2000})"
)
_SENTENCE = re.compile(
    r"(?<![\w.-])(?P<nodes>[A-Za-z][\w-]{0,60}\[[\d,-]{1,2000}\]"
    r"(?:,[A-Za-z][\w-]{0,60}(?:\[[\d,-]{1,2000}\])?){0,64})[^\w\n]"
    r"[^\n]{0,120}?\b(?P<size>\d{1,7}) (?:processes|procs|ranks|tasks|workers|GPUs)\b"
)
_GLOBAL_RANKS = re.compile(r"global_ranks=\[(?P<ranks>[\d, ]*)\]")
_WORLD_SIZES = re.compile(r"global_world_sizes=\[(?P<size>\d{1,7})\b")
_MAPPING = re.compile(
    r"['\"](?P<node>[A-Za-z0-9][\w.-]{0,252})['\"]: ?\[(?P<ranks>[\d, ]{1,4000})\]"
)
_OF_THE_JOB = re.compile(r"(?i)SLURM_|NODELIST|size|per_node")
_WHOLE_GROUP = re.compile(r"\[PG (?:ID )?0 |\(default_pg\)")
_NEAR = re.compile(r"(?i)rank|slurm_|nodelist")
_GROUP = re.compile(r"\b(?:Rank|RANK)\b")


def read_line(line: LogLine) -> Said:
    """Return what a line says of where ranks run; empty when it says nothing. Never raises.

    >>> text = "comm 0x1 rank 11 nranks 16 cudaDev 3 busId 4e000 - Init COMPLETE"
    >>> [fact] = read_line(LogLine(text, 0, 0, "log", node="gpu-a01")).facts
    >>> fact.rank, fact.size, fact.node, fact.gpu, fact.pci
    (11, 16, 'gpu-a01', '3', '0000:4e:00')
    >>> text = "RANK=9 LOCAL_RANK=1 WORLD_SIZE=16 HOSTNAME=gpu-a02"
    >>> said = read_line(LogLine(text, 0, 0, "log"))
    >>> said.world_size, said.facts[0].rank, said.facts[0].node, said.facts[0].local_rank
    (16, 9, 'gpu-a02', 1)
    """
    text = line.text[:MAX_TEXT]
    for word, read in _READERS:
        if word in text:
            said = read(line, text)
            if said is not None:
                return said
    return _environment(line, text)


def global_rank(line: LogLine) -> int | None:
    """Return the rank of the whole job that a line's prefixes tell, null where none does.

    The rank within a process group, which stands in for it elsewhere, doesn't count, unless it is
    PyTorch's first group, of all ranks.
    """
    prefix = line.text[: line.message_start]
    is_group = _GROUP.search(prefix) is not None and "[rank" not in prefix
    is_group = is_group and _WHOLE_GROUP.search(prefix) is None
    return None if is_group or not _is_rank(line.rank) else line.rank


def _comm(line: LogLine, text: str) -> Said | None:
    """NCCL's line; what a prefix tells is the job's rank, the text has that of the communicator."""
    found = _COMM.search(text)
    if found is None:
        return None
    if not int(found["rank"]) < int(found["size"]) <= MAX_WORLD:
        return NOTHING
    pid, known = _PROCESS.search(text), global_rank(line)
    fact = RankFact(
        Origin(Source.NCCL_INIT, line.file, line.line),
        rank=int(found["rank"]) if known is None else known,
        size=int(found["size"]) if known is None else None,
        task=line.task,
        node=line.node,
        local_rank=_number(found["local_rank"]) if line.local_rank is None else line.local_rank,
        gpu=found["nvml"] or found["cuda"] or line.gpu,
        pci=unpacked_pci(found["bus"]),
        pid=_number(pid["pid"]) if pid else None,
    )
    return Said((fact,))


def _address(line: LogLine, text: str) -> Said | None:
    """NCCL tells by which address its host is reached."""
    found = _ADDRESS.search(text)
    if found is None or line.node is None:
        return None
    return Said(addresses=((found["ip"], line.node),))


def _nccl_tests(line: LogLine, text: str) -> Said | None:
    found = _NCCL_TESTS.search(text)
    if found is None or not _is_rank(int(found["rank"])):
        return None
    fact = RankFact(
        Origin(Source.NCCL_INIT, line.file, line.line),
        rank=int(found["rank"]),
        node=found["node"],
        gpu=found["gpu"],
        pci=normal_pci(f"{found['bus']}:00" if found["bus"] else found["pci"]),
        pid=int(found["pid"]),
    )
    return Said((fact,))


def _allocation(line: LogLine, text: str) -> Said | None:
    """Slurmctld tells on which nodes a job starts; a job's own output can't."""
    found = _ALLOCATION.search(text) if line.stream not in JOB_STREAMS else None
    if found is None:
        return None
    try:
        nodes = expand(found["nodes"], limit=MAX_NODES)
    except RelumeError:
        return NOTHING
    return Said(allocation=(found["job"] or found["id"], tuple(nodes)))


def _sentence(_line: LogLine, text: str) -> Said | None:
    """A list of nodes and how many processes run on them, in whatever words."""
    found = _SENTENCE.search(text)
    if found is None:
        return None
    try:
        nodes = tuple(expand(found["nodes"], limit=MAX_NODES))
    except RelumeError:
        return NOTHING
    size = _size(found["size"])
    if size is None or len(nodes) < 2 or size % len(nodes):  # noqa: PLR2004 - a list is of several
        return NOTHING
    return Said(nodes=nodes, world_size=size, ranks_per_node=size // len(nodes))


def _launch(line: LogLine, text: str) -> Said | None:
    """A node's slurmd tells in the system log when it launches a task of a job."""
    found = _LAUNCH.search(text) if line.stream not in JOB_STREAMS else None
    if found is None or line.node is None:
        return NOTHING
    return Said(launch=(found["job"], line.node))


def _mapping(line: LogLine, text: str) -> Said:
    origin = Origin(Source.LAUNCHER, line.file, line.line)
    facts = [
        RankFact(origin, rank=rank, node=found["node"], local_rank=local)
        for found in _MAPPING.finditer(text)
        for local, rank in enumerate(_numbers(found["ranks"]))
    ]
    return Said(tuple(facts))


def _global_ranks(line: LogLine, text: str) -> Said | None:
    """Torchrun's agent tells which ranks are its own: those of the node that prints it."""
    if found := _WORLD_SIZES.search(text):
        return Said(world_size=_size(found["size"]))
    found = _GLOBAL_RANKS.search(text)
    if found is None:
        return None
    ranks = _numbers(found["ranks"])
    origin = Origin(Source.LAUNCHER, line.file, line.line)
    facts = [
        RankFact(origin, rank=rank, task=line.task, node=line.node, local_rank=local)
        for local, rank in enumerate(ranks)
    ]
    return Said(tuple(facts), ranks_per_node=len(ranks) or None)


def _environment(line: LogLine, text: str) -> Said:
    """What a process prints of itself; its host or rank may also be in the line's prefixes."""
    near = _NEAR.search(text)
    start = max(0, near.start() - BEFORE_CHARACTERS) if near else 0
    nodes = node_list(text) if "NODELIST" in text else ()
    text = text[start : start + NEAR_CHARACTERS]  # settings printed whole are thousands long
    told = dict(pairs(text))
    rank = _number(told.get("rank"))
    rank = global_rank(line) if rank is None else rank
    if rank is None and line.task is None and not _OF_THE_JOB.search(text):
        return NOTHING
    fact = RankFact(
        Origin(Source.ENVIRONMENT, line.file, line.line),
        rank=rank if _is_rank(rank) else None,
        task=line.task,
        node=told.get("node") or line.node,
        node_index=_number(told.get("node_index")),
        local_rank=_number(told.get("local_rank")),
        gpu=told.get("gpu"),
        pid=_number(told.get("pid")),
    )
    who = fact.rank is not None or fact.task is not None
    where = (fact.node, fact.node_index, fact.local_rank, fact.gpu, fact.pid)
    is_place = who and any(value is not None for value in where)
    return Said(
        (fact,) if is_place else (),
        world_size=_size(told.get("world_size")),
        tasks=_size(told.get("tasks")),
        ranks_per_node=_size(told.get("ranks_per_node")),
        nodes=nodes,
        is_cyclic=is_cyclic(text),
    )


_READERS: tuple[tuple[str, Callable[[LogLine, str], Said | None]], ...] = (
    ("anks ", _comm),
    (": Using ", _address),
    ("Pid ", _nccl_tests),
    ("[", _sentence),
    ("JobId=", _allocation),
    ("launch task StepId=", _launch),
    ("global_rank_mapping", _mapping),
    ("global_", _global_ranks),
)
"""The word that each reader needs, and the reader; any other line is an environment's."""

_MAX_DIGITS = 10


def _is_rank(number: int | None) -> bool:
    return number is not None and 0 <= number < MAX_WORLD


def _numbers(text: str) -> list[int]:
    return [int(number) for number in re.findall(r"\d{1,7}", text) if int(number) < MAX_WORLD]


def _number(text: str | None) -> int | None:
    return int(text) if text and text.isdecimal() and len(text) <= _MAX_DIGITS else None


def _size(text: str | None) -> int | None:
    number = _number(text)
    return number if number is not None and 0 < number <= MAX_WORLD else None
