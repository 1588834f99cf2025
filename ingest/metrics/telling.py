"""What tells metrics from logs by the first lines: it costs nothing to import."""

from __future__ import annotations

import re

_LINES_TOLD_BY = 200
_MOSTLY = 0.5
_KINDS = "counter|gauge|gaugehistogram|histogram|info|stateset|summary|unknown|untyped"
_TYPE = re.compile(rf"#\s{{1,9}}TYPE\s{{1,9}}\S{{1,300}}\s{{1,9}}(?:{_KINDS})", re.ASCII)
_SAMPLE = re.compile(
    r"[a-zA-Z_:][a-zA-Z0-9_:]*+(?:\{[^\n]*\})?[ \t]++[-+]?(?:[\d.]++(?:[eE][-+]?\d++)?|NaN|Inf)"
    r"(?:[ \t]++[-+\d.eE]++)?[ \t]*+",
    re.ASCII,
)


def is_answer(start: str) -> bool:
    """Whether a text begins as such an answer does.

    >>> is_answer('{"status":"success","data":{"resultType":"matrix","result":[{"metric":{')
    True
    >>> is_answer('{"event": "Sample"}')
    False
    """
    start = start.lstrip()
    if start.startswith("["):
        return start[1:].lstrip().startswith('{"metric":')
    return start.startswith("{") and '"resultType"' in start[:1000]


def is_exposition(start: str) -> bool:
    r"""Whether a text begins as an exposition does: with types of metrics, and samples below them.

    >>> is_exposition("# HELP up Whether it answers.\n# TYPE up gauge\nup 1\n")
    True
    >>> is_exposition("# loss and steps\nstep 100\nstep 200\n")
    False
    """
    lines = [line.strip() for line in start.split("\n")[:_LINES_TOLD_BY]]
    texts = [line for line in lines if line and not line.startswith("#")]
    if not any(map(_TYPE.fullmatch, lines)):
        return False
    return sum(map(bool, map(_SAMPLE.fullmatch, texts))) > _MOSTLY * len(texts)
