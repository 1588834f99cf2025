"""The alerts of a service: a thread a target, none where nothing is configured."""

from __future__ import annotations

import hashlib
import logging
import threading
from collections.abc import Callable, Iterable, Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Self
from urllib.parse import urlsplit

from relume.clock import SystemClock
from relume.errors import ConfigError
from relume.files import require_private, small_text
from relume.serve.alerts import forms
from relume.serve.alerts.lane import Lane
from relume.serve.alerts.memory import Rules
from relume.serve.alerts.message import Level
from relume.serve.alerts.metrics import AlertMetrics
from relume.serve.alerts.targets import Alertmanager, Heartbeat, Post, Target, Webhook
from relume.serve.api import PartStatus
from relume.serve.ledger import Ledger
from relume.settings import AlertsSettings
from relume.verdict import Health

if TYPE_CHECKING:
    from prometheus_client import CollectorRegistry

log = logging.getLogger(__name__)
LOOK_SECONDS = 2.0
"""How often each target's thread looks at the ledger."""
STOP_SECONDS = 15.0
"""How long a stop waits for a request that is on its way."""
ALIVE = ("runner", "scheduler")
"""Parts of the service that must be healthy for a heartbeat."""


class Alerts:
    """Runs lanes until it is stopped; none of them can keep the others, or the runner, waiting."""

    def __init__(self, lanes: Iterable[Lane], look_seconds: float = LOOK_SECONDS) -> None:
        self._lanes, self._look_seconds = list(lanes), look_seconds
        self._stop = threading.Event()
        self._threads: list[threading.Thread] = []

    @classmethod
    def of(
        cls,
        settings: AlertsSettings,
        targets: Iterable[Target],
        ledger: Ledger,
        registry: CollectorRegistry,
        readiness: Callable[[], Mapping[str, PartStatus]],
    ) -> Self:
        """Return the alerts of a service that tells `targets`."""
        metrics, alive, rules = AlertMetrics(registry), liveness(readiness), rules_of(settings)
        clock, base = SystemClock(), settings.service_url
        return cls(
            Lane(ledger, one, clock, metrics, rules=rules, is_alive=alive, base=base)
            for one in targets
        )

    def start(self) -> None:
        """Start a thread a lane."""
        for lane in self._lanes:
            # A daemon: a receiver that hangs must not keep the service from ending.
            thread = threading.Thread(
                target=self._run, args=(lane,), name=f"alerts {lane.target.kind}", daemon=True
            )
            thread.start()
            self._threads.append(thread)

    def stop(self) -> None:
        """End the threads; what was not sent is due again after the next start."""
        self._stop.set()
        for thread in self._threads:
            thread.join(STOP_SECONDS)

    def _run(self, lane: Lane) -> None:
        while not self._stop.is_set():
            lane.step()
            self._stop.wait(self._look_seconds)
        lane.target.close()


def targets_of(settings: AlertsSettings) -> list[Target]:
    """Return the receivers that are configured.

    Raises
    ------
    ConfigError
        For a file of a secret that can't be read or that everybody can read.
    """
    token = read_secret(settings.token_file, "alerts.token_file") if settings.token_file else None
    found: list[Target] = [
        Alertmanager(url, _name("alertmanager", url), token) for url in settings.alertmanager_urls
    ]
    for url in settings.webhook_urls:
        name = _name("webhook", url)
        found.append(Webhook("webhook", name, Post(url, name, token), forms.webhook))
    if settings.slack_url_file:
        url = _read_url(settings.slack_url_file, "alerts.slack_url_file")
        name = _name("slack", url)
        found.append(Webhook("slack", name, Post(url, name), forms.slack))
    if settings.heartbeat_url_file:
        url = _read_url(settings.heartbeat_url_file, "alerts.heartbeat_url_file")
        found.append(Heartbeat("heartbeat", Post(url, "heartbeat")))
    return found


def rules_of(settings: AlertsSettings) -> Rules:
    """Return what is told, and how often."""
    return Rules(Level(settings.least_level), settings.cooldown_seconds)


def liveness(readiness: Callable[[], Mapping[str, PartStatus]]) -> Callable[[], bool]:
    """Return what tells whether jobs are watched and the scheduler is heard."""

    def is_alive() -> bool:
        parts = readiness()
        return all(name in parts and parts[name].status is Health.HEALTHY for name in ALIVE)

    return is_alive


def read_secret(file: str, setting: str) -> str:
    """Return the first line of a file that not everybody may read.

    Raises
    ------
    ConfigError
        When it can't be read, everybody can, or there is nothing in it.
    """
    try:
        require_private(Path(file), f"file of {setting}")
        lines = small_text(Path(file), "ascii").split()
    except (OSError, UnicodeDecodeError) as error:
        raise ConfigError(
            f"{setting} {file}", found=str(error), expected="a readable file with one line"
        ) from error
    if len(lines) != 1:
        raise ConfigError(
            f"{setting} {file}", found=f"{len(lines)} words", expected="one, on a line of its own"
        )
    return lines[0]


def _read_url(file: str, setting: str) -> str:
    url = read_secret(file, setting)
    parts = urlsplit(url)
    if parts.scheme not in {"http", "https"} or not parts.hostname:
        raise ConfigError(  # never the address itself
            f"{setting} {file}", found="something else", expected="an http or https address"
        )
    return url


def _name(kind: str, url: str) -> str:
    """Return a name of a target that doesn't show its address, which may be a secret."""
    return f"{kind} {hashlib.sha256(url.encode()).hexdigest()[:8]}"
