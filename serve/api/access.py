"""Who may ask for what, and how much they may send: one table of all routes.

It goes by method and path, not by the code of a route: what changes something is closed to
everybody but role control until it is opened here on purpose.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from ipaddress import ip_address
from typing import Final

from relume.serve.api.sessions import Sessions
from relume.serve.api.tokens import Role, Tokens

KIB, MIB = 1024, 1024 * 1024
MAX_BODY_BYTES = 64 * MIB
"""The largest body that is taken: a snapshot of about 100,000 jobs on 8 nodes each."""
MAX_PUSH_BYTES = 32 * MIB
"""Of one push, as it comes over the wire; what it may unpack to is the push routes' business."""
MAX_WORDS_BYTES = 256 * KIB
"""Of what a person or a controller says about one thing."""
SAFE_METHODS = frozenset({"GET", "HEAD", "OPTIONS"})
"""Read only."""
_POST: Final = frozenset({"POST"})


@dataclass(frozen=True, slots=True)
class Rule:
    """What some routes ask for.

    Attributes
    ----------
    methods
        That it is about.
    path
        The beginning of the paths that it is about; one without a ``/`` at its end stands for
        itself and what is below it.
    role
        Who may; null for everybody.
    max_body_bytes
        The largest body that is taken, as it comes over the wire.
    """

    methods: frozenset[str]
    path: str
    role: Role | None
    max_body_bytes: int = MAX_WORDS_BYTES

    def covers(self, method: str, path: str) -> bool:
        """Whether it is about a request."""
        if method not in self.methods:
            return False
        return path == self.path or path.startswith(f"{self.path.rstrip('/')}/")


RULES: Final = (
    # What says nothing about jobs: whether the process lives, and what the login page is made of.
    Rule(SAFE_METHODS, "/healthz", None),
    Rule(SAFE_METHODS, "/login", None),
    Rule(SAFE_METHODS, "/static/", None),
    Rule(SAFE_METHODS | {"POST", "DELETE"}, "/v1/session", None),
    # Telemetry, by whoever has it.
    Rule(_POST, "/loki/", Role.INGEST, MAX_PUSH_BYTES),
    Rule(_POST, "/v1/logs", Role.INGEST, MAX_PUSH_BYTES),
    Rule(_POST, "/api/v1/write", Role.INGEST, MAX_PUSH_BYTES),
    Rule(_POST, "/v1/events", Role.INGEST, MAX_PUSH_BYTES),
    Rule(_POST, "/v1/dumps", Role.INGEST, MAX_BODY_BYTES),
    # What the controller knows of all jobs at once.
    Rule(_POST, "/v1/scheduler", Role.CONTROL, MAX_BODY_BYTES),
)
_READING = Rule(SAFE_METHODS, "/", Role.READ)
_CHANGING = Rule(frozenset(), "/", Role.CONTROL)
_LABELS = Rule(_POST, "/v1/advice/", Role.LABEL)


def rule_of(method: str, path: str) -> Rule:
    """Return what a request asks for.

    Examples
    --------
    >>> rule_of("POST", "/loki/api/v1/push").role, rule_of("GET", "/v1/advice").role
    (<Role.INGEST: 'ingest'>, <Role.READ: 'read'>)
    >>> rule_of("POST", "/v1/advice/x/labels").role, rule_of("PATCH", "/new").role
    (<Role.LABEL: 'label'>, <Role.CONTROL: 'control'>)
    """
    for rule in RULES:
        if rule.covers(method, path):
            return rule
    if method in SAFE_METHODS:
        return _READING
    labels = path.startswith(_LABELS.path) and path.endswith("/labels")
    return _LABELS if method == "POST" and labels else _CHANGING


@dataclass(frozen=True, slots=True, kw_only=True)
class Access:
    """Who is let in.

    Attributes
    ----------
    tokens
        Of each role; without any, nobody may change something.
    open_reads
        Whether reading needs no token.
    host_names
        What a request may call this service by (header Host), beside addresses and names of the
        machine itself; null for anything. A page from elsewhere whose name is made to point here
        (DNS rebinding) comes with the name of elsewhere.
    secure
        Whether people reach it by https only; then cookies are for https only.
    sessions
        Of people who logged in with a token of theirs.
    """

    tokens: Tokens
    open_reads: bool = True
    host_names: frozenset[str] | None = None
    secure: bool = False
    sessions: Sessions = field(default_factory=Sessions)

    def knows_host(self, header: str) -> bool:
        """Whether a request may call this service so."""
        if self.host_names is None:
            return True
        name = host_name(header)
        return name in self.host_names or is_local(name)


def host_name(header: str) -> str:
    """Return the name in a Host header, without the port; small letters.

    Examples
    --------
    >>> host_name("Relume.example:8470"), host_name("[::1]:8470"), host_name("localhost")
    ('relume.example', '::1', 'localhost')
    """
    name = header.strip().lower()
    if name.startswith("["):
        return name[1:].partition("]")[0]
    return name.partition(":")[0]


def is_local(host: str) -> bool:
    """Whether a name or an address means the machine itself.

    Examples
    --------
    >>> is_local("127.0.0.1"), is_local("::1"), is_local("localhost"), is_local("gateway")
    (True, True, True, False)
    """
    try:
        return ip_address(host).is_loopback
    except ValueError:
        return host == "localhost"
