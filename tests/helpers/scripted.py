"""Programs that say what we tell them, for answers that a healthy Slurm never gives."""

from __future__ import annotations

import shlex
from pathlib import Path
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    import pytest

UP = "Slurmctld(primary) at ctl is UP\n"


class ScriptedSlurm:
    """Clients of Slurm on PATH, each with an answer of our choice. `scontrol ping` says UP."""

    def __init__(self, folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
        self._folder = folder
        monkeypatch.setenv("PATH", f"{folder}:/usr/bin:/bin")
        self.answers("scontrol ping", UP)

    def answers(
        self, command: str, stdout: str = "", *, stderr: str = "", exit_code: int = 0
    ) -> None:
        """Answer a program, or one with a first argument, or with two, from now on."""
        program, _, arguments = command.partition(" ")
        answer = self._folder / f"{program}.{arguments.replace(' ', '.') or 'any'}"
        answer.write_text(
            f"printf %s {shlex.quote(stdout)}\nprintf %s {shlex.quote(stderr)} >&2\nexit {exit_code}\n"
        )
        script = self._folder / program
        script.write_text(
            '#!/bin/sh\necho "${0##*/} $*" >> "${0%/*}/calls"\n'
            'for name in "$1.$2" "$1" any; do [ ! -f "$0.$name" ] || . "$0.$name"; done\n'
        )
        script.chmod(0o755)

    def hangs(self, program: str) -> None:
        """Let a program never end from now on."""
        self.answers(program)
        (self._folder / f"{program}.any").write_text("sleep 600\n")

    def calls(self) -> list[str]:
        """Return the command lines so far."""
        calls = self._folder / "calls"
        return calls.read_text().splitlines() if calls.exists() else []
