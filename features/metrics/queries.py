"""What to ask Prometheus for: the table of names as PromQL, or what a person wrote."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator
from typing import NamedTuple

from relume.errors import InputError
from relume.features.metrics.names import NameRule, NameTable, is_metric

_NAMED = re.compile(r"\s*([a-z][a-z0-9_]*)\s*=(?!=|~)\s*(.+)", re.ASCII | re.DOTALL)


class Query(NamedTuple):
    """One query.

    Attributes
    ----------
    promql
        The expression.
    name
        What the exporter calls its series where they come without a name; null where they have it.
    metric
        What Relume calls its series, whatever their names; null where the table says it.
    """

    promql: str
    name: str | None = None
    metric: str | None = None


def queries_of(table: NameTable, texts: Iterable[str], step_seconds: int) -> list[Query]:
    """Return the queries of `texts`; of none, one for each name of the table.

    Parameters
    ----------
    table
        The names that are known.
    texts
        A name of the table; any PromQL; or ``METRIC=PROMQL``, which gives the result one of
        Relume's names.
    step_seconds
        Between two values. A value is asked for that is less than two steps old, so that a series
        that ends isn't seen for five minutes more, as Prometheus would have it.

    Raises
    ------
    InputError
        For a ``METRIC`` that can't be one of Relume's names, and an empty text.

    Examples
    --------
    >>> from relume.features.metrics.names import load_names
    >>> table = load_names()
    >>> queries_of(table, ["up"], 15)[0].promql
    'last_over_time(up[29s])'
    >>> queries_of(table, ["gpu_power_watts=avg by (instance) (power)"], 15)[0]
    Query(promql='avg by (instance) (power)', name=None, metric='gpu_power_watts')
    """
    asked = list(texts)
    if not asked:
        return [_of_rule(table, name, rule, step_seconds) for name, rule in table.rules.items()]
    return list(_asked(table, asked, step_seconds))


def _asked(table: NameTable, texts: Iterable[str], step_seconds: int) -> Iterator[Query]:
    for text in texts:
        named = _NAMED.fullmatch(text)
        rule = table.rules.get(text.strip())
        if named is not None:
            yield Query(named[2], metric=_metric(named[1]))
        elif rule is not None:
            yield _of_rule(table, text.strip(), rule, step_seconds)
        elif text.strip():
            yield Query(text)
        else:
            raise InputError("query for metrics", found="nothing", expected="PromQL")


def _metric(name: str) -> str:
    if is_metric(name):
        return name
    raise InputError(
        f"query that is called {name!r}",
        expected="a name that ends with its unit, such as gpu_power_watts",
        hint="docs/metrics.md lists names and units",
    )


def _of_rule(table: NameTable, name: str, rule: NameRule, step_seconds: int) -> Query:
    unless = ",".join(
        f"{label}!={_quoted(value)}" for label, values in rule.unless.items() for value in values
    )
    seconds = max(2 * step_seconds - 1, 1)
    latest = f"last_over_time({name}{f'{{{unless}}}' if unless else ''}[{seconds}s])"
    if rule.fold is None:
        return Query(latest)
    # Added up where it is kept: a node has thousands of such series.
    kept = (*table.labels.node, *table.labels.gpu, *table.labels.rank, *rule.device)
    return Query(f"sum by ({', '.join(dict.fromkeys(kept))}) ({latest})", name=name)


def _quoted(text: str) -> str:
    escaped = text.replace("\\", "\\\\").replace('"', '\\"').replace("\n", "\\n")
    return f'"{escaped}"'
