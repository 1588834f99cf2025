"""The prefix grammars: what launchers, loggers and kernels put before a message.

Data only; `relume.ingest.prefixes` reads lines with it. A template is a regular expression in which
capital words in braces stand for those of `_WORDS`, and named groups are fields of a `Prefix`.
Repetition is bounded or possessive, so that no line can stall the reader. Sources: the logging code
of PyTorch (c10/util/Logging.cpp), torchrun, NCCL (src/debug.cc), UCX, glog, Slurm (srun --label),
Open MPI, Ray, rsyslog, dmesg(1), and of the training frameworks named beside the lines.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass

_TIME = r"\d\d:\d\d:\d\d"
_FRACTION = r"(?:[.,]\d{1,9})?"
_DATE = r"\d{4}[-/]\d\d[-/]\d\d"
_ZONE = r"(?:Z| UTC| GMT|[+-]\d\d(?::?\d\d)?)(?!\w)"
_WORDS = {
    "ISO": rf"(?P<clock>{_DATE}[T _-]{_TIME}{_FRACTION}(?:{_ZONE})?)",
    # rsyslog, journald and Docker write the T, and a zone or a fraction; people don't.
    "STRICT_ISO": rf"(?P<clock>{_DATE}T{_TIME}(?:[.,]\d{{1,9}}(?:{_ZONE})?|{_ZONE}))",
    "GLOG": rf"[EWIFDCV](?P<clock>\d{{3,4}} {_TIME}\.\d{{1,9}}|\d{{8}} {_TIME}\.\d{{1,9}})",
    "CTIME": rf"(?P<clock>[A-Z][a-z]{{2}} [A-Z][a-z]{{2}} {{1,2}}\d{{1,2}} {_TIME} \d{{4}})",
    "SYSLOG": r"(?P<clock>(?:Jan|Feb|Mar|Apr|May|Jun|Jul|Aug|Sep|Oct|Nov|Dec) {1,2}\d{1,2} "
    rf"(?:\d{{4}} )?{_TIME}(?:\.\d{{1,9}})?)",
    "US": rf"(?P<clock>\d\d/\d\d/(?:\d{{4}}|\d\d) {_TIME})",
    "EUROPEAN": rf"(?P<clock>\d\d\.\d\d\.\d{{4}} {_TIME}{_FRACTION})",
    "DAY": rf"(?P<clock>\d\d[-/]\d\d {_TIME}{_FRACTION})",
    "EPOCH": r"(?P<clock>1\d{9}\.\d{1,9})",
    "WORD": r"[!-~]{1,128}",
    "DATA": r"(?:-|(?:\[[^\]\n]{1,200}\]){1,4})",
    "WEEKDAY": r"(?:Mon|Tue|Wed|Thu|Fri|Sat|Sun)",
    "TIME": rf"{_TIME}{_FRACTION}",
    "LEVEL": r"(?:TRACE|DEBUG|INFO|NOTICE|WARNING|WARN|ERROR|CRITICAL|FATAL|SEVERE)",
    "NODE": r"(?P<node>[A-Za-z0-9][\w.-]{0,252}+)",
    # A host where it isn't certain: it has a digit, and isn't one of the things that jobs count.
    "HOSTLIKE": r"(?P<node>(?!(?i:rank|step|epoch|iter|iteration|batch|layer|stage|fold|phase|gpu"
    r"|cuda|device|worker|task|process|thread|trial|run|exp)[_-]?\d)(?=[A-Za-z._-]*+\d)"
    r"[A-Za-z0-9][\w.-]{0,252}+)",
    # pdsh prints nothing else: only names that nobody gives to anything but hosts.
    "PLAIN_HOST": r"(?P<node>(?:(?:node|nid|dgx|hgx|compute|host|cn|gn|ip)"
    r"(?:[a-z]{0,8}-[\w-]{0,40}?)?\d{2,6}|gpu-[a-z]{0,8}\d{1,6}(?:-\d{1,6}){0,3})(?:\.[\w.-]{1,120}+)?)",
    # After the device: the time of a TRACE, the place in the source, its function.
    "NCCL_PLACE": r"(?:(?:\d{1,9}\.\d{1,9} )?[^\s\[]{1,200}+ (?:\d{1,6} )?(?:\([\w:~]{1,80}\) )?)",
    "DOTTED": r"[A-Za-z_]\w{0,60}+(?:\.\w{1,60}+){1,8}",
    "PROGRAM": r"[A-Za-z][\w./@-]{0,60}+(?:\(\w{1,30}\))?",
    "SOURCE": r"[\w./<>+-]{1,200}+[: ]\d{1,6}",
    "CODE": r"[\w./<>-]{1,200}\.(?:py|cc|cpp|cu|cuh|c|h|go|rs):\d{1,6}(?::[\w<>.]{1,80}+)?",
    "NAME": r"[A-Za-z_][\w.<>-]{0,120}+",
    "PID": r"\d{1,10}",
    "BOUND_RANK": r"(?:(?:global_)?rank=(?P<rank>\d{1,7}) \| )",
    "RANK_WORD": r"(?i:rank|rang|rango|process|proc)",
    "RANK": r"\d{1,7}",
}

# --- what may stand anywhere before a message ---

LABEL = (
    r"(?P<task>\d{1,6}):(?: |(?=[^\d\s])|$)",  # srun --label; not the hour of a clock
    r"\d{4,10}\.\d{1,4} {NODE} task {1,5}(?P<task>\d{1,6}) \| ?",  # step, host and task
)
BRACKETED_LABEL = (r"\[(?P<task>\d{1,6})\]: ",)
BRACKETED = (
    r"\[rank ?[:=]? ?(?P<rank>{RANK})(?:/\d{1,7})?\]:? ?",  # torch, Lightning, OLMo
    r"\[(?:Rank|RANK) ?[:=]? ?(?P<group_rank>{RANK})(?:/\d{1,7})?\]:? ?",
    r"\[(?:default|trainer|worker|actor|learner)(?P<local_rank>{RANK})\]: ?",  # torchrun, by role
    r"\[{GLOG} {1,6}(?:{PID} {1,6})?{SOURCE}\] ?",  # c10d
    r"\[[EWIFDCV] {SOURCE}\] ?",  # c10d before PyTorch 2.3
    r"\[PG [^\]\n]{0,160}Rank (?P<group_rank>{RANK})\] ?",
    r"\[(?:{ISO}|{US}|{DAY})(?:[ ,|][^\]\n]{0,120}+)?\] ?:? ?",
    r"\[NeMo [A-Z] {ISO}(?: [^\]\n]{0,120}+)?\] ?",
    r"\[(?:{CTIME}|{SYSLOG})\] ?",  # dmesg -T, fabric manager
    r"\[{EPOCH}\] {0,4}(?:\[{NODE}:{PID}(?::{PID}){0,3}(?: ?:\d{1,6}){0,3}\] {1,8})?",  # UCX
    r"\[{NODE}(?::\d{1,10}){3}\] {1,8}",  # UCX, in signal handlers
    r"\[(?:{HOSTLIKE}:\d{3,10}|{NODE}:\d{2,10}(?=\] (?:\*\*\*|Signal|PMIX|mca|==)))\] ",  # Open MPI
    r"\[ {0,8}(?P<uptime_seconds>\d{1,9}\.\d{6}|\d{3,9}\.\d{3,5})\](?:\[ {0,8}[TC]\d{1,8}\])? ?",
    r"\[(?:[\w.-]{1,200}@)?\d{1,9},(?P<rank>{RANK})\]<std(?:out|err|diag)>: ?",  # mpirun
    r"\[(?i:{LEVEL}) {0,4}\]:?(?: -)? ?",
    r"\[{LEVEL}[ |,:]{1,6}{SOURCE}\]:? ?",
    r"\[{CODE}\]:? ?",
    r"\[(?:PID|pid|TID|tid)[ :=]{1,2}{PID}\] ?",
    r"\[r(?P<rank>{RANK})(?:/\d{1,7})?\]:? ?",
    r"\[(?P<rank>{RANK})\]<std(?:out|err)>: ?",  # Horovod
    r"\[{NODE}:gpu(?P<local_rank>\d{1,2})\] ?",
    r"\[pod/(?:[\w.]{1,60}-){0,20}(?:worker|trainer)-(?P<group_rank>{RANK})(?:/[\w.-]{1,63})?\] ?",
    r"\[pod/[\w.-]{1,253}(?:/[\w.-]{1,63})?\] ?",  # kubectl logs --prefix
    r"\[process(?:_index)?[=: ](?P<rank>{RANK})\]:? ?",  # JAX
    r"\[titan\] ?",
    r"\[{TIME}\]:? ?",  # a time of day alone is no clock
    r"\[{HOSTLIKE}\] (?=\d{4}-)",  # ESPnet
)
NUMERIC = (
    r"{ISO} (?:stdout|stderr) [FP] ",  # container runtimes
    r"{STRICT_ISO} (?:{NODE} {PROGRAM}\[{PID}\]|{NODE} kernel|{HOSTLIKE} {PROGRAM}): ?",  # syslog
    r"{ISO}[ \t]{1,4}{NODE}:(?P<local_rank>{RANK})[ \t]{1,4}{NAME}:\d{1,6}[ \t]{1,4}{LEVEL}\s{1,8}",
    r"{ISO}:?[ \t]{0,3}",
    r"{US},?[ \t]{0,3}",
    r"{EUROPEAN},?[ \t]{0,3}",
    r"{DAY}(?=[ \t])[ \t]{1,3}",
    r"{TIME}[ \t]{1,4}",
    r"{EPOCH}[ :]{1,3}",
    r"(?P<kmsg>\d{1,4},\d{1,12},\d{1,15}),[^;\n]{0,80}+;",  # /dev/kmsg
)
NCCL = (  # the message keeps its "NCCL WARN", which rules read
    r"{NODE}:{PID}(?::{PID})? \[(?:-1|(?P<gpu>\d{1,3}))\] {NCCL_PLACE}?(?=NCCL [A-Z]{4,7}\b)",
)
WORDED = (
    *NCCL,
    r"(?:{SYSLOG}|{CTIME}) (?:{NODE} {PROGRAM}\[{PID}\]|{NODE} kernel|{HOSTLIKE} {PROGRAM}): ?",
    r"{GLOG} {1,6}(?:\d{1,20} {1,6})?{SOURCE}\] ?",
    r"(?:{SYSLOG}|{CTIME}):? {0,2}",
    r"{LEVEL}:{NAME}: ?",  # Python logging
    r"{LEVEL}:?[ \t]{1,8}(?=\d\d(?:\d\d)?[-/]\d\d)",  # LeRobot, vLLM: level before clock
    r"submitit {LEVEL} \({ISO}\) - ?",
    r"(?:kern|user|daemon|syslog) {1,4}:[a-z]{3,6} {1,4}: ",  # dmesg -x
    r"kernel: ",
    r"{PLAIN_HOST}: ",
    r"{HOSTLIKE}: (?=\[ {0,8}\d{1,9}\.\d{6}\] |\[{WEEKDAY} )",  # clush and pdsh of dmesg
    r"{HOSTLIKE}/(?P<rank>{RANK})[>|] ?",
    r"(?:worker|trainer|rank|proc|process)-(?P<group_rank>{RANK}) {1,8}\| ",
    r"[a-z][a-z0-9-]{0,60}-\d{1,6} {1,8}\| ",  # docker compose
    r"(?:global_)?rank=(?P<rank>{RANK})(?:/\d{1,7})?[ ,|:]{1,3}(?![\w.]{1,40}=)",
)
PARENTHESISED = (
    r"\(r(?:ank)?[ :=]?(?P<rank>{RANK})(?:/\d{1,7})?\):? ?",
    r"\([^()\n]{1,100}?pid={PID}(?:, ?ip=(?P<node>[\d.]{7,15}+))?[^()\n]{0,60}+\) ?",  # Ray
)
ANGLED = (
    r"<\d{1,3}>1 (?:{ISO}|-) (?:{NODE}|-) {WORD} {WORD} {WORD} {DATA}(?: \ufeff?|$)",  # RFC 5424
    r"<\d{1,3}>(?:1 )?",  # kernel and syslog priorities
    r"<r(?:ank)?[ :=]?(?P<rank>{RANK})(?:/\d{1,7})?> ?",
)

# --- what loggers put between a clock and a message; elsewhere it may be the message itself ---

BRACKETED_AFTER_CLOCK = (
    r"\[(?:__main__|root|MainThread)\](?:\[{LEVEL}\])?:?(?: -)? ?",
    r"\[{PID}/[\w-]{1,60}+/{PID} \(pid {PID}\)\] ?",  # Metaflow
    r"\[{DOTTED}(?::\d{1,6})?(?:, rank=(?P<rank>{RANK}))?\]:?(?: -)? ?",  # OLMo, Hydra
)
WORDED_AFTER_CLOCK = (
    r"{LEVEL}[ \t]{0,6}(?:[:|-][ \t]{0,4}|[ \t]{1,6})",
    r"{NAME} {LEVEL}: ",  # maskrcnn-benchmark
    r"{NAME}: (?:\[{LEVEL}\]|{LEVEL}:) ?",  # torchrun 2.1
    r"[EWIF] {CODE}\] ",  # TensorFlow, XLA
    r"{RANK_WORD}[ #:=]{1,2}(?P<rank>{RANK})(?:/\d{1,7})? {0,2}(?:[|:]|-) {0,2}",
    r"{RANK_WORD}[ #:=]{1,2}(?P<rank>{RANK})(?:/\d{1,7})? {1,3}(?={LEVEL}\b)",
    r"{CODE}\]? {1,4}",
    r"rank(?P<rank>{RANK})\[{PID}\]\[\w{1,40}\]: (?:{LEVEL}: )?(?:{NAME}: )?",  # Composer
)
PARENTHESISED_AFTER_CLOCK = (r"\([\w.]{1,60}+:\d{1,6}\) {LEVEL}: ?",)  # ESPnet
DASHED_AFTER_CLOCK = (r"- (?:{NAME} - )?{LEVEL}(?: -|:)? ?",)
BARRED_AFTER_CLOCK = (  # loguru, with what is bound to it
    r"\| {LEVEL} {0,8}\| (?:{NODE} \| )?{BOUND_RANK}?{NAME}:{NAME}:\d{1,6} - ?",
)
ANGLED_AFTER_CLOCK = (r">> {0,3}",)  # transformers


@dataclass(frozen=True, slots=True)
class Table:
    """Templates compiled into one expression.

    `fields` maps the group that a match ends with (`re.Match.lastgroup`) to the fields of its
    template, each with the number of its group.
    """

    pattern: re.Pattern[str]
    fields: Mapping[str, tuple[tuple[str, int], ...]]


def table(*templates: str) -> Table:
    """Compile templates into one alternation; the first that matches counts."""
    parts = [f"(?P<t{number}>{_numbered(t, number)})" for number, t in enumerate(templates)]
    pattern = re.compile("|".join(parts), re.ASCII)
    fields: dict[str, list[tuple[str, int]]] = {f"t{n}": [] for n in range(len(templates))}
    for group, index in pattern.groupindex.items():
        if "_in_" in group:
            name, _, place = group.partition("_in_")
            fields[f"t{place.partition('_')[0]}"].append((name, index))
    return Table(pattern, {name: tuple(found) for name, found in fields.items()})


def _numbered(template: str, number: int) -> str:
    """Put in the words, and make the names of groups unique: `(?P<node_in_3_0>`, 3 the template."""
    text = re.sub(r"\{([A-Z_]+)\}", lambda found: _WORDS[found[1]], template)
    count = iter(range(len(text)))
    return re.sub(r"\(\?P<(\w+)>", lambda f: f"(?P<{f[1]}_in_{number}_{next(count)}>", text)
