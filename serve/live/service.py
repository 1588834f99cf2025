"""The service as a process: one runner thread, one HTTP server, one data folder."""

from __future__ import annotations

import gc
import logging
import signal
import socket
import threading
from pathlib import Path

import uvicorn
from prometheus_client import CollectorRegistry

from relume.clock import SystemClock
from relume.errors import ConfigError, UnreachableError
from relume.serve.alerts.service import Alerts, targets_of
from relume.serve.api import create_app
from relume.serve.configured import analyzer_of, names_of
from relume.serve.descriptors import allow_many_files
from relume.serve.intake.receivers import warm_up as warm_up_pushes
from relume.serve.ledger import open_configured
from relume.serve.live.entrance import access_of, note_certificate, require_entrance
from relume.serve.live.kernel import NODE
from relume.serve.live.metrics import RunnerMetrics
from relume.serve.live.options import RunnerOptions
from relume.serve.live.polling import Account, Ask, SlurmPolling
from relume.serve.live.protocol import HeadLimits
from relume.serve.live.runner import Runner
from relume.serve.live.server import Server
from relume.serve.live.surroundings import Surroundings
from relume.serve.page import Dashboard
from relume.settings import ServeSettings, Settings

log = logging.getLogger(__name__)
GRACE_SECONDS = 3
"""How long requests may go on when the service is told to end."""
BACKLOG = 4096
"""Connections that wait to be taken; the kernel's own limit may be lower."""
LAKE = "lake"
COLLECT_AFTER = (50_000, 20, 50)
"""New objects before the collector of garbage looks at them, and its looks before it looks at more;
Python's 700 would stop a busy service many times a second."""


def run_service(
    settings: Settings, ask_slurm: Ask | None = None, account: Account | None = None
) -> None:
    """Serve until SIGTERM or SIGINT.

    `ask_slurm` asks Slurm while no controller tells what runs; null leaves it to controllers.
    `account` asks accounting how attempts ended that Slurm has forgotten; null doesn't.

    Raises
    ------
    ConfigError
        For settings that don't fit together, and for a data folder that can't be used.
    UnreachableError
        When the address is taken, or the ledger can't be reached.
    """
    serve = settings.serve
    _require(serve)
    require_entrance(serve)
    note_certificate(serve, SystemClock())
    folder = Path(serve.folder)
    _make(folder)
    access = access_of(serve, folder)
    targets = targets_of(settings.alerts)
    allow_many_files()
    registry, clock = CollectorRegistry(), SystemClock()
    with _listen(serve.listen) as listener, open_configured(serve) as ledger:
        runner = Runner(
            Surroundings(
                lake=folder / LAKE,
                ledger=ledger,
                options=RunnerOptions.of(settings),
                analyzer=analyzer_of(settings),
                clock=clock,
                metrics=RunnerMetrics(registry),
            )
        )
        app = create_app(
            ledger,
            clock=clock,
            access=access,
            readiness=runner.readiness,
            on_scheduler=runner.on_scheduler,
            attempts_view=runner.view,
            registry=registry,
            door=runner.intake,
            naming=names_of(settings),
            pages=Dashboard(
                ledger=ledger,
                clock=clock,
                readiness=runner.readiness,
                lake=folder / LAKE,
                zone=settings.cluster.timezone,
            ).join,
        )
        alerts = Alerts.of(settings.alerts, targets, ledger, registry, runner.readiness)
        server = Server(
            uvicorn.Config(
                app,
                log_config=None,
                access_log=False,
                server_header=False,
                ws="none",
                http=HeadLimits,
                backlog=BACKLOG,
                timeout_graceful_shutdown=GRACE_SECONDS,
                ssl_certfile=serve.tls_cert_file or None,
                ssl_keyfile=serve.tls_key_file or None,
            ),
            app.state.feed,
        )
        threading.Thread(target=_warm_up, name="warm-up", daemon=True).start()
        stop = threading.Event()
        thread = threading.Thread(target=runner.run, args=(stop,), name="runner")
        thread.start()
        alerts.start()
        polling = None if ask_slurm is None else SlurmPolling(ask_slurm, runner, clock, account)
        if polling is not None:
            polling.start()
        for number in (signal.SIGTERM, signal.SIGINT):
            # The server has handlers of its own while it runs; it raises the signal again after
            # that, and what is below must still be done.
            signal.signal(number, lambda *_: None)
        log.info("listening on %s, data in %s, mode %s", serve.listen, folder, serve.mode)
        try:
            server.run(sockets=[listener])
        finally:
            if polling is not None:
                polling.stop()
            runner.stop(stop)
            thread.join()
            alerts.stop()
            runner.close()


def _warm_up() -> None:
    """Load what decodes pushes and judges the pace of jobs: the first step shouldn't wait for it.

    What is there then stays: the collector of garbage needn't look at it again and again, nor so
    often, since next to nothing of ours is in cycles.
    """
    try:
        from relume.models.straggler.stream import warm_up  # noqa: PLC0415 - numba takes a second

        warm_up_pushes()
        warm_up()
    except Exception:
        log.exception("pushes can't be decoded, or the pace of jobs can't be judged")
    gc.collect()
    gc.freeze()
    gc.set_threshold(*COLLECT_AFTER)


def _require(serve: ServeSettings) -> None:
    if not serve.log_roots:
        log.info("serve.log_roots names no folder: of jobs' logs only what is pushed is read")
    for root in serve.log_roots:
        if not Path(root).is_dir():
            log.warning("serve.log_roots %s is no folder (yet): no log below it can be read", root)
    for path in serve.kernel_logs:
        if NODE not in path:
            raise ConfigError(
                f"serve.kernel_logs {path!r}",
                found=f"no {NODE} in it",
                expected=f"a path such as /var/log/hosts/{NODE}/kern.log",
            )


def _make(folder: Path) -> None:
    try:
        folder.mkdir(mode=0o750, parents=True, exist_ok=True)
    except OSError as error:
        raise ConfigError(
            f"serve.folder {folder}",
            found=error.strerror or str(error),
            expected="a folder that can be made and written to",
        ) from error


def _listen(address: str) -> socket.socket:
    """Bind first: a second service must not get as far as the lake."""
    host, _, port = address.rpartition(":")
    host = host.strip("[]")
    family = socket.AF_INET6 if ":" in host else socket.AF_INET
    listener = socket.socket(family, socket.SOCK_STREAM)
    try:
        listener.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        listener.bind((host, int(port)))
        listener.listen(BACKLOG)  # who asks while we start waits, and isn't refused
    except (OSError, OverflowError) as error:
        listener.close()
        raise UnreachableError(
            f"serve.listen {address}",
            found=str(error),
            expected="an address of this host and a free port",
            hint="is `relume serve` running already?",
        ) from error
    return listener
