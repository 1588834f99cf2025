"""Prometheus, asked over a stretch of time: in pieces that it answers and that memory holds."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field
from math import ceil
from types import TracebackType
from typing import Any, Self

import requests
from prometheus_api_client import PrometheusConnect

from relume.clock import to_datetime
from relume.errors import ConfigError, InputError, UnreachableError
from relume.ingest.metrics.answers import read_result
from relume.ingest.metrics.raw import POINTS_AT_ONCE, RawSeries
from relume.ingest.metrics.session import (
    MAX_ANSWER_BYTES,
    RETRIED,
    Access,
    AnswerTooLargeError,
    AnswerTooSlowError,
    BearerAuth,
    BoundedSession,
    FailedAnswerError,
    checked_url,
    read_token,
)
from relume.ingest.skips import SkipCounts

SECOND = 1_000_000
MAX_STEPS = 11_000
"""Prometheus answers at most so many values of a series at once; Mimir and Thanos too."""
_FIRST_STEPS = 16
"""How many are asked for when nobody knows yet how many series there are."""
_TOO_MUCH = ("exceeded maximum resolution", "too many samples", "timed out", "too many points")
_SERVERS_SHARE = 0.9
"""Of the time for an answer, what the server may use for making it."""
_REFUSED = frozenset({401, 403})
_UNFIT = frozenset({400, 422, 503})


@dataclass(frozen=True, slots=True)
class RangeQuery:
    """A query over a stretch of time.

    Attributes
    ----------
    promql
        The expression.
    start, end
        Whole seconds, UTC microseconds; both are asked for.
    step_seconds
        Between two values.

    Raises
    ------
    InputError
        For a time or step that Prometheus can't be asked for.
    """

    promql: str
    start: int
    end: int
    step_seconds: int

    def __post_init__(self) -> None:
        is_whole = self.start % SECOND == 0 == self.end % SECOND
        if self.step_seconds < 1 or self.start > self.end or not is_whole:
            raise _bad_range(self)

    @property
    def steps(self) -> int:
        """How many values a series has at most."""
        return (self.end - self.start) // (self.step_seconds * SECOND) + 1


@dataclass(slots=True)
class Prometheus:
    """One server. Close it, or use it in a `with`.

    Parameters
    ----------
    url
        Where its API is, without ``/api/v1``; no password in it.
    access
        Tokens, certificates, times.
    points_at_once, max_answer_bytes
        What is held of an answer, at most; the first is aimed at, the second never exceeded.

    Raises
    ------
    ConfigError
        For a URL that isn't one, a token file or certificates that can't be used.
    """

    url: str
    access: Access = field(default_factory=Access)
    points_at_once: int = POINTS_AT_ONCE
    max_answer_bytes: int = MAX_ANSWER_BYTES
    _client: Any = field(init=False)

    def __post_init__(self) -> None:
        self.url = checked_url(self.url)
        token_file, ca_file = self.access.token_file, self.access.ca_file
        if ca_file is not None and not ca_file.is_file():
            raise ConfigError(f"certificates {ca_file}", found="no file", expected="PEM")
        token = None if token_file is None else read_token(token_file)
        self._client = PrometheusConnect(
            self.url,
            retry=self.access.retry(),
            auth=BearerAuth(token),
            session=BoundedSession(self.access, self.max_answer_bytes),
            timeout=self.access.timeout_seconds,
        )

    def __enter__(self) -> Self:
        """Return the server."""
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        """Close it."""
        self.close()

    def close(self) -> None:
        """Close the connections."""
        self._client.close()

    def pieces(self, query: RangeQuery, skipped: SkipCounts) -> Iterator[list[RawSeries]]:
        """Yield the series of a query piece by piece of its time, each value once.

        The pieces have at most `MAX_STEPS` values a series. They grow while answers are small and
        shrink when the server or the memory can't bear one, so that about `points_at_once` values
        are held, whatever the number of series.

        Raises
        ------
        UnreachableError
            When the server is down, too slow, or failing, after all tries.
        InputError
            When it refuses the query, when what it answers is no answer, and when a single step is
            too much.
        """
        steps, done = min(_FIRST_STEPS, query.steps), 0
        while done < query.steps:
            steps = min(steps, query.steps - done)
            try:
                piece = self._ask(query, done, steps, skipped)
            except _TooMuchError as error:
                if steps == 1:
                    raise _one_step(query, str(error)) from error
                steps = max(1, steps // 4)
                continue
            yield piece
            done += steps
            found = sum(len(series.times) for series in piece)
            a_step = max(1, ceil(found / steps))
            steps = max(1, min(MAX_STEPS, 4 * steps, self.points_at_once // a_step))

    def _ask(
        self, query: RangeQuery, first: int, steps: int, skipped: SkipCounts
    ) -> list[RawSeries]:
        step = query.step_seconds * SECOND
        start = query.start + first * step
        what = f"query {query.promql!r} to {self.url}"
        try:
            result = self._client.custom_query_range(
                query.promql,
                to_datetime(start),
                to_datetime(start + (steps - 1) * step),
                f"{query.step_seconds}s",
                self._options(),
            )
        except AnswerTooLargeError as error:
            raise _TooMuchError(f"more than {self.max_answer_bytes >> 20} MiB") from error
        except AnswerTooSlowError as error:
            seconds = self.access.timeout_seconds
            raise _TooMuchError(f"it took longer than {seconds:g} s to come") from error
        except FailedAnswerError as error:
            raise self._refused(what, error) from error
        except (KeyError, TypeError, RecursionError, requests.JSONDecodeError) as error:
            raise _no_prometheus(what, f"no JSON of Prometheus ({error!r:.80})") from error
        except requests.RequestException as error:
            raise self._unreachable(what, error) from error
        return read_result(result, skipped, what=f"answer to {what}")

    def _options(self) -> dict[str, str]:
        """Give up before we do; and, of Thanos, rather no answer than a part of it."""
        seconds = max(1, int(_SERVERS_SHARE * self.access.timeout_seconds))
        return {"timeout": f"{seconds}s", "partial_response": "false"}

    def _unreachable(self, what: str, error: Exception) -> UnreachableError:
        return UnreachableError(
            what,
            found=_words(error),
            expected=f"an answer within {self.access.timeout_seconds:g} s",
            hint=f"it was tried up to {self.access.tries} times; is it up, and reached from here?",
            after_seconds=self.access.timeout_seconds,
        )

    def _refused(self, what: str, error: FailedAnswerError) -> Exception:
        if error.status in _UNFIT and any(sign in error.words for sign in _TOO_MUCH):
            return _TooMuchError(error.words)
        if error.status in _REFUSED:
            return ConfigError(
                what,
                found=str(error),
                expected="to be let in",
                hint="name a file with a valid token",
            )
        if error.status in RETRIED or error.status == requests.codes.service_unavailable:
            return UnreachableError(
                what,
                found=str(error),
                expected="an answer",
                hint=f"it was tried up to {self.access.tries} times",
                after_seconds=self.access.timeout_seconds,
            )
        return InputError(
            what,
            found=str(error),
            expected="a query that Prometheus understands, at its URL",
        )


class _TooMuchError(Exception):
    """The piece of time was too long for the server, or its answer for us."""


def _words(error: Exception) -> str:
    if isinstance(error, requests.Timeout):
        return "no answer in time"
    if isinstance(error, requests.exceptions.SSLError):
        return "a certificate that isn't trusted"
    reason = getattr(error.args[0] if error.args else error, "reason", error)
    return str(reason)[-200:]


def _no_prometheus(what: str, found: str) -> InputError:
    return InputError(
        what, found=found, expected="an answer of Prometheus' API", hint="check the URL"
    )


def _one_step(query: RangeQuery, found: str) -> InputError:
    return InputError(
        f"query {query.promql!r}",
        found=f"too much for one answer, at a single time: {found}",
        expected="fewer series",
        hint="ask for some nodes at a time, or add series up in the query",
    )


def _bad_range(query: RangeQuery) -> InputError:
    return InputError(
        f"query {query.promql!r}",
        found=f"{query.start} to {query.end} µs in steps of {query.step_seconds} s",
        expected="whole seconds, an end that isn't before the start, steps of 1 s or more",
    )
