"""Who may name which log: a job only files of its own user, below the configured folders."""

from __future__ import annotations

from functools import partial
from pathlib import Path
from pwd import getpwnam

from relume.errors import InputError
from relume.ingest.tailing.file import Opener
from relume.ingest.tailing.opening import open_log


def opener_of(user: str | None, roots: tuple[str, ...]) -> Opener:
    """Return what opens the logs of a user's jobs; for a user unknown on this host, nothing."""
    try:
        uid = getpwnam(user or "").pw_uid
    except KeyError:
        return partial(_refuse, user)
    return partial(_open, roots, uid)


def _open(roots: tuple[str, ...], uid: int, path: Path) -> int:
    return open_log(path, roots, uid)


def _refuse(user: str | None, path: Path) -> int:
    raise InputError(
        f"log {str(path)!r} is not read",
        found=f"user {user!r}, whom this host doesn't know",
        expected="a user whose files can be told from those of others",
        hint="run the service where the cluster's users are known",
    )
