"""What commands need to read metrics: the table of names, and the Prometheus of a configuration."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import AbstractContextManager, contextmanager, nullcontext
from pathlib import Path
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from relume.features.metrics.names import NameTable
    from relume.ingest.importing.prometheus import Asked
    from relume.settings import Settings


def load_names_of(settings: Settings) -> NameTable:
    """Return the table of names with the site's files.

    Raises
    ------
    ConfigError
        For a file that can't be read or used.
    """
    from relume.serve.configured import names_of

    return names_of(settings)


def asked_prometheus(
    settings: Settings,
    names: NameTable,
    *,
    url: str | None,
    queries: Sequence[str] | None,
    step: str,
    times: tuple[str | None, str | None],
) -> AbstractContextManager[Asked | None]:
    """Return what is asked for of which Prometheus, open within a `with`; null without a URL.

    Raises
    ------
    RelumeError
        For times, steps, queries or a URL that can't be used, and for any of them without a URL.
    """
    from relume.errors import InputError

    if url is not None:
        return _open(settings, names, url, (list(queries or ()), step, times))
    if queries or any(times):
        raise InputError(
            "--query, --starttime and --endtime are about a Prometheus",
            hint="name it: --prometheus",
        )
    return nullcontext()


@contextmanager
def _open(
    settings: Settings,
    names: NameTable,
    url: str,
    asked: tuple[list[str], str, tuple[str | None, str | None]],
) -> Iterator[Asked]:
    from relume.clock import MICROSECONDS_PER_SECOND, SystemClock
    from relume.errors import InputError
    from relume.features.metrics.queries import queries_of
    from relume.ingest.importing.prometheus import Asked
    from relume.ingest.metrics.prometheus import Prometheus
    from relume.ingest.metrics.session import Access
    from relume.serve.scan.window import parse_span, parse_time

    queries, step, (start, end) = asked
    if start is None:
        raise InputError("import from Prometheus", found="no time", expected="--starttime")
    step_seconds, rest = divmod(parse_span(step), MICROSECONDS_PER_SECOND)
    if step_seconds < 1 or rest:
        raise InputError(f"--step {step}", expected="a whole number of seconds from 1 on")
    now, zone = SystemClock().now, settings.cluster.timezone
    span = (parse_time(start, now, zone), min(parse_time(end or "now", now, zone), now()))
    if span[0] >= span[1]:
        raise InputError(
            "import from Prometheus", found=f"{start} to {end or 'now'}", expected="some time"
        )
    of = settings.metrics
    access = Access(
        token_file=Path(of.token_file) if of.token_file else None,
        ca_file=Path(of.ca_file) if of.ca_file else None,
        timeout_seconds=of.timeout_seconds,
    )
    with Prometheus(url, access) as server:
        yield Asked(
            server,
            queries_of(names, queries, step_seconds),
            span,
            step_seconds,
            names,
            settings.cluster.name,
        )
