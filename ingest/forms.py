"""What a file is, told by its first bytes: of whom it is the log, or which table."""

from __future__ import annotations

import re
from itertools import islice

from relume.ingest.accounting.read import is_sacct
from relume.ingest.nodes.documents import is_nodes
from relume.ingest.nodes.sinfo import is_node_history, is_sinfo
from relume.slurm.paths import is_job_output

JOB = "stdout"
KERNEL = "kernel"
SLURMCTLD = "slurmctld"
SACCT = "sacct"
SINFO = "sinfo"
SINFO_JSON = "sinfo-json"
NODE_HISTORY = "sacctmgr"
NODE_FORMS = frozenset({SINFO, SINFO_JSON, NODE_HISTORY})
"""What Slurm says of nodes: the log of nobody."""

_LINES_TOLD_BY = 200
"""First lines that tell what a file is: more cost time in folders of thousands of rank files."""
_MOSTLY = 0.5
"""Share of lines that decide what a file is: job logs quote kernel lines now and then."""
_KERNEL_LINE = re.compile(
    r"""(?:(?=[A-Za-z._-]*\d)[A-Za-z][\w.-]{0,252}:\ )?(?: # by clush or pdsh
      \[\ {0,8}\d{1,9}\.\d{6}\]                                  # dmesg
    | \[\w{3}\ \w{3}\ {1,2}\d{1,2}\ \d\d:\d\d:\d\d\ \d{4}\]      # dmesg -T
    | \d{4}-\d\d-\d\dT[\d:]{8},\d{6}[+-]\d\d:\d\d\ [^:\n]{1,60}: # dmesg --time-format iso
    | (?:kern|user|daemon|syslog)\ {1,4}:[a-z]{3,6}\ {1,4}:      # dmesg -x
    | <\d{1,3}>                                                  # with priorities
    | \d{1,4},\d{1,12},\d{1,15},[-c+]                            # /dev/kmsg
    | NVRM:\ | nvidia-nvswitch\d{1,3}:\ SXid
    | (?:[A-Z][a-z]{2}\ {1,2}\d{1,2}\ \d\d:\d\d:\d\d             # syslog, of any program
      | \d{4}-\d\d-\d\dT[\d:]{8}[.\d]{0,10}(?:Z|[+-]\d\d:?\d\d))
      \ [\w.-]{1,253}\ (?:kernel|[\w./@()-]{1,60}\[\d{1,10}\]):
    )""",
    re.VERBOSE | re.ASCII,
)
# By a shipper: an object, key=value or labels, in which a key names the program.
_PROGRAM = (
    r"(?:[^{\n]{0,60}\{|[A-Za-z_][\w.@-]{0,60}=)[^\n]{0,4000}?(?i:\b_?(?:syslog_?)?(?:identifier"
    r"|ident|app_?name|app|program|process|facility|transport|tag|source|service|unit|job))"
    r"\"? ?[:=] ?\"?(?:%s)(?:\.service)?(?![\w-])"
)
_JOURNAL = r"\{[^\n]{0,4000}?\"__REALTIME_TIMESTAMP\" ?:"
_SHIPPED_KERNEL = re.compile(f"{_PROGRAM % 'kernel|kern'}|{_JOURNAL}", re.ASCII)
_SHIPPED_SLURMCTLD = re.compile(_PROGRAM % "slurmctld", re.ASCII)
_LINE = re.compile(r"\S[^\r\n]*")
_DAEMON_LINE = re.compile(r"\[\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d(?:\.\d{3})?\] ", re.ASCII)
_SLURM_WORD = re.compile(
    r"slurm(?:ctld|d|dbd)|JobI[dD]=|_slurm_rpc|StepId=|\] (?:sched|backfill|debug\d?|error): "
    r"|\] Nodes? \S+ (?:now|not) |setting DOWN|node_did_resp"
)

_NO_LOGS = (
    (is_sacct, SACCT),
    (is_node_history, NODE_HISTORY),
    (is_sinfo, SINFO),
    (is_nodes, SINFO_JSON),
)


def form_of(start: bytes) -> str:
    r"""Tell what a file is by its first bytes.

    ``stdout``, ``kernel``, ``slurmctld``, ``sacct`` or one of `NODE_FORMS`. The system log of a
    node counts as its kernel log. Where less than half of the lines say something else, it is a
    job's; a table of nodes among other lines is, too.

    >>> form_of(b"[  12.345678] NVRM: loading\n[  12.345679] usb 1-1: new device\n")
    'kernel'
    >>> form_of(b"[2026-01-02T03:04:05.678] error: Nodes gpu-a01 not responding\n")
    'slurmctld'
    >>> form_of(b"Jan 02 03:04:05 starting training: 8 ranks\n")
    'stdout'
    """
    text = start.decode("utf-8", "replace")
    for is_told, form in _NO_LOGS:
        if is_told(text):
            return form
    lines = [found[0] for found in islice(_LINE.finditer(text), _LINES_TOLD_BY)]
    if _share(_KERNEL_LINE, lines) > _MOSTLY:
        return KERNEL
    if _share(_DAEMON_LINE, lines) > _MOSTLY and _SLURM_WORD.search(text):
        return SLURMCTLD
    for pattern, form in ((_SHIPPED_KERNEL, KERNEL), (_SHIPPED_SLURMCTLD, SLURMCTLD)):
        if _share(pattern, lines) > _MOSTLY:
            return form
    return JOB


def form_of_file(name: str, start: bytes) -> str:
    r"""Tell what a file is by its name and its first bytes.

    What Slurm names the output of a job is that, whatever the job writes into it: else a job could
    make up a kernel's log that accuses its nodes.

    >>> form_of_file("slurm-7.out", b"[  12.345678] NVRM: Xid\n")
    'stdout'
    """
    form = form_of(start)
    return JOB if form in {KERNEL, SLURMCTLD} and is_job_output(name) else form


def _share(pattern: re.Pattern[str], lines: list[str]) -> float:
    return sum(1 for line in lines if pattern.match(line)) / max(len(lines), 1)
