"""A whole site on one machine: a real Slurm with our helper, `relume serve` and `relume control`.

Everything is started as an operator would: one TOML file, the command line, processes.
"""

from __future__ import annotations

import os
import secrets
import shutil
import signal
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass
from pathlib import Path
from types import TracebackType
from typing import Self

import httpx2

from relume.benchmarks.loop import asked
from relume.benchmarks.loop.asked import Asked
from relume.benchmarks.loop.daemon import Daemon
from relume.benchmarks.loop.training import Trainer
from relume.benchmarks.serving.settings import configuration
from relume.benchmarks.slurm.lab import SlurmLab
from relume.benchmarks.slurm.ports import HOST, PortBlock
from relume.benchmarks.slurm.settings import LabSettings
from relume.controller.install import NAME as HELPER
from relume.controller.reader import SlurmReader
from relume.errors import InputError, UnreachableError

CLUSTER = "lab"
PARTITION = "main"
_MARK = ".relume-site"
"""A file that says that a folder is ours, and may be emptied for the next run."""


@dataclass(frozen=True, slots=True, kw_only=True)
class SiteSettings:
    """What a site consists of. The settings of Relume not named here are its defaults."""

    nodes: int = 5
    max_restarts: int = 3
    settle_seconds: float = 10.0
    interval_seconds: float = 10.0
    busy_interval_seconds: float = 1.0


