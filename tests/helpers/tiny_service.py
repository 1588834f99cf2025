"""A service of a few lines that keeps the contract of `relume serve` towards the controller."""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Iterable
from typing import Any
from urllib.parse import parse_qs, unquote

import msgspec

from relume.advice import Advice
from relume.clock import Clock
from relume.controller.marker import read_marker

SECOND = 1_000_000
TOKEN = "control-token"  # noqa: S105 - made up
_Answer = tuple[int, dict[str, Any] | None]


class TinyService:
    """A WSGI application; its attributes are its state."""

    def __init__(self, clock: Clock) -> None:
        self.clock = clock
        self.holder: str | None = None
        self.fencing_token = 0
        self.lease_ends = 0
        self.advice: dict[str, Advice] = {}
        self.reconciled: dict[str, dict[str, Any]] = {}
        self.landed: dict[str, bool] = {}
        self.milestones: list[dict[str, Any]] = []
        self.snapshots: list[dict[str, Any]] = []
        self.calls: list[str] = []
        self.broken: _Answer | None = None
        self.burn: Callable[[], None] = lambda: None

    def advise(self, *advice: Advice) -> None:
        """Decide something."""
        self.advice |= {one.advice_id: one for one in advice}

    def __call__(
        self, environ: dict[str, Any], start_response: Callable[..., Any]
    ) -> Iterable[bytes]:
        self.burn()
        status, document = self._answer(environ)
        self.burn()
        body = b"" if document is None else json.dumps(document).encode()
        kind = "application/json" if status < 400 else "application/problem+json"
        headers = [("Content-Type", kind), ("Content-Length", str(len(body)))]
        start_response(f"{status} x", headers)
        return [body]

    def _answer(self, environ: dict[str, Any]) -> _Answer:
        method, path = environ["REQUEST_METHOD"], environ["PATH_INFO"]
        self.calls.append(f"{method} {path}")
        if self.broken is not None:
            return self.broken
        if method != "GET" and environ.get("HTTP_AUTHORIZATION") != f"Bearer {TOKEN}":
            return 401, {"title": "Unauthorized", "detail": "no control token"}
        length = int(environ.get("CONTENT_LENGTH") or 0)
        body = json.loads(environ["wsgi.input"].read(length)) if length else {}
        query = parse_qs(environ["QUERY_STRING"])
        token = environ.get("HTTP_X_RELUME_FENCING_TOKEN")
        if path == "/v1/advice":
            return self._active(query)
        for pattern, answer in self._routes(body, token).items():
            match = re.fullmatch(pattern, f"{method} {path}")
            if match is not None:
                return answer(unquote(match[1]) if match.re.groups else "")
        return 404, {"title": "Not Found"}

    def _routes(self, body: Any, token: str | None) -> dict[str, Callable[[str], _Answer]]:
        return {
            r"PUT /v1/controllers/(.+)": lambda cluster: self._lease(cluster, body),
            r"POST /v1/scheduler": lambda _: self._scheduler(body),
            r"GET /v1/attempts/(.+)": self._attempt,
            r"PUT /v1/advice/(.+)/reconciliation": lambda one: self._reconcile(one, body, token),
            r"POST /v1/milestones": lambda _: self._milestone(body),
        }

    def _lease(self, cluster: str, body: dict[str, Any]) -> _Answer:
        now = self.clock.now()
        if self.holder not in {None, body["holder"]} and now < self.lease_ends:
            return 409, {"title": "Conflict", "detail": f"{self.holder} has it"}
        self.fencing_token += self.holder != body["holder"]
        self.holder = body["holder"]
        self.lease_ends = now + body["ttl_seconds"] * SECOND
        return 200, {
            "cluster": cluster,
            "holder": self.holder,
            "fencing_token": self.fencing_token,
            "expires_at": self.lease_ends,
        }

    def _scheduler(self, body: dict[str, Any]) -> _Answer:
        self.snapshots.append(body)
        attempts = {}
        for job in body["jobs"]:
            marker = read_marker(job["admin_comment"])
            first = job["submit_time"] if marker is None else marker.first_submit
            name = f"{body['cluster']}/{job['job_id']}@{first // SECOND}.{job['restart_count']}"
            attempts[job["job_id"]] = name
        return 200, {"attempts": attempts}

    def _active(self, query: dict[str, list[str]]) -> _Answer:
        assert query["active"] == ["true"]
        newest: dict[str, Advice] = {}
        for one in self.advice.values():
            other = newest.get(one.attempt)
            if other is None or one.generation > other.generation:
                newest[one.attempt] = one
        active = [
            one
            for one in newest.values()
            if one.expires_at > self.clock.now() and one.advice_id not in self.reconciled
        ]
        return 200, {"advice": msgspec.to_builtins(active)}

    def _attempt(self, attempt: str) -> _Answer:
        if attempt not in self.landed:
            return 404, {"title": "Not Found", "detail": f"no attempt {attempt}"}
        return 200, {"attempt": attempt, "landed": {"bytes": 1, "complete": self.landed[attempt]}}

    def _reconcile(self, advice_id: str, body: dict[str, Any], token: str | None) -> _Answer:
        if token != str(self.fencing_token):
            kind = "urn:relume:problem:stale_fencing_token"
            return 409, {"title": "Conflict", "type": kind, "detail": "an old fencing token"}
        if advice_id in self.reconciled:
            return 409, {"title": "Conflict", "detail": "that is final"}
        if advice_id not in self.advice:
            return 404, {"title": "Not Found"}
        self.reconciled[advice_id] = body
        return 200, {}

    def _milestone(self, body: dict[str, Any]) -> _Answer:
        if body not in self.milestones:
            self.milestones.append(body)
        return 204, None
