"""`relume serve` as an operator starts it: a TOML file, the command line, a process of its own."""

from __future__ import annotations

import os
import secrets
import sys
from collections.abc import Mapping
from contextlib import ExitStack
from pathlib import Path
from types import TracebackType
from typing import Any, Self

import httpx2
import msgspec

from relume.benchmarks.loop.daemon import Daemon
from relume.benchmarks.machine import status_bytes
from relume.benchmarks.serving.settings import configuration
from relume.benchmarks.slurm.ports import HOST, PortBlock
from relume.errors import UnreachableError
from relume.serve.api import Role
from relume.serve.live.entrance import MADE
from relume.slurm.job import SlurmSnapshot

CLUSTER = "lab"
_TICKS_PER_SECOND = os.sysconf("SC_CLK_TCK")
_USER, _SYSTEM = 11, 12
"""Fields of `/proc/PID/stat` behind the name of the program (proc_pid_stat(5))."""


class ServiceProcess:
    """One service in `folder`; a context manager that starts and stops it. Its files stay.

    Parameters
    ----------
    folder
        Configuration, token, log of the process, and the data folder below it.
    settings
        Keys of sections beside those that are needed, such as ``{"serve": {"mode": "act"}}``.
    environment
        Variables of the process beside ours.

    Attributes
    ----------
    url
        Where it listens; the same after a restart.
    token
        A token of role control.
    data, lake, ledger
        What it keeps.
    client
        An HTTP client with that token.
    """

    def __init__(
        self,
        folder: Path,
        settings: Mapping[str, Mapping[str, Any]] | None = None,
        *,
        environment: Mapping[str, str] | None = None,
    ) -> None:
        self.folder = folder.absolute()
        self.data = self.folder / "data"
        self.lake, self.ledger = self.data / "lake", self.data / "ledger.db"
        self.configuration = self.folder / "relume.toml"
        self.token = secrets.token_hex(16)
        self._settings = settings or {}
        self._environment = environment or {}
        self._stack = ExitStack()
        self.url = ""
        self.client: httpx2.Client
        self.process: Daemon

    def __enter__(self) -> Self:
        with ExitStack() as stack:
            port = stack.enter_context(PortBlock(1)).base_port
            self.url = f"http://{HOST}:{port}"
            self._write(port)
            self.client = stack.enter_context(
                httpx2.Client(
                    base_url=self.url,
                    headers={"Authorization": f"Bearer {self.token}"},
                    timeout=60.0,
                    trust_env=False,  # a proxy of the machine isn't asked for loopback
                )
            )
            self.process = self._daemon()
            stack.callback(self.process.stop)
            self.start()
            self._stack = stack.pop_all()
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        self._stack.close()

    def start(self) -> None:
        """Start it, and wait until it answers."""
        self.process.start()
        self.process.wait_for(self.answers, what="relume serve", seconds=120.0)

    def kill(self) -> None:
        """End it as a crash would."""
        self.process.kill()

    def stop(self) -> None:
        """Let it end in order."""
        self.process.stop()

    def report(self, snapshot: SlurmSnapshot) -> dict[str, str]:
        """Tell what Slurm says, as a controller does; return the attempt of each job.

        Raises
        ------
        UnreachableError
            When the service refuses it.
        """
        answer = self.client.post(
            "/v1/scheduler",
            content=msgspec.json.encode(snapshot),
            headers={"Content-Type": "application/json"},
        )
        if answer.status_code != httpx2.codes.OK:
            raise UnreachableError("the snapshot", found=answer.text, expected="200")
        attempts: dict[str, str] = answer.json()["attempts"]
        return attempts

    def answers(self, route: str = "/healthz") -> bool:
        """Whether a route answers with 200."""
        try:
            return self.client.get(route, timeout=10.0).status_code == httpx2.codes.OK
        except httpx2.TransportError:
            return False

    def wait_for(self, route: str, *, seconds: float = 120.0) -> None:
        """Wait until a route answers with 200.

        Raises
        ------
        UnreachableError
            When it doesn't, or the process has ended.
        """
        self.process.wait_for(lambda: self.answers(route), what=route, seconds=seconds)

    @property
    def ingest_token(self) -> str:
        """The token of role ingest that the service made."""
        return (self.data / MADE[Role.INGEST]).read_text(encoding="ascii").strip()

    def anonymous_bytes(self) -> int:
        """Memory that is its own (RssAnon); 0 when it doesn't run."""
        return status_bytes(self.process.pid or 0).get("RssAnon", 0)

    def cpu_seconds(self) -> float:
        """CPU time that the process used since it was started; 0 when it doesn't run."""
        try:
            text = Path(f"/proc/{self.process.pid}/stat").read_text(encoding="utf-8")
        except OSError:
            return 0.0
        fields = text.rpartition(")")[2].split()
        return (int(fields[_USER]) + int(fields[_SYSTEM])) / _TICKS_PER_SECOND

    def _write(self, port: int) -> None:
        for path in (self.folder, self.data, self.folder / "logs"):
            path.mkdir(parents=True, exist_ok=True)
        token = self.folder / "token"
        token.touch(mode=0o600)
        token.write_text(f"{self.token}\n", encoding="ascii")
        needed: dict[str, dict[str, Any]] = {
            "cluster": {"name": CLUSTER},
            "serve": {
                "listen": f"{HOST}:{port}",
                "folder": str(self.data),
                "control_token_file": str(token),
                "log_roots": [str(self.folder / "logs")],
            },
        }
        self.configuration.write_text(configuration(needed, self._settings), encoding="utf-8")

    def _daemon(self) -> Daemon:
        command = [sys.executable, "-m", "relume", "serve", "--config", str(self.configuration)]
        return Daemon(
            "serve",
            command,
            folder=self.folder,
            log=self.folder / "serve.log",
            environment=os.environ | dict(self._environment),
        )
