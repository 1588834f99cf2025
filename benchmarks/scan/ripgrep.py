"""ripgrep with the patterns of the engine: the outside peer of the scan."""

from __future__ import annotations

import re
import shutil
import subprocess
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from relume.benchmarks.commands import watch
from relume.benchmarks.machine import Usage
from relume.models.signatures.engine import compiled_form

COMMAND = "rg"
_OPTIONS = ("--no-config", "--no-unicode", "--text", "--threads=1", "--count", "--include-zero")
"""Bytes rather than characters, and no output but a number: as fast as it can be."""
_NEEDLESS = re.compile(r"""\\(["'])""")
"""Escapes that ripgrep refuses; no pattern has them behind a backslash of its own."""
_DFA_LIMIT = "1G"
"""Room for its automaton: with the default it gives it up and becomes three times slower."""


@dataclass(frozen=True, slots=True)
class Searched:
    """How many lines ripgrep found, and what it used."""

    lines: int
    usage: Usage


def ripgrep_version() -> str | None:
    """First line of ``rg --version``, null where there is none."""
    if shutil.which(COMMAND) is None:
        return None
    done = subprocess.run([COMMAND, "--version"], check=True, capture_output=True, text=True)
    return done.stdout.splitlines()[0]


def write_patterns(path: Path, patterns: Sequence[str]) -> None:
    """Write the patterns as the engines compile them, one a line, for ``rg -f``."""
    forms = (_NEEDLESS.sub(r"\1", form) for form in compiled_form(patterns))
    path.write_text("".join(f"{form}\n" for form in forms), encoding="utf-8")


def search(patterns: Path, log: Path) -> Searched:
    """Count the lines of `log` in which a pattern is found."""
    command = [COMMAND, *_OPTIONS, f"--dfa-size-limit={_DFA_LIMIT}", "--file", str(patterns)]
    done = watch([*command, str(log)])
    if done.code and done.code != 1:  # 1: no line found
        raise subprocess.CalledProcessError(done.code, command, done.out, done.error)
    return Searched(int(done.out), done.usage)
