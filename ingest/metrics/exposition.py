"""Scrapes in files: Prometheus' text format, and OpenMetrics as far as it is the same."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Iterator
from math import isfinite
from typing import NamedTuple

from prometheus_client.parser import text_string_to_metric_families

from relume.ingest.metrics.answers import MAX_TIME
from relume.ingest.metrics.raw import RawSeries
from relume.ingest.skips import SkipCounts

MAX_SAMPLE_BYTES = 16 << 10
"""A longer line is no sample: taking a line apart costs up to the square of its length."""
_MILLISECONDS_FROM = 1e11
"""Times from here on are milliseconds (1973 and later), below it seconds (up to 5138)."""
_NAME = re.compile(r"\s{0,9}([a-zA-Z_:][a-zA-Z0-9_:]*)", re.ASCII)
_BEFORE_EXEMPLAR = re.compile(r'(?:[^"#]++|"(?:[^"\\]++|\\.)*+")*+')
_TIME, _NODE = "node_time_seconds", "node_uname_info"


class ScrapeFacts(NamedTuple):
    """What node-exporter says in a scrape of the scrape itself: when it was, and of which node."""

    time: int | None
    node: str | None


def read_exposition(
    lines: Iterable[str],
    skipped: SkipCounts,
    *,
    is_wanted: Callable[[str], bool],
    time: int | None = None,
) -> Iterator[RawSeries]:
    r"""Yield one series a sample, as the lines come.

    Parameters
    ----------
    lines
        Of the text, without their ends.
    skipped
        Where lines that are no sample (`metric_line`) and names that aren't wanted
        (`metric_unknown`) are counted.
    is_wanted
        Whether samples of a name are; only those are taken apart.
    time
        Of samples that have none; UTC microseconds, null when nobody knows.

    Examples
    --------
    >>> text = '# TYPE up gauge\nup{job="dcgm"} 1 1700000000500\nup{job="node"} 0\nup{'
    >>> skipped = SkipCounts()
    >>> for one in read_exposition(text.split("\n"), skipped, is_wanted=lambda name: True):
    ...     print(one.labels, one.times, one.values)
    {'job': 'dcgm'} [1700000000500000] [1.0]
    {'job': 'node'} [None] [0.0]
    >>> print(skipped)
    1 x metric_line
    """
    for line in lines:
        if not line or line.isspace() or line.lstrip().startswith("#"):
            continue
        name = _NAME.match(line)
        if name is None or len(line) > MAX_SAMPLE_BYTES:
            skipped.add("metric_line")
        elif not is_wanted(name[1]):
            skipped.add("metric_unknown")
        elif (found := _sample(line, time)) is None:
            skipped.add("metric_line")
        else:
            yield found


def facts_of_scrape(lines: Iterable[str]) -> ScrapeFacts:
    """Return what a scrape says of itself; null where it doesn't.

    >>> facts_of_scrape(["node_time_seconds 1.7e+09", 'node_uname_info{nodename="n1"} 1'])
    ScrapeFacts(time=1700000000000000, node='n1')
    """
    time = node = None
    for line in lines:
        if line.startswith((_TIME, _NODE)) and len(line) <= MAX_SAMPLE_BYTES:
            found = _sample(line, None)
            if found is not None and found.name == _NODE:
                node = found.labels.get("nodename") or node
            elif found is not None and found.name == _TIME:
                time = _microseconds(found.values[0])
    return ScrapeFacts(time, node)


def _sample(line: str, time: int | None) -> RawSeries | None:
    found = _BEFORE_EXEMPLAR.match(line)
    try:
        [family] = text_string_to_metric_families(line if found is None else found[0])
        [sample] = family.samples
        value = float(sample.value)
    except (ValueError, IndexError, KeyError, OverflowError):
        return None
    if sample.timestamp is not None:
        stamp = float(sample.timestamp) * 1_000  # the parser takes every time for milliseconds
        time = _microseconds(stamp / 1_000 if stamp >= _MILLISECONDS_FROM else stamp)
    return RawSeries(sample.name, sample.labels, [time], [value])


def _microseconds(seconds: float) -> int | None:
    """UTC microseconds of a time that can be one."""
    if not isfinite(seconds) or abs(seconds) > MAX_TIME / 1e6:
        return None
    return round(seconds * 1_000) * 1_000
