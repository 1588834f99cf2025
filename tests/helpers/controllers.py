"""A controller between a fake Slurm and a tiny service, in a folder of its own."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import closing, contextmanager
from pathlib import Path
from typing import Any

import httpx2

from controlling import NOW, make_settings
from fake_slurm import FakeSlurm, Fuse
from relume.clock import ManualClock
from relume.controller.doors import Doors
from relume.controller.folder import ControllerFolder
from relume.controller.loop import Controller, Round
from relume.controller.service import ServiceClient
from relume.slurm.job import SlurmJob
from tiny_service import TOKEN, TinyService


class Stage:
    """Slurm, service, folder and clock; controllers come and go."""

    def __init__(self, path: Path, *jobs: SlurmJob, **settings: Any) -> None:
        self.clock = ManualClock(NOW)
        self.slurm = FakeSlurm(self.clock, *jobs)
        self.service = TinyService(self.clock)
        self.settings = make_settings(**({"folder": str(path), "log_wait_seconds": 0} | settings))
        self.folder = ControllerFolder(path)

    @contextmanager
    def doors(self) -> Iterator[Doors]:
        """Open the doors."""
        transport = httpx2.WSGITransport(app=self.service)
        client = ServiceClient("http://service", TOKEN, transport=transport)
        seconds = lambda: self.clock.now() / 1_000_000  # noqa: E731 - a clock in one line
        try:
            yield Doors(self.slurm, self.slurm, client, self.clock, seconds)
        finally:
            client.close()

    @contextmanager
    def controller(self) -> Iterator[Controller]:
        """Start a controller; it ends as if killed, without a word."""
        with closing(self.folder), self.doors() as doors:
            self.folder.prepare()
            controller = Controller(doors, self.folder, self.settings)
            with closing(controller.journal):
                yield controller

    def round(self, count: int = 1) -> Round:
        """Do rounds with one controller, two seconds apart."""
        with self.controller() as controller:
            for _ in range(count):
                last = controller.round()
                self.clock.advance(2)
        return last

    def burn(self, fuse: Fuse) -> None:
        """Let every effect, on Slurm or by the service, pass by this fuse."""
        self.slurm.fuse = fuse
        self.service.burn = fuse.burn
