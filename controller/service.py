"""The HTTP client of the service: snapshots and reports go there, Advice comes from there."""

from __future__ import annotations

import ssl
import time
from dataclasses import dataclass
from http import HTTPStatus
from typing import TYPE_CHECKING, Any, TypeVar
from urllib.parse import quote

import msgspec

from relume.advice import Advice
from relume.errors import ConfigError, InputError, Retryable, UnreachableError
from relume.slurm.job import SlurmSnapshot

if TYPE_CHECKING:
    import httpx2

TIMEOUT_SECONDS = 10.0
MAX_ANSWER_SECONDS = 30.0
"""For all of an answer; the other limit is for each piece of it."""
MAX_ANSWER_BYTES = 64 << 20
"""Some 20,000 Advice with their evidence."""
FENCING_HEADER = "X-Relume-Fencing-Token"
STALE_TOKEN = "stale_fencing_token"  # noqa: S105 - the end of a problem's type
_T = TypeVar("_T")
_LATER = frozenset({408, 425, 429})
_ABOUT_ONE_REPORT = (400, 404, 409, 413, 422, 500)
"""Answers that may say something about one report only, and mustn't keep the others waiting."""


@dataclass(frozen=True, slots=True)
class Listing:
    """The active Advice, and what was no Advice that we understand (one reason each)."""

    advice: tuple[Advice, ...]
    skipped: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class Refusal:
    """Why the service didn't take a report. `final`: it knows better, and never will take it."""

    words: str
    final: bool


class LostLeaseError(UnreachableError):
    """Another controller has had the lease since: stop acting. Not a word about the report."""


class _Lease(msgspec.Struct):
    fencing_token: int


class _Attempts(msgspec.Struct):
    attempts: dict[str, str]


class _Advice(msgspec.Struct):
    advice: list[msgspec.Raw]


class _Landed(msgspec.Struct):
    complete: bool = False


class _Attempt(msgspec.Struct):
    landed: _Landed | None = None


class ServiceClient:
    """Calls the service, each call with a time-out and a bounded answer; nothing is retried here.

    Parameters
    ----------
    url
        Where the service is, without a path.
    token
        Of role *control*; null sends none.
    ca_file
        Certificates that the service's own is checked against; the usual ones when empty.
    transport
        Instead of the network, for tests.

    Raises
    ------
    UnreachableError
        From every call, when the service doesn't answer, or says that it can't now.
    ConfigError
        When it refuses the token; at once, for a `ca_file` that can't be used.
    InputError
        For any other answer that the contract doesn't name.
    """

    def __init__(
        self,
        url: str,
        token: str | None = None,
        *,
        timeout_seconds: float = TIMEOUT_SECONDS,
        ca_file: str = "",
        transport: httpx2.BaseTransport | None = None,
    ) -> None:
        import httpx2  # noqa: PLC0415 - 150 ms that --help need not pay

        self.url = url
        self._client = httpx2.Client(
            base_url=url,
            headers={"Authorization": f"Bearer {token}"} if token else {},
            timeout=timeout_seconds,
            # Proxies of the environment are for the web, not for a service on loopback.
            trust_env=False,
            verify=_trusted(ca_file),
            transport=transport,
        )
        self._failures = (httpx2.HTTPError, httpx2.InvalidURL)

    def close(self) -> None:
        """Close the connections."""
        self._client.close()

    def take_lease(self, cluster: str, holder: str, ttl_seconds: int) -> int | None:
        """Take or renew the lease of a cluster; null when another controller has it."""
        status, body = self._send(
            "PUT",
            f"/v1/controllers/{_segment(cluster)}",
            {"holder": holder, "ttl_seconds": ttl_seconds},
            fine=(HTTPStatus.CONFLICT,),
        )
        return None if status == HTTPStatus.CONFLICT else _read(body, _Lease).fencing_token

    def report_scheduler(self, snapshot: SlurmSnapshot) -> dict[str, str]:
        """Hand over what Slurm says; return the service's names of attempts, by job id."""
        _, body = self._send("POST", "/v1/scheduler", snapshot)
        return _read(body, _Attempts).attempts

    def active_advice(self, cluster: str | None = None) -> Listing:
        """Return the Advice that is to be carried out on a cluster; on all when null.

        One that can't be read doesn't stand in the way of the others.
        """
        path = "/v1/advice?active=true"
        path += "" if cluster is None else f"&cluster={_segment(cluster)}"
        _, body = self._send("GET", path)
        advice, skipped = [], []
        for raw in _read(body, _Advice).advice:
            try:
                one = msgspec.json.decode(raw, type=Advice)
                _require_storable(one)
                advice.append(one)
            except (msgspec.MsgspecError, InputError) as error:
                skipped.append(str(error))
        return Listing(tuple(advice), tuple(skipped))

    def landed(self, attempt: str) -> bool | None:
        """Whether the attempt's log is read to its end and durable; null when it isn't known."""
        missing = (HTTPStatus.NOT_FOUND,)
        status, body = self._send("GET", f"/v1/attempts/{_segment(attempt)}", fine=missing)
        if status == HTTPStatus.NOT_FOUND:
            return None
        landed = _read(body, _Attempt).landed
        return None if landed is None else landed.complete

    def reconcile(self, advice_id: str, body: bytes, fencing_token: int) -> Refusal | None:
        """Report what became of Advice; return why the service didn't take it, else null.

        Raises
        ------
        LostLeaseError
            When another controller has had the lease since.
        """
        path = f"/v1/advice/{_segment(advice_id)}/reconciliation"
        headers = {FENCING_HEADER: str(fencing_token)}
        return self._tell("PUT", path, body, headers)

    def milestone(self, body: bytes) -> Refusal | None:
        """Report a milestone; return why the service didn't take it, else null."""
        return self._tell("POST", "/v1/milestones", body, {})

    @staticmethod
    def answer_path(advice_id: str, verb: str) -> str:
        """Return where an Advice is answered; `verb` is approve or reject."""
        return f"/v1/advice/{_segment(advice_id)}/{verb}"

    def answer(self, path: str, body: bytes) -> Refusal | None:
        """Hand a person's answer over; return why the service didn't take it, else null."""
        return self._tell("POST", path, body, {})

    def _tell(self, method: str, path: str, body: bytes, headers: dict[str, str]) -> Refusal | None:
        content = msgspec.Raw(body)
        status, answer = self._send(method, path, content, fine=_ABOUT_ONE_REPORT, headers=headers)
        if _problem(answer).get("type", "").endswith(STALE_TOKEN):
            hint = "it is reported when the lease is ours again"
            raise LostLeaseError(f"{method} {path}", found=_words(answer), hint=hint)
        if status not in _ABOUT_ONE_REPORT:
            return None
        return Refusal(f"{status}: {_words(answer)}", final=status == HTTPStatus.CONFLICT)

    def _send(
        self,
        method: str,
        path: str,
        content: object = None,
        *,
        fine: tuple[int, ...] = (),
        headers: dict[str, str] | None = None,
    ) -> tuple[int, bytes]:
        what = f"{method} {self.url}{path}"
        headers = {"Content-Type": "application/json", **(headers or {})}
        body = None if content is None else msgspec.json.encode(content)
        try:
            with self._client.stream(method, path, content=body, headers=headers) as response:
                answer = _bounded(response, what)
        except self._failures as error:
            raise UnreachableError(
                what,
                found=str(error) or type(error).__name__,
                hint="is `relume serve` running? see controller.service",
            ) from error
        if response.is_success or response.status_code in fine:
            return response.status_code, answer
        raise _refusal(what, response, answer)


