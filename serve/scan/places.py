"""Where the logs of an attempt are: by the operator's templates, or by what Slurm says of the job.

Paths that a job chose are hostile (DESIGN 8): they are read only below configured folders, from
files of the job's own user. Whoever scans their own jobs may read their own files anywhere.
"""

from __future__ import annotations

import os
import shlex
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import partial
from itertools import pairwise
from pathlib import Path

from relume.errors import InputError
from relume.ingest.accounting.row import AccountingRow
from relume.ingest.tailing.file import Opener
from relume.ingest.tailing.opening import open_log, open_trusted
from relume.serve.live.kernel import kernel_paths
from relume.serve.live.owners import opener_of
from relume.slurm.paths import OutputNames, output_path

_NO_FILE = "/dev/null"
_OUTPUT, _ERROR = ("-o", "--output"), ("-e", "--error")


@dataclass(frozen=True, slots=True)
class Place:
    """A path at which a log may be, and how it may be opened. `stream` is what it is to the job."""

    path: str
    stream: str
    opener: Opener


@dataclass(frozen=True, slots=True, kw_only=True)
class LogPlaces:
    """Where logs are looked for.

    Attributes
    ----------
    templates
        The operator's own, with Slurm's file name patterns; their files are read whoever owns them,
        but only below the folder before the first pattern.
    roots
        Folders below which files that jobs name may be read.
    kernel
        Paths of nodes' kernel logs, with ``{node}`` in them.
    own_user
        Whose jobs may name files anywhere: the one who scans; null for nobody.
    """

    templates: tuple[str, ...] = ()
    roots: tuple[str, ...] = ()
    kernel: tuple[str, ...] = ()
    own_user: str | None = None

    def of_job(self, row: AccountingRow, told: Sequence[tuple[str, str]] = ()) -> list[Place]:
        """Return where the logs of an attempt may be.

        Parameters
        ----------
        row
            What accounting says of it.
        told
            Paths and streams that slurmctld gives, patterns replaced; empty when it doesn't.
        """
        names = names_of(row)
        templates = [str(Path(template).absolute()) for template in self.templates]
        if templates:
            paths = ((_expanded(one, names), one) for one in templates)
            return [_templated(path, template) for path, template in paths if path is not None]
        asked = told or list(_asked(row, names))
        is_own = row.user is not None and row.user == self.own_user
        opener = opener_of(row.user, ("/",) if is_own else self.roots)
        return [Place(path, stream, opener) for path, stream in asked]

    def of_node(self, node: str) -> list[Place]:
        """Return where the kernel log of a node may be."""
        return [Place(path, "kernel", open_trusted) for path in kernel_paths(self.kernel, node)]


def names_of(row: AccountingRow) -> OutputNames | None:
    """Return what the patterns stand for; null when accounting doesn't say Slurm's own number.

    >>> names_of(AccountingRow("12_3", "FAILED")) is None
    True
    """
    array, _, task = row.job_id.partition("_")
    raw = row.raw_job_id
    if raw is None:
        if not row.job_id.isdecimal():
            return None
        raw = int(row.job_id)
    return OutputNames(
        raw_job_id=raw,
        array_job_id=int(array) if task.isdecimal() else None,
        array_task_id=int(task) if task.isdecimal() else None,
        user=row.user or "",
        job_name=row.name or "",
        batch_host=row.nodes[0] if row.nodes else None,
        work_dir=row.work_dir or "/",
    )


def _expanded(pattern: str, names: OutputNames | None) -> str | None:
    return None if names is None else output_path(pattern, names)


def _templated(path: str, template: str) -> Place:
    root = os.path.dirname(template.partition("%")[0])  # noqa: PTH120 - "/a/x" is of "/a", "/a/" too
    return Place(path, "stdout", partial(open_log, roots=(root,), uid=None))


def _asked(row: AccountingRow, names: OutputNames | None) -> Iterator[tuple[str, str]]:
    """What the job asked for: by accounting (Slurm 24.05), its submit line, or Slurm's default."""
    if names is None or row.work_dir is None:
        return
    out = row.std_out or option_of(row.submit_line, _OUTPUT)
    err = row.std_err or option_of(row.submit_line, _ERROR)
    paths = {_expanded(out or "", names): "stdout"}
    if err is not None:
        paths.setdefault(_expanded(err, names), "stderr")
    for path, stream in paths.items():
        if path is not None and path != _NO_FILE:
            yield path, stream


def option_of(submit_line: str | None, names: tuple[str, str]) -> str | None:
    """Return what an option of a submit line was given, null when it isn't there.

    The script's own ``#SBATCH`` lines are not in it.

    >>> option_of("sbatch -N2 --output=logs/%j.out train.sh -o x", ("-o", "--output"))
    'logs/%j.out'
    """
    try:
        words = shlex.split(submit_line or "")
    except ValueError:
        return None
    short, long = names
    for word, following in pairwise([*words, ""]):
        if word in names:
            return following or None
        if word.startswith(f"{long}="):
            return word.removeprefix(f"{long}=")
        if word.startswith(short) and not word.startswith("--"):
            return word.removeprefix(short)
    return None


def no_paths(row: AccountingRow) -> str:
    """Say why nobody knows where the logs of an attempt are."""
    if names_of(row) is None:
        return "its log: accounting has no JobIDRaw, which the file name patterns need"
    if row.work_dir is None:
        return "its log: accounting has no WorkDir; say with --logs where logs are"
    return "its log: it asked for none"


def refusal(place: Place, error: Exception) -> str:
    """Say why a log wasn't read."""
    if isinstance(error, InputError):
        return str(error)
    words = error.strerror if isinstance(error, OSError) else str(error)
    return f"log {place.path!r}: {(words or 'it cannot be opened').lower()}"
