"""What was asked of Slurm: every command of controller and helper, counted from outside.

Both find programs `scontrol` and `scancel` of ours first, which write the command down and then
become the real one. So what changed Slurm is known without a word from Relume.
"""

from __future__ import annotations

import re
import shlex
import shutil
from collections.abc import Iterable
from dataclasses import dataclass
from pathlib import Path

from relume.errors import UnreachableError

WHO = "RELUME_ASKED_BY"
"""Environment variable that says who gives a command; without it, it is the helper."""
HELPER = "helper"
_READING = frozenset({"ping", "show"})
_PROGRAMS = ("scontrol", "scancel")
_JOB = re.compile(r"(?:JobId=)?(\d+(?:_\d+)?)")


@dataclass(frozen=True, slots=True)
class Asked:
    """One command: when (UTC microseconds), by whom, and its words."""

    at: int
    by: str
    argv: tuple[str, ...]

    @property
    def changes(self) -> bool:
        """Whether it may change anything.

        >>> Asked(0, "control", ("scontrol", "release", "7")).changes
        True
        >>> Asked(0, "control", ("scontrol", "show", "node")).changes
        False
        """
        program, *words = self.argv
        return program == "scancel" or not _READING & set(words[:1])

    @property
    def job_id(self) -> str | None:
        """The job that it is about, null for none.

        >>> Asked(0, "control", ("scontrol", "update", "JobId=7", "AdminComment=x")).job_id
        '7'
        """
        hits = (_JOB.fullmatch(word) for word in self.argv[1:])
        return next((hit[1] for hit in hits if hit is not None), None)

    @property
    def requeues(self) -> bool:
        """Whether it starts another attempt of a job."""
        return self.argv[1:2] in {("requeue",), ("requeuehold",)}

    @property
    def releases(self) -> bool:
        """Whether it takes a hold off."""
        return self.argv[1:2] == ("release",)


def install(folder: Path, log: Path) -> None:
    """Write the programs into `folder`; what they are asked for goes to `log`.

    Raises
    ------
    UnreachableError
        When the real ones are not there.
    """
    folder.mkdir(parents=True, exist_ok=True)
    for name in _PROGRAMS:
        real = shutil.which(name)
        if real is None:
            raise UnreachableError(
                f"program {name}", found="none on PATH", hint="docs/slurm.md names the packages"
            )
        path = folder / name
        path.write_text(_script(name, real, log), encoding="utf-8")
        path.chmod(0o755)


def read(log: Path) -> list[Asked]:
    """Return the commands so far, in their order."""
    text = log.read_text(encoding="utf-8", errors="replace") if log.exists() else ""
    return [parse(line) for line in text.splitlines()]


def parse(line: str) -> Asked:
    r"""Read one line of the log.

    >>> parse("1767323045000006\tcontrol\tscontrol\trelease\t7").argv
    ('scontrol', 'release', '7')
    """
    at, by, *argv = line.split("\t")
    return Asked(int(at), by, tuple(argv))


def changing(commands: Iterable[Asked], job_id: str | None = None) -> list[Asked]:
    """Return those that may change something; of one job if given."""
    changes = (one for one in commands if one.changes)
    return [one for one in changes if job_id is None or one.job_id == job_id]


def _script(name: str, real: str, log: Path) -> str:
    return f"""\
#!/bin/sh
# Writes down what is asked of Slurm, then asks it.
IFS='\t'
printf '%s\\n' "$(date +%s%6N)\t${{{WHO}:-{HELPER}}}\t{name}\t$*" >>{shlex.quote(str(log))}
exec {shlex.quote(real)} "$@"
"""