class Site:
    """The site in `folder`; a context manager that starts and stops it. Its files stay.

    Parameters
    ----------
    folder
        Configuration, logs of every part, lake and ledger, what the jobs write.
    python
        A Python with PyTorch, for the jobs.

    Attributes
    ----------
    lab
        Slurm. Its own folder is a temporary one, since unix sockets need a short name.
    serve, control
        The processes of Relume.
    trainer
        Submits training jobs.
    """

    def __init__(self, folder: Path, python: Path, settings: SiteSettings | None = None) -> None:
        self.folder = folder.absolute()
        self.settings = settings or SiteSettings()
        self.serve: Daemon
        self.control: Daemon
        self._stack = ExitStack()
        self._python = python

    def __enter__(self) -> Self:
        with ExitStack() as stack:
            self._start(stack)
            self._stack = stack.pop_all()
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        self._stack.close()

    @property
    def ledger(self) -> Path:
        """The database of Advice."""
        return self.folder / "data" / "ledger.db"

    @property
    def configuration(self) -> Path:
        """The file that all parts of Relume read."""
        return self.folder / "relume.toml"

    @property
    def lake(self) -> Path:
        """The folder of what was landed."""
        return self.folder / "data" / "lake"

    def commands(self) -> list[Asked]:
        """Return what controller and helper have asked Slurm for so far."""
        return asked.read(self._asked_log)

    def switch_controller(self, mode: str, *options: str) -> None:
        """Start the controller again in another mode, and with other options if given."""
        self.control.stop()
        self.control = self._make_control(mode, *options)
        self._stack.callback(self.control.stop)
        self.control.start()

    def wait_until_ready(self) -> None:
        """Wait until the service says that its parts are well and the controller speaks to it."""
        self.serve.wait_for(self.is_ready, what="relume serve to be ready")
        self.control.require()

    def is_ready(self) -> bool:
        """Whether the service says so."""
        return self._answers("readyz")

    # --- inside ----------------------------------------------------------------------------------

    def _start(self, stack: ExitStack) -> None:
        self._make_folders()
        port = stack.enter_context(PortBlock(1)).base_port
        self.url = f"http://{HOST}:{port}"
        root = Path(tempfile.mkdtemp(prefix="rl-"))
        stack.callback(shutil.rmtree, root, ignore_errors=True)
        helper = self.folder / HELPER
        lab_settings = LabSettings(nodes=self.settings.nodes, epilog_slurmctld=helper)
        self.lab = SlurmLab(root, lab_settings)
        self.reader = SlurmReader(slurm_conf=self.lab.slurm_conf)
        self._write_configuration(port)
        asked.install(self.folder / "bin", self._asked_log)
        self._install_helper(helper)
        self.trainer = Trainer(
            self.lab,
            self._python,
            runs=self.folder / "runs",
            outputs=self.folder / "jobs",
            kernel_log=self._kernel_log,
        )
        stack.callback(self._keep_logs, root)
        stack.enter_context(self.lab)
        self.serve = self._daemon("serve")
        self.control = self._make_control("act")
        stack.callback(self.serve.stop)
        stack.callback(self.control.stop)
        self.serve.start()
        self.serve.wait_for(lambda: self._answers("healthz"), what="relume serve")
        self.control.start()
        self.wait_until_ready()

    def _make_folders(self) -> None:
        if (self.folder / _MARK).exists():
            shutil.rmtree(self.folder)
        elif self.folder.exists() and any(self.folder.iterdir()):
            raise InputError(
                f"folder {self.folder}",
                found="files that no earlier run of ours left",
                expected="a new or empty folder, or that of an earlier run",
                hint="name another",
            )
        for name in ("jobs", "runs", "logs", "data", "control"):
            (self.folder / name).mkdir(parents=True)
        (self.folder / _MARK).touch()
        token = self.folder / "token"
        token.write_text(secrets.token_hex(16) + "\n", encoding="ascii")
        token.chmod(0o600)
        self._asked_log = self.folder / "logs" / "asked.tsv"
        self._kernel_log = str(self.folder / "kernel" / "{node}" / "kern.log")

    def _write_configuration(self, port: int) -> None:
        settings = self.settings
        sections: dict[str, dict[str, object]] = {
            "cluster": {"name": CLUSTER},
            "serve": {
                "listen": f"{HOST}:{port}",
                "folder": str(self.folder / "data"),
                "control_token_file": str(self.folder / "token"),
                "log_roots": [str(self.folder / "jobs")],
                "kernel_logs": [self._kernel_log],
                "mode": "act",
                "settle_seconds": settings.settle_seconds,
            },
            "policy": {"max_restarts": settings.max_restarts},
            "controller": {
                "service": self.url,
                "token_file": str(self.folder / "token"),
                "slurm_conf": str(self.lab.slurm_conf),
                "folder": str(self.folder / "control"),
                "mode": "act",
                "partitions": [PARTITION],
                "interval_seconds": settings.interval_seconds,
                "busy_interval_seconds": settings.busy_interval_seconds,
                "max_actions_per_hour": 1000,
                "max_restarts_per_day": 100,
            },
        }
        self.configuration.write_text(configuration(sections), encoding="utf-8")

    def _install_helper(self, helper: Path) -> None:
        command = self._command("control", "install-epilog", "--to", str(helper))
        scontrol = str(self.folder / "bin" / "scontrol")
        done = subprocess.run(
            [*command, "--scontrol", scontrol],
            capture_output=True,
            text=True,
            timeout=60,
            check=False,
        )
        if done.returncode:
            raise UnreachableError("relume control install-epilog", found=done.stderr.strip())

    def _make_control(self, mode: str, *options: str) -> Daemon:
        return self._daemon("control", "--mode", mode, *options)

    def _daemon(self, verb: str, *words: str) -> Daemon:
        path = os.environ.get("PATH", os.defpath)
        return Daemon(
            verb,
            self._command(verb, *words),
            folder=self.folder,
            log=self.folder / "logs" / f"{verb}.log",
            environment=os.environ | {"PATH": f"{self.folder}/bin:{path}", asked.WHO: verb},
        )

    def _command(self, verb: str, *words: str) -> list[str]:
        config = ("--config", str(self.configuration))
        return [sys.executable, "-m", "relume", verb, *config, *words]

    def _answers(self, route: str) -> bool:
        try:
            return httpx2.get(f"{self.url}/{route}", timeout=2.0).status_code == httpx2.codes.OK
        except httpx2.TransportError:
            return False

    def _keep_logs(self, root: Path) -> None:
        """Keep what Slurm's daemons said beside what Relume's said."""
        shutil.copytree(root / "log", self.folder / "logs" / "slurm", dirs_exist_ok=True)


@contextmanager
def cleaned_up_on_sigterm() -> Iterator[None]:
    """Let SIGTERM end this process as Ctrl-C does, so that what it started is stopped."""
    before = signal.signal(signal.SIGTERM, signal.default_int_handler)
    try:
        yield
    finally:
        signal.signal(signal.SIGTERM, before)
