"""What a file is, told by its first bytes: of whom it is the log, or which table."""

from __future__ import annotations

import re
from itertools import islice

from relume.ingest.accounting.read import is_sacct
from relume.ingest.metrics.telling import is_answer, is_exposition
from relume.ingest.nodes.documents import is_nodes
from relume.ingest.nodes.sinfo import is_node_history, is_sinfo

JOB = "stdout"
KERNEL = "kernel"
SLURMCTLD = "slurmctld"
SACCT = "sacct"
SINFO = "sinfo"
SINFO_JSON = "sinfo-json"
NODE_HISTORY = "sacctmgr"
NODE_FORMS = frozenset({SINFO, SINFO_JSON, NODE_HISTORY})
"""What Slurm says of nodes: the log of nobody."""
METRICS_TEXT = "metrics"
METRICS_JSON = "metrics-json"
METRIC_FORMS = frozenset({METRICS_TEXT, METRICS_JSON})
"""Scrapes, and answers of Prometheus: the log of nobody either."""

_LINES_TOLD_BY = 200
"""First lines that tell what a file is: more cost time in folders of thousands of rank files."""
_MOSTLY = 0.5
"""Share of lines that decide what a file is: job logs quote kernel lines now and then."""
_KERNEL_LINE = re.compile(
    r"""(?:
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
_LINE = re.compile(r"\S[^\r\n]*")
_DAEMON_LINE = re.compile(r"\[\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d(?:\.\d{3})?\] ", re.ASCII)
_SLURM_WORD = re.compile(
    r"slurm(?:ctld|d|dbd)|JobI[dD]=|_slurm_rpc|StepId=|\] (?:sched|backfill|debug\d?|error): "
    r"|\] Nodes? \S+ (?:now|not) |setting DOWN|node_did_resp"
)
_DUMP_WORDS = (b"pg_config", b"collective_seq_id", b"nccl_version")
"""Keys of PyTorch's flight recorder (torch/csrc/distributed/c10d/FlightRecorder.hpp)."""
_DUMP_WORDS_NEEDED = 2

_NO_LOGS = (
    (is_sacct, SACCT),
    (is_node_history, NODE_HISTORY),
    (is_sinfo, SINFO),
    (is_nodes, SINFO_JSON),
    (is_answer, METRICS_JSON),
    (is_exposition, METRICS_TEXT),
)


def form_of(start: bytes) -> str:
    r"""Tell what a file is by its first bytes.

    ``stdout``, ``kernel``, ``slurmctld``, ``sacct``, one of `NODE_FORMS` or of `METRIC_FORMS`. The
    system log of a node counts as its kernel log. Where less than half of the lines say something
    else, it is a job's; a table of nodes among other lines is, too.

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
    return JOB


def is_dump(start: bytes) -> bool:
    r"""Whether the first bytes are a collective dump, pickled or as JSON.

    >>> is_dump(b'{"version": "2.9", "pg_config": {}, "entries": [{"collective_seq_id": 1}]}')
    True
    """
    is_object = start[:1] == b"{" or start.startswith((b"\x80\x02", b"\x80\x04"))
    return is_object and sum(word in start for word in _DUMP_WORDS) >= _DUMP_WORDS_NEEDED


def _share(pattern: re.Pattern[str], lines: list[str]) -> float:
    return sum(1 for line in lines if pattern.match(line)) / max(len(lines), 1)
