"""Keeps the state of a live run: when it is due, beside the run, the last two of them."""

from __future__ import annotations

import gc
import logging
import os
import signal
import traceback
from collections.abc import Callable
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from typing import IO, Final, Generic, TypeVar

from relume.clock import MICROSECONDS_PER_SECOND
from relume.errors import RelumeError
from relume.ingest.lake.files import make_folder
from relume.serve.live.state.binding import Binding, LakePoint, is_point_of
from relume.serve.live.state.codec import dump, load
from relume.serve.live.state.files import (
    NEW,
    SUFFIX,
    Header,
    name_of,
    read_header,
    read_state,
    write_state,
)
from relume.serve.offline import Analyzer

log = logging.getLogger(__name__)
FOLDER: Final = "state"
KEPT: Final = 2
"""Files kept: where the newer one turns out to be damaged, the older one serves."""
PATIENCE: Final = 4
"""Times the interval that a process may take to write a state before it is given up."""
_NICE = 10
_NO_REASON = 255


T = TypeVar("T")


@dataclass(frozen=True, slots=True)
class Kept(Generic[T]):
    """A state that was read back, and the commit after which it goes on."""

    point: LakePoint
    value: T


class StateKeeper:
    """Writes states of one lake into its folder `state`, and reads the newest one that is whole.

    Not thread-safe. Nothing raises: a state that can't be written or read costs time only.

    Parameters
    ----------
    lake
        Folder of the lake.
    binding
        What the states go with.
    analyzer
        What the state only names.
    seconds
        From one state to the next; 0 for none at all.
    beside
        Whether a process of its own writes them, while the run goes on.
    """

    def __init__(
        self,
        lake: Path,
        binding: Binding,
        analyzer: Analyzer,
        *,
        seconds: float,
        beside: bool = False,
    ) -> None:
        self._lake, self._folder = lake, lake / FOLDER
        self._binding, self._analyzer = binding, analyzer
        self._interval = round(seconds * MICROSECONDS_PER_SECOND)
        self._beside = beside
        self._due_at: int | None = None
        self._child: _Child | None = None
        self._kept: list[int] = []

    @property
    def needs_after(self) -> int | None:
        """The commit after which everything is needed to go on from either state.

        Null while there aren't two: if the only one is damaged, everything else is needed.
        """
        return self._kept[-KEPT] if len(self._kept) >= KEPT else None

    @property
    def writer(self) -> int | None:
        """The process that writes a state right now; null for none."""
        return None if self._child is None else self._child.pid

    def newest(
        self, kind: type[T], is_usable: Callable[[T], bool] = lambda _: True
    ) -> Kept[T] | None:
        """Return the newest state that is whole and goes with lake, code, rules and settings.

        Null where there is none: the log says why. What can't be used is taken away.
        """
        if not self._interval or not self._folder.is_dir():
            return None
        _remove(*self._folder.glob(f"*{NEW}"))
        found: Kept[T] | None = None
        for path in sorted(self._folder.glob(f"*{SUFFIX}"), reverse=True):
            header = self._header(path)
            if header is not None and found is None:
                value = self._read(path, kind)
                if value is not None and is_usable(value):
                    log.info("going on from the state as of commit %d", header.point.sequence)
                    found = Kept(header.point, value)
                elif value is not None:
                    log.warning(
                        "the kept state %s is not used: what goes with it is gone", path.name
                    )
            if header is None or found is None:
                _remove(path)
            else:
                self._kept.insert(0, header.point.sequence)
        return found

    def is_due(self, now: int) -> bool:
        """Whether it is time for the next one, by the run's own clock (microseconds)."""
        self._reap(now)
        if self._due_at is None:
            self._due_at = now + self._interval
        return bool(self._interval) and now >= self._due_at and self._child is None

    def keep(self, value: object, point: LakePoint, now: int, *, last: bool = False) -> None:
        """Keep the state as of the commit `point`, at `now`; the `last` one is waited for."""
        if last:
            self.close()
        if not self._interval or point.sequence in self._kept:
            return
        self._due_at = now + self._interval
        header = Header(self._binding, point, now)
        if not (self._beside and not last):
            self._done(_tried(self._write, value, header), point)
            return
        try:
            pid = os.fork()
        except OSError as error:
            log.warning("no process to keep the state: %s", error.strerror)
            return
        if pid == 0:
            _end_as_child(lambda: self._write(value, header))
        self._child = _Child(pid, point, now)

    def close(self) -> None:
        """End the process that writes a state, if any; what it didn't finish is taken away."""
        child, self._child = self._child, None
        if child is not None:
            child.kill()
            _remove(self._folder / f"{name_of(child.point.sequence).removesuffix(SUFFIX)}{NEW}")

    def _write(self, value: object, header: Header) -> None:
        make_folder(self._folder.absolute())

        def write(stream: IO[bytes]) -> None:
            dump(value, stream, self._analyzer)

        write_state(self._folder, header, write)

    def _done(self, failure: str | None, point: LakePoint) -> None:
        if failure is not None:
            log.warning("the state could not be kept: %s", failure)
            return
        self._kept.append(point.sequence)
        old, self._kept = self._kept[:-KEPT], self._kept[-KEPT:]
        _remove(*(self._folder / name_of(sequence) for sequence in old))

    def _reap(self, now: int) -> None:
        """Notice that a process has ended, or that it takes much too long."""
        child = self._child
        if child is None:
            return
        code = child.exit_code()
        if code is not None:
            self._child = None
            self._done(_words_of(code), child.point)
        elif now - child.since > PATIENCE * self._interval:
            log.warning("keeping the state takes too long; it is given up")
            self.close()

    def _header(self, path: Path) -> Header | None:
        """Return the header of a state that goes with everything else; null says why."""
        try:
            header = read_header(path)
            difference = self._binding.difference(header.binding)
            if difference is None and not is_point_of(self._lake, header.point):
                difference = "another lake, or an older copy of it"
        except (RelumeError, OSError) as error:
            difference = str(error)
        if difference is None:
            return header
        log.warning("the kept state %s is not used: %s", path.name, difference)
        return None

    def _read(self, path: Path, kind: type[T]) -> T | None:
        try:
            value = read_state(path, lambda stream: load(stream, self._analyzer))
        except (RelumeError, OSError) as error:
            log.warning("the kept state %s is not used: %s", path.name, error)
            return None
        return value if isinstance(value, kind) else None