def _trusted(ca_file: str) -> ssl.SSLContext | bool:
    if not ca_file:
        return True
    try:
        return ssl.create_default_context(cafile=ca_file)
    except OSError as error:  # what can't be read, and what is no certificate
        raise ConfigError(
            f"controller.ca_file {ca_file}", found=str(error), expected="certificates in PEM"
        ) from error


def _require_storable(advice: Advice) -> None:
    """Refuse numbers of more than 64 bits, which JSON has and the journal can't hold."""
    for number in (advice.generation, advice.created_at, advice.expires_at):
        if not -(2**63) <= number < 2**63:
            raise InputError(f"advice {advice.advice_id}", found=str(number), expected="64 bits")


def _bounded(response: httpx2.Response, what: str) -> bytes:
    answer, end = bytearray(), time.monotonic() + MAX_ANSWER_SECONDS
    for piece in response.iter_bytes():
        answer += piece
        if time.monotonic() > end:
            expected = f"all of it within {MAX_ANSWER_SECONDS:g} s"
            raise UnreachableError(what, found="a slow answer", expected=expected)
        if len(answer) > MAX_ANSWER_BYTES:
            raise InputError(what, found="a longer answer", expected=f"{MAX_ANSWER_BYTES} bytes")
    return bytes(answer)


def _refusal(what: str, response: httpx2.Response, answer: bytes) -> Exception:
    status, words = response.status_code, f"{response.status_code}: {_words(answer)}"
    if status in {HTTPStatus.UNAUTHORIZED, HTTPStatus.FORBIDDEN}:
        hint = "controller.token_file must hold a token of role control"
        return ConfigError(what, found=words, hint=hint)
    if status in _LATER or status >= HTTPStatus.INTERNAL_SERVER_ERROR:
        after = response.headers.get("Retry-After", "")
        seconds = float(after) if after.isdigit() else Retryable.after_seconds
        return UnreachableError(what, found=words, after_seconds=seconds)
    hint = "are service and controller of the same version?"
    return InputError(what, found=words, hint=hint)


def _words(answer: bytes) -> str:
    """Return the detail of a problem document, else the beginning of the answer."""
    problem = _problem(answer)
    text = problem.get("detail") or problem.get("title") or answer.decode(errors="replace")
    return text[:500]


def _problem(answer: bytes) -> dict[str, str]:
    """Return the texts of a problem document (RFC 9457), none when it is something else."""
    try:
        document = msgspec.json.decode(answer, type=dict[str, Any])
    except msgspec.MsgspecError:
        return {}
    return {name: value for name, value in document.items() if isinstance(value, str)}


def _read(body: bytes, kind: type[_T]) -> _T:
    try:
        return msgspec.json.decode(body, type=kind)
    except msgspec.MsgspecError as error:
        raise InputError(
            "answer of the service",
            found=str(error),
            hint="are service and controller of the same version?",
        ) from error


def _segment(text: str) -> str:
    return quote(text, safe="")
