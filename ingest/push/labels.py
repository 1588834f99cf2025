r"""Labels of pushed lines: which of them say whose a line is, and how Loki writes them."""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping
from functools import lru_cache
from types import MappingProxyType

from relume.errors import InputError, shown

NAMES: Mapping[str, tuple[str, ...]] = MappingProxyType(
    {
        "attempt": ("attempt", "relume_attempt"),
        "job": ("job_id", "slurm_job_id", "slurm_jobid", "jobid"),
        "cluster": ("cluster", "slurm_cluster", "slurm_cluster_name"),
        "node": (
            *("node", "host", "hostname", "host_name"),
            *("nodename", "node_name", "instance"),
        ),
        "file": ("filename", "log_file_path", "log_file_name", "file"),
        "stream": ("stream", "log_iostream"),
        "transport": ("transport", "journal_transport"),
        "rank": ("rank", "global_rank"),
    }
)
"""What a line is of, by the labels that agents use for it; the first that is there counts."""
MAX_LABELS_BYTES = 64 << 10
"""Of one stream; more are refused."""
_TELLING = frozenset(name for names in NAMES.values() for name in names)
_NO_WORD = re.compile(r"\W", re.ASCII)
_PAIR = re.compile(
    r"""[\s,]*+([a-zA-Z_:][\w:.]*+)\s*+=\s*+("(?:[^"\\]++|\\.)*+"|`[^`]*+`)\s*+(?=,|$)""",
    re.ASCII | re.DOTALL,
)
_ESCAPE = re.compile(
    r"\\(?:x([0-9a-fA-F]{2})|u([0-9a-fA-F]{4})|U([0-9a-fA-F]{8})|([0-7]{3})|(.))", re.DOTALL
)
_LETTERS = {"a": "\a", "b": "\b", "f": "\f", "n": "\n", "r": "\r", "t": "\t", "v": "\v"}


def plain(name: str) -> str:
    """Return a label's name in small letters, words joined by underscores.

    >>> plain("slurm.job.id"), plain("_HOSTNAME")
    ('slurm_job_id', 'hostname')
    """
    return _NO_WORD.sub("_", name).strip("_").lower()


def telling(labels: Iterable[tuple[str, str]]) -> tuple[tuple[str, str], ...]:
    """Return those of a line's own labels that say whose it is, in order of their names.

    >>> telling([("trace_id", "5c8"), ("Rank", "3")])
    (('Rank', '3'),)
    """
    return tuple(sorted((name, text) for name, text in labels if plain(name) in _TELLING))


@lru_cache(maxsize=16_384)
def loki_labels(text: str) -> Mapping[str, str]:
    r"""Return the labels of a stream as Loki writes them.

    Raises
    ------
    InputError
        For what isn't ``{name="value", …}``.

    Examples
    --------
    >>> dict(loki_labels('{job="train", host="gpu\\u002d1"}'))
    {'job': 'train', 'host': 'gpu-1'}
    """
    inner = text.strip()
    if not (inner.startswith("{") and inner.endswith("}") and len(text) <= MAX_LABELS_BYTES):
        raise _no_labels(text)
    inner, at, found = inner[1:-1].rstrip(" \t\n,"), 0, {}
    while at < len(inner):
        pair = _PAIR.match(inner, at)
        if pair is None:
            raise _no_labels(text)
        name, quoted = pair.groups()
        value = quoted[1:-1]
        found[name] = value if quoted[0] == "`" else _ESCAPE.sub(_meant, value)
        at = pair.end()
    return MappingProxyType(found)


def _meant(escape: re.Match[str]) -> str:
    """What stands for an escape of Go's."""
    hexadecimal = escape[1] or escape[2] or escape[3]
    code = int(hexadecimal, 16) if hexadecimal else int(escape[4], 8) if escape[4] else None
    if code is None:
        return _LETTERS.get(escape[5], escape[5])
    return chr(code) if code < 0x110000 and not 0xD800 <= code < 0xE000 else "\ufffd"  # noqa: PLR2004


def _no_labels(text: str) -> InputError:
    return InputError(
        "labels of a stream",
        found=shown(text),
        expected='{name="value", …}, of 64 KiB at most',
    )
