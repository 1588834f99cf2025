"""Numbers, times and text of others as a page shows them."""

from __future__ import annotations

import re
from typing import Final

from relume.clock import MICROSECONDS_PER_SECOND, to_datetime, to_iso
from relume.errors import InputError
from relume.identity import AttemptId
from relume.printing import printable

MAX_LINE: Final = 2_000
"""Characters of a log line that a page shows; how many more there are is said."""
NOTHING: Final = "\N{EN DASH}"
_ESCAPES: Final = re.compile(r"\x1b(?:\[[0-9;?]{0,24}[ -/]?[@-~]|\][^\x07\x1b]{0,200}\x07?)")
_ACRONYMS: Final = {
    word.lower(): word
    for word in ("CPU", "CUDA", "ECC", "GPU", "IB", "NaN", "NCCL", "NIC", "NVLink", "OOM", "PCIe")
}
_UNITS: Final = ((86_400, "d"), (3_600, "h"), (60, "min"), (1, "s"))


def cut(text: str) -> str:
    """Return a line of a log so short that it can be shown; how much is left out is said.

    >>> cut("x" * 3000).endswith("1,000 characters more")
    True
    """
    more = len(text) - MAX_LINE
    if more <= 0:
        return text
    return f"{text[:MAX_LINE]} \N{HORIZONTAL ELLIPSIS} {more:,} characters more"


def log_line(text: str) -> str:
    r"""Return one line of a log as text that can't act: no colours, no direction, no control.

    A browser shows the rest as it is, since templates escape it.

    Examples
    --------
    >>> log_line("\x1b[31mred\x1b[0m\ttab \u202egnp")
    'red tab \ufffdgnp'
    """
    # Cut before it is looked at: a line of a megabyte costs what a short one does.
    shown = _ESCAPES.sub("", cut(text)).replace("\t", " ").rstrip("\r\n")
    return printable(shown)


def utc(time: int | None) -> str:
    """Return a time to the second, UTC.

    >>> utc(1767323045000006), utc(None) == NOTHING
    ('2026-01-02 03:04:05', True)
    """
    if time is None:
        return NOTHING
    try:
        return f"{to_datetime(time):%Y-%m-%d %H:%M:%S}"
    except InputError:
        return NOTHING


def iso(time: int) -> str:
    """Return a time for machines; empty for one that no calendar has."""
    try:
        return to_iso(time)
    except InputError:
        return ""


def span(microseconds: float | None) -> str:
    """Return how long something took, in at most two units.

    >>> span(3_700_000_000), span(59_900_000), span(90_000_000)
    ('1 h 1 min', '59 s', '1 min 30 s')
    """
    if microseconds is None:
        return NOTHING
    seconds = max(0, int(microseconds // MICROSECONDS_PER_SECOND))
    parts: list[str] = []
    for size, unit in _UNITS:
        count, seconds = divmod(seconds, size)
        if count or (unit == "s" and not parts):
            parts.append(f"{count} {unit}")
        elif parts:
            break
    return " ".join(parts[:2])


def share(value: float | None) -> str:
    """Return a share in percent; a dash where nobody knows.

    >>> share(0.9375), share(None) == NOTHING
    ('93.8 %', True)
    """
    return NOTHING if value is None else f"{100 * value:.1f} %"


def number(value: float | None, digits: int = 0) -> str:
    """Return a number with its thousands apart; a dash where nobody knows."""
    return NOTHING if value is None else f"{value:,.{digits}f}"


def short(attempt: str) -> str:
    """Return the name of an attempt for people: its job and, from the second on, the try.

    >>> short("lab/12@1767323045.0"), short("lab/12@1767323045.2"), short("?")
    ('12', '12 try 3', '?')
    """
    try:
        found = AttemptId.parse(attempt)
    except InputError:
        return attempt
    count = found.restart_count
    return found.job_key.job_id + (f" try {count + 1}" if count else "")


def words(name: str | None) -> str:
    """Return a name of ours as words.

    >>> words("RESTART_EXCLUDING"), words("gpu_lost"), words("loss_nan")
    ('restart excluding', 'GPU lost', 'loss NaN')
    """
    if not name:
        return NOTHING
    return " ".join(_ACRONYMS.get(word, word) for word in name.lower().split("_"))