@dataclass(frozen=True, slots=True)
class _Child:
    """A process that writes the state as of a commit, since `since`."""

    pid: int
    point: LakePoint
    since: int

    def exit_code(self) -> int | None:
        """Return how it ended, null while it hasn't."""
        try:
            pid, status = os.waitpid(self.pid, os.WNOHANG)
        except ChildProcessError:  # somebody else asked first
            return _NO_REASON
        return os.waitstatus_to_exitcode(status) if pid else None

    def kill(self) -> None:
        """End it, and wait until it has."""
        os.kill(self.pid, signal.SIGKILL)
        with suppress(ChildProcessError):
            os.waitpid(self.pid, 0)


def _tried(write: Callable[[object, Header], None], value: object, header: Header) -> str | None:
    """Write; return why it couldn't be done, null when it was."""
    try:
        write(value, header)
    except OSError as error:
        return error.strerror or str(error)
    except Exception:  # a defect of ours: the run must go on
        log.exception("the state can't be written")
        return "see above"
    return None


def _end_as_child(write: Callable[[], None]) -> None:
    """Write, and end this process, whatever happens: it must never go on as the service does.

    It holds copies of everything that the service has open: the lake's lock, the port. They are
    closed first, since a service that is started again would find them taken.
    """
    code = _NO_REASON
    try:
        os.closerange(3, os.sysconf("SC_OPEN_MAX"))
        gc.disable()
        os.nice(_NICE)
        write()
        code = 0
    except OSError as error:
        code = error.errno or _NO_REASON
    except BaseException:  # noqa: BLE001 - there is nobody else to tell
        os.write(2, traceback.format_exc().encode())
    finally:
        os._exit(code)


def _words_of(code: int) -> str | None:
    """Return why a process failed by its exit code, null when it didn't."""
    if code == 0:
        return None
    if code < 0:
        return f"its process was killed by signal {-code}"
    return "see above" if code == _NO_REASON else os.strerror(code)


def _remove(*paths: Path) -> None:
    for path in paths:
        try:
            path.unlink(missing_ok=True)
        except OSError as error:
            log.warning("cannot take %s away: %s", path.name, error.strerror)
