"""The controller's folder: journal, heartbeat, lock, and what it shares with the epilog helper.

::

    journal.sqlite      the journal
    heartbeat.json      when the controller last did what
    identity            a random word: the name under which this folder's controller has the lease
    lock                held by the one controller that uses this folder
    epilog/decisions    which jobs the helper may hold; read by it
    epilog/held/        one empty file for each job that it held; written by it
    epilog/wake         touched by it, so that the controller looks at once
"""

from __future__ import annotations

import fcntl
import os
import re
import secrets
import socket
from collections.abc import Iterable
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path

import msgspec

from relume.clock import MICROSECONDS_PER_SECOND
from relume.errors import ConfigError, UnreachableError

MAX_NOTES = 10_000
_NOTE = re.compile(r"([0-9]{1,10}(?:_[0-9]{1,10})?)\.([0-9]{1,9})")
_IDENTITY = re.compile(r"[0-9a-f]{32}")
_HEADER = "# Written by relume control for relume-epilog-slurmctld.\n"


@dataclass(frozen=True, slots=True)
class Note:
    """The helper's word that it holds a job. `noted_at` is UTC microseconds."""

    job_id: str
    restart_count: int
    noted_at: int
    path: Path


@dataclass(frozen=True, slots=True)
class Heartbeat:
    """When the controller did what, UTC microseconds.

    `at` is its last sign of life; `whole_at` the end of its last whole round in mode *act*: Slurm
    and the service answered, and it had the lease. Null: never since it was started.
    """

    at: int
    whole_at: int | None
    mode: str
    holder: str


class ControllerFolder:
    """The folder of one controller.

    Raises
    ------
    UnreachableError
        When a file can't be read or written.
    """

    def __init__(self, path: Path) -> None:
        self.path = path
        self.journal = path / "journal.sqlite"
        self.epilog = path / "epilog"
        self._held = self.epilog / "held"
        self._decisions = self.epilog / "decisions"
        self._wake = self.epilog / "wake"
        self._heartbeat = path / "heartbeat.json"
        self._lock: int | None = None

    def prepare(self) -> None:
        """Make the folders, and make sure that no other controller uses them.

        Raises
        ------
        ConfigError
            When another one does.
        """
        try:
            self._held.mkdir(parents=True, exist_ok=True)
            lock = os.open(self.path / "lock", os.O_CREAT | os.O_RDWR | os.O_CLOEXEC, 0o600)
        except OSError as error:
            raise self._failed(error) from error
        try:
            fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except OSError as error:
            os.close(lock)
            raise ConfigError(
                f"controller.folder {self.path}",
                found="another controller that uses it",
                hint="stop that one, or give this one another folder",
            ) from error
        self._lock = lock

    def holder(self) -> str:
        """Return the name for the lease: the same for every controller that uses this folder.

        There is one at a time (`prepare`), so one that was killed is followed at once, without
        waiting for its lease to run out.
        """
        path = self.path / "identity"
        try:
            word = path.read_text(encoding="ascii", errors="replace") if path.exists() else ""
        except OSError as error:
            raise self._failed(error) from error
        if _IDENTITY.fullmatch(word) is None:
            word = secrets.token_hex(16)
            self._replace(path, word)
        return f"{socket.gethostname()}:{word}"

    def close(self) -> None:
        """Let another controller use the folder."""
        if self._lock is not None:
            os.close(self._lock)
            self._lock = None

    def write_decisions(self, lines: Iterable[str], until: int) -> None:
        """Tell the helper what it may hold, and until when that counts (UTC microseconds)."""
        seconds = until // MICROSECONDS_PER_SECOND
        body = "".join(f"{line}\n" for line in lines)
        self._replace(self._decisions, f"{_HEADER}until {seconds}\n{body}")

    def clear_decisions(self) -> None:
        """Let the helper hold nothing."""
        with suppress(OSError):  # the file also runs out by itself
            self._decisions.unlink(missing_ok=True)

    def notes(self) -> list[Note]:
        """Return the helper's notes, the oldest first."""
        found: list[Note] = []
        try:
            with os.scandir(self._held) as entries:
                for entry in entries:
                    match = _NOTE.fullmatch(entry.name)
                    if match is not None and len(found) < MAX_NOTES:
                        moment = entry.stat(follow_symlinks=False).st_mtime_ns // 1_000
                        found.append(Note(match[1], int(match[2]), moment, Path(entry.path)))
        except OSError as error:
            raise self._failed(error) from error
        return sorted(found, key=lambda note: note.noted_at)

    def forget(self, note: Note) -> None:
        """Remove a note that is in the journal, or too old."""
        with suppress(OSError):  # it is found again, and journalled again, which is harmless
            note.path.unlink(missing_ok=True)

    def wake_stamp(self) -> int:
        """Return a number that changes whenever the helper has held a job."""
        try:
            return self._wake.stat().st_mtime_ns
        except OSError:
            return 0

    def beat(self, heartbeat: Heartbeat) -> None:
        """Leave a sign of life."""
        self._replace(self._heartbeat, msgspec.json.encode(heartbeat).decode())

    def heartbeat(self) -> Heartbeat | None:
        """Return the last sign of life, null if there is none.

        Raises
        ------
        UnreachableError
            Also when what is there can't be understood.
        """
        try:
            return msgspec.json.decode(self._heartbeat.read_bytes(), type=Heartbeat)
        except FileNotFoundError:
            return None
        except OSError as error:
            raise self._failed(error) from error
        except (msgspec.MsgspecError, UnicodeDecodeError) as error:
            raise UnreachableError(
                f"heartbeat {self._heartbeat}",
                found=str(error),
                expected="what `relume control` writes there in each round",
                hint="it counts as none; is a controller running with this folder?",
            ) from error

    def _replace(self, path: Path, text: str) -> None:
        """Write a file as a whole: a reader sees the old or the new one."""
        temporary = path.with_name(f".{path.name}.new")
        try:
            temporary.write_text(text, encoding="utf-8")
            temporary.replace(path)
        except OSError as error:
            raise self._failed(error) from error

    def _failed(self, error: OSError) -> UnreachableError:
        what = f"controller.folder {self.path}"
        if isinstance(error, FileNotFoundError) and not self.path.exists():
            return UnreachableError(
                what,
                found="no such folder",
                expected="that of `relume control`, which makes it when it starts",
                hint="give both the same controller.folder",
            )
        return UnreachableError(
            what,
            found=f"{error.strerror}: {error.filename}",
            expected="a folder that this user can read and write",
            hint="check the path, its owner and its mode",
        )
