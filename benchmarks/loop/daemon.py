"""One process of Relume beside the lab: started, killed, started again; ended by its own pid."""

from __future__ import annotations

import os
import subprocess
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path

from relume.benchmarks.slurm.processes import wait_until
from relume.errors import UnreachableError

_GRACE_SECONDS = 15.0


class Daemon:
    """A command that runs until it is stopped.

    Parameters
    ----------
    name
        For messages.
    command, environment, folder
        What is run, with what, and where.
    log
        Where both its outputs go; each start adds to it.
    """

    def __init__(
        self,
        name: str,
        command: Sequence[str],
        *,
        folder: Path,
        log: Path,
        environment: Mapping[str, str] | None = None,
    ) -> None:
        self.name = name
        self.log = log
        self._command = list(command)
        self._folder = folder
        self._environment = dict(os.environ if environment is None else environment)
        self._process: subprocess.Popen[bytes] | None = None

    @property
    def pid(self) -> int | None:
        """The process, null before it was started."""
        return None if self._process is None else self._process.pid

    def start(self) -> None:
        """Start it, and don't wait until it is of use."""
        with self.log.open("ab") as log:
            self._process = subprocess.Popen(
                self._command,
                stdin=subprocess.DEVNULL,
                stdout=log,
                stderr=log,
                env=self._environment,
                cwd=self._folder,
                start_new_session=True,  # Ctrl-C is ours, and we end it in its turn
            )

    def kill(self) -> None:
        """End it as a crash would (SIGKILL), and wait until it is gone."""
        if self._process is not None:
            self._process.kill()
            self._process.wait()

    def stop(self) -> None:
        """Ask it to end, and kill it when it doesn't."""
        if self._process is None:
            return
        self._process.terminate()
        try:
            self._process.wait(_GRACE_SECONDS)
        except subprocess.TimeoutExpired:
            self.kill()

    def wait_for(self, condition: Callable[[], bool], *, what: str, seconds: float = 60.0) -> None:
        """Wait until `condition` holds.

        Raises
        ------
        UnreachableError
            When it doesn't within `seconds`, or the process ends before.
        """

        def holds() -> bool:
            self.require()
            return condition()

        wait_until(holds, what=what, seconds=seconds)

    def require(self) -> None:
        """Make sure that it runs.

        Raises
        ------
        UnreachableError
            When it was never started, or has ended by itself.
        """
        code = None if self._process is None else self._process.poll()
        if self._process is None or code is not None:
            said = self.log.read_text(errors="replace")[-600:].strip() if self.log.exists() else ""
            raise UnreachableError(
                f"relume {self.name}",
                found=f"exit code {code}: {said}",
                expected="a process that goes on until it is stopped",
                hint=f"its words are in {self.log.name}",
            )
