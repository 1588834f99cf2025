"""What is asked over HTTP: the service itself, Prometheus, Alertmanagers; each once, in seconds."""

from __future__ import annotations

import ssl
from collections.abc import Iterator
from datetime import datetime
from email.utils import parsedate_to_datetime
from http import HTTPStatus
from pathlib import Path
from typing import TYPE_CHECKING, Any

from relume.clock import MICROSECONDS_PER_SECOND, Clock, from_datetime
from relume.errors import UnreachableError
from relume.serve.doctor.finding import Finding, failing, ok, unknown, unreachable, warning

if TYPE_CHECKING:
    import httpx2

TIMEOUT_SECONDS = 5.0
FEW_SKEW_SECONDS, MUCH_SKEW_SECONDS = 2.0, 30.0
_ROUNDED_SECONDS = 1.0
"""What a date without fractions may be off."""


def service(
    url: str, clock: Clock, *, ca_file: Path | None, token: str | None
) -> Iterator[Finding]:
    """Ask the service how its parts are, and what time it is there."""
    asked = clock.now()
    answer = _get(f"{url}/readyz", ca_file, token)
    answered = clock.now()
    if answer.status_code in {HTTPStatus.UNAUTHORIZED, HTTPStatus.FORBIDDEN}:
        yield unknown(
            "service",
            f"{url} answers, and wants a token for reading",
            "name one with --token-file",
        )
    elif answer.status_code not in {HTTPStatus.OK, HTTPStatus.SERVICE_UNAVAILABLE}:
        fix = "is another program listening there? see serve.listen"
        yield failing("service", f"{url}/readyz answers with status {answer.status_code}", fix)
    else:
        yield from _parts(url, answer)
    date = answer.headers.get("date")
    if date is not None:
        yield skew("clock", f"the service at {url}", parsedate_to_datetime(date), (asked, answered))


def _parts(url: str, answer: httpx2.Response) -> Iterator[Finding]:
    try:
        parts: dict[str, dict[str, Any]] = answer.json()["parts"]
        bad = {name: part["reason"] for name, part in parts.items() if part["status"] != "healthy"}
    except (ValueError, KeyError, TypeError):
        fix = "is another program listening there? see serve.listen"
        yield failing("service", f"{url}/readyz answers something else", fix)
        return
    for name, reason in bad.items():
        yield failing("service", f"part {name} isn't healthy: {reason}", _FIXES.get(name, _ELSE))
    if not bad:
        yield ok("service", f"{url} is ready: {', '.join(parts)}")


_ELSE = "look at the log of relume serve"
_FIXES = {
    "ledger": "look at the disk, at serve.ledger_url, and at the database's own log",
    "runner": "look at the log of relume serve, at the disk and the folders of logs",
    "scheduler": "start relume control, and see that slurmctld answers",
    "ingest": "see whether the senders of logs and metrics still run",
}


def skew(check: str, who: str, theirs: datetime, asked: tuple[int, int]) -> Finding:
    """Return how far another clock is from ours.

    `theirs` was read in whole seconds between two of our times (UTC microseconds): when it was
    asked for, and when the answer was there.
    """
    said, (begin, end) = from_datetime(theirs), asked
    off = (said - min(max(said, begin), end)) / MICROSECONDS_PER_SECOND
    away = max(0.0, abs(off) - _ROUNDED_SECONDS)
    words = f"the clock of {who} is {abs(off):.0f} s {'ahead of' if off > 0 else 'behind'} ours"
    fix = "let NTP or chrony keep the clocks of both machines; times of logs are compared"
    if away > MUCH_SKEW_SECONDS:
        return failing(check, words, fix)
    if away > FEW_SKEW_SECONDS:
        return warning(check, words, fix)
    return ok(check, f"the clock of {who} is ours, within {FEW_SKEW_SECONDS:.0f} s")


def ready(check: str, url: str, token: str | None = None) -> Iterator[Finding]:
    """Ask a Prometheus or an Alertmanager whether it is ready."""
    answer = _get(f"{url.rstrip('/')}/-/ready", None, token)
    if answer.status_code == HTTPStatus.OK:
        yield ok(check, f"{url} is ready")
    else:
        fix = "look at its own log, and at the address"
        yield unreachable(check, f"{url} answers with status {answer.status_code}", fix)


def _get(url: str, ca_file: Path | None, token: str | None) -> httpx2.Response:
    """Return an answer; its certificate must be one of `ca_file`, where that is named.

    Raises
    ------
    UnreachableError
        When there is none.
    """
    import httpx2  # noqa: PLC0415 - 150 ms

    verify: ssl.SSLContext | bool = True
    if ca_file is not None:
        verify = ssl.create_default_context(cafile=str(ca_file))
        verify.check_hostname = False  # it is asked by its address, and the file is its own
    headers = {"Authorization": f"Bearer {token}"} if token else {}
    try:
        return httpx2.get(
            url, headers=headers, timeout=TIMEOUT_SECONDS, verify=verify, trust_env=False
        )
    except (httpx2.HTTPError, httpx2.InvalidURL) as error:
        raise UnreachableError(
            url,
            found=str(error) or type(error).__name__,
            expected="an answer",
            hint="is it running, and is this its address?",
        ) from error
