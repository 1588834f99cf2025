"""A real Slurm that runs our helper, a service of a few lines, and a controller between them."""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from wsgiref.simple_server import WSGIRequestHandler, make_server

from controlling import SECOND, advise, make_settings
from relume.advice import Advice, Operation
from relume.benchmarks.slurm.lab import SlurmLab
from relume.benchmarks.slurm.processes import wait_until
from relume.benchmarks.slurm.settings import LabSettings
from relume.clock import SystemClock
from relume.controller.actuator import SlurmActuator
from relume.controller.doors import Doors
from relume.controller.folder import ControllerFolder
from relume.controller.install import epilog_script
from relume.controller.limits import RETRY_SECONDS
from relume.controller.loop import Controller, Round
from relume.controller.reader import SlurmReader
from relume.controller.service import ServiceClient
from relume.errors import UnreachableError
from relume.identity import JobKey
from relume.settings import ControllerSettings
from relume.slurm.job import SlurmJob
from tiny_service import TOKEN, TinyService

COMMENT = '--comment={"relume": {"run": "opus"}}'
CRASH = 'while [ ! -e "fail-$SLURM_JOB_ID" ]; do sleep 0.1; done; rm "fail-$SLURM_JOB_ID"; exit 3'
"""Runs until it is told to fail."""


class Quiet(WSGIRequestHandler):
    def log_message(self, format: str, *args: object) -> None:  # noqa: A002 - the name it has
        """Say nothing."""


def start_site(start_slurm: Callable[[LabSettings], SlurmLab], path: Path) -> Site:
    """Start a cluster whose slurmctld runs our helper."""
    helper = path / "helper"
    helper.write_text("#!/bin/sh\n")
    helper.chmod(0o755)
    lab = start_slurm(LabSettings(epilog_slurmctld=helper))
    return Site(lab, path, helper)


class Site:
    """A real Slurm, a tiny service, and a controller that is called when the test wants."""

    def __init__(self, lab: SlurmLab, path: Path, helper: Path) -> None:
        self.lab = lab
        self.service = TinyService(SystemClock())
        self.reader = SlurmReader(slurm_conf=lab.slurm_conf)
        self.actuator = SlurmActuator(slurm_conf=lab.slurm_conf)
        self.path = path / "control"
        self.settings = make_settings(
            folder=str(self.path),
            partitions=["main"],
            stop_grace_seconds=0,
            gone_seconds=10,
        )
        helper.write_text(epilog_script(self.path, str(lab.slurm_conf)))

    @contextmanager
    def serving(self) -> Iterator[str]:
        """Answer on loopback; return the address."""
        server = make_server("127.0.0.1", 0, self.service, handler_class=Quiet)
        thread = threading.Thread(target=server.serve_forever, kwargs={"poll_interval": 0.05})
        thread.start()
        try:
            yield f"http://127.0.0.1:{server.server_port}"
        finally:
            server.shutdown()
            thread.join()
            server.server_close()

    @contextmanager
    def controller(
        self, actuator: SlurmActuator | None = None, settings: ControllerSettings | None = None
    ) -> Iterator[Controller]:
        """A controller in this process, which ends as if killed."""
        folder = ControllerFolder(self.path)
        folder.prepare()
        with self.serving() as url:
            client = ServiceClient(url, TOKEN)
            doors = Doors(self.reader, actuator or self.actuator, client)
            controller = Controller(doors, folder, settings or self.settings)
            try:
                yield controller
            finally:
                controller.journal.close()
                client.close()
                folder.close()

    def submit(self, script: str, *options: str, comment: str = COMMENT) -> str:
        return self.lab.submit(script, "-N1", comment, *options)

    def job(self, job_id: str) -> SlurmJob:
        job = self.reader.job(job_id)
        assert job is not None
        return job

    def fail(self, raw_job_id: str) -> None:
        (self.lab.root / "jobs" / f"fail-{raw_job_id}").touch()

    def advise(self, job: SlurmJob, operation: Operation, **changes: object) -> Advice:
        """Decide something settled about the attempt that `job` shows."""
        key = JobKey("lab", job.job_id, job.submit_time or 0)
        now = SystemClock().now()
        times = {"created_at": now, "expires_at": now + 600 * SECOND}
        attempt = f"{key}.{job.restart_count}"
        advice = advise(operation, **(times | {"attempt": attempt} | changes))
        self.service.advise(advice)
        self.service.landed[attempt] = True
        return advice

    def outcome(self, advice: Advice) -> tuple[str, str | None] | None:
        report = self.service.reconciled.get(advice.advice_id)
        return None if report is None else (report["disposition"], report["reason"])


def until(controller: Controller, done: Callable[[], object], what: str) -> None:
    """Rounds until something has happened.

    Two commands may get lost on a slow machine: each is only given again when it can't come into
    force any more.
    """
    last: Round | None = None

    def once() -> bool:
        nonlocal last
        last = controller.round()
        return bool(done())

    try:
        wait_until(once, what=what, seconds=2 * RETRY_SECONDS + 40)
    except UnreachableError as error:
        error.add_note(f"last round: {last}")
        raise
