"""Runs the commands of Slurm: argument lists, a time-out always, bounded output, never a shell."""

from __future__ import annotations

import os
import selectors
import shlex
import signal
import subprocess
import time
from collections.abc import Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path

from relume.errors import UnreachableError, counted
from relume.slurm.sacct import ENVIRONMENT
from relume.slurm.scontrol import PING, is_up

DEFAULT_TIMEOUT_SECONDS = 30.0
"""Above Slurm's own patience with a slurmctld that is away (MessageTimeout, 10 s by default)."""
PING_TIMEOUT_SECONDS = 5.0
MAX_OUTPUT_BYTES = 512 << 20
"""What a command may print. `squeue --json` takes about 4 KB a job and 100 bytes a core in use."""
_READ_BYTES = 1 << 16
_STEERING = ("SLURM_", "SQUEUE_", "SACCT_", "SCONTROL_", "SCANCEL_", "SINFO_")


@dataclass(frozen=True, slots=True)
class Done:
    """A command that ended by itself, well or not."""

    argv: tuple[str, ...]
    exit_code: int
    stdout: str
    stderr: str


class SlurmCommands:
    """Runs commands of one cluster's Slurm.

    Parameters
    ----------
    slurm_conf
        The cluster's slurm.conf, handed on as SLURM_CONF; null leaves it to the environment and to
        Slurm's default. No other variable that steers Slurm's commands is handed on.
    timeout_seconds
        When a command is killed.
    max_output_bytes
        What it may print on each of its two outputs, else it is killed.
    """

    def __init__(
        self,
        slurm_conf: Path | None = None,
        *,
        timeout_seconds: float = DEFAULT_TIMEOUT_SECONDS,
        max_output_bytes: int = MAX_OUTPUT_BYTES,
    ) -> None:
        self._environment = _environment(os.environ, slurm_conf)
        self._timeout_seconds = timeout_seconds
        self._max_output_bytes = max_output_bytes

    def ping(self) -> None:
        """Make sure that a slurmctld answers: other commands block for long when none does.

        Raises
        ------
        UnreachableError
            When none answers.
        """
        done = self.run(PING, timeout_seconds=PING_TIMEOUT_SECONDS)
        if not is_up(done.stdout):
            raise UnreachableError(
                "scontrol ping",
                found=" / ".join((done.stdout + done.stderr).split("\n"))[:300].strip(" /"),
                expected="a slurmctld that is UP",
                hint="start slurmctld, or check SLURM_CONF and munge",
            )

    def run(self, argv: Sequence[str], *, timeout_seconds: float | None = None) -> Done:
        """Run a command to its end.

        Raises
        ------
        UnreachableError
            When there is no such program, when it takes too long, or prints too much. Whether it
            did what it should is then unknown.
        """
        seconds = self._timeout_seconds if timeout_seconds is None else timeout_seconds
        try:
            process = subprocess.Popen(
                argv,
                stdin=subprocess.DEVNULL,
                stdout=subprocess.PIPE,
                stderr=subprocess.PIPE,
                env=self._environment,
                start_new_session=True,  # so that its children can be killed with it
            )
        except OSError as error:
            raise UnreachableError(
                f"command {argv[0]}",
                found=str(error),
                expected="Slurm's clients on PATH",
                hint="install them on this host",
            ) from error
        most = counted(self._max_output_bytes, "byte")
        with process:
            try:
                out, err = _collect(process, time.monotonic() + seconds, self._max_output_bytes)
            except (_LimitError, subprocess.TimeoutExpired) as error:
                raise UnreachableError(
                    f"command {shlex.join(argv)[:200]}",
                    found=str(error),
                    expected=f"an answer within {seconds:g} s and {most}",
                    hint="is slurmctld overloaded or away?",
                ) from error
            finally:
                with suppress(ProcessLookupError, PermissionError):
                    os.killpg(process.pid, signal.SIGKILL)
        return Done(tuple(argv), process.returncode, _text(out), _text(err))


class _LimitError(Exception):
    """A command went over its time or its output; the words say which."""


def _collect(
    process: subprocess.Popen[bytes], deadline: float, max_bytes: int
) -> tuple[bytearray, bytearray]:
    """Read both outputs to their end, then wait for the end of the process."""
    out, err = bytearray(), bytearray()
    with selectors.DefaultSelector() as selector:
        for pipe, buffer in ((process.stdout, out), (process.stderr, err)):
            selector.register(pipe or -1, selectors.EVENT_READ, buffer)
        while selector.get_map():
            left = deadline - time.monotonic()
            if left <= 0:
                raise _LimitError("no end")
            for key, _ in selector.select(left):
                chunk = os.read(key.fd, _READ_BYTES)
                key.data.extend(chunk)
                if not chunk:
                    selector.unregister(key.fileobj)
                if len(key.data) > max_bytes:
                    raise _LimitError("more output than that")
    process.wait(max(deadline - time.monotonic(), 0))
    return out, err


def _text(output: bytearray) -> str:
    # What users write into comments needn't be UTF-8, and must not make the rest unreadable.
    return output.decode("utf-8", "replace")


def _environment(given: Mapping[str, str], slurm_conf: Path | None) -> dict[str, str]:
    kept = {name: value for name, value in given.items() if not name.startswith(_STEERING)}
    conf = given.get("SLURM_CONF") if slurm_conf is None else str(slurm_conf)
    return kept | ENVIRONMENT | {"LC_ALL": "C.UTF-8"} | ({"SLURM_CONF": conf} if conf else {})
