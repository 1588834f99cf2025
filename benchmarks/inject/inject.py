"""Put a fault into telemetry: a new data set beside the old one, which stays as it is."""

from __future__ import annotations

import gzip
import os
import shutil
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field, replace
from itertools import count
from pathlib import Path
from random import Random

from relume.benchmarks.inject.attempt import Broken, break_attempt
from relume.benchmarks.inject.faults import Injection
from relume.benchmarks.inject.sources import read_source
from relume.clock import MICROSECONDS_PER_SECOND
from relume.dataset import AttemptEntry, DatasetHeader, LogFile, Origin
from relume.errors import InputError, did_you_mean
from relume.ingest.datasets import Dataset, write_dataset


def inject(source: Path, out: Path, injection: Injection) -> Dataset:
    """Write what `source` would have been with a fault into the new folder `out`; return it.

    All attempts and logs are copied; the result is *simulated*, since it never happened.

    Raises
    ------
    InputError
        When there is nothing to put it into (no such attempt, no such node, no clocks), `out` has
        files in it, or something can't be read or written.
    """
    header, entries = read_source(source)
    chosen = _chosen(entries, injection)
    try:
        if out.exists() and (not out.is_dir() or any(out.iterdir())):
            raise InputError(str(out), found="something there", expected="a new folder")
        broken = _broken(chosen, header, injection)
        return _Writer(out).write(header, entries, broken, injection)
    except OSError as error:
        raise InputError(
            f"cannot write to {out}", found=str(error), expected="a folder that can be written"
        ) from error


def _chosen(entries: list[AttemptEntry], injection: Injection) -> list[AttemptEntry]:
    wanted = injection.attempt
    if wanted is None:
        chosen = [entry for entry in entries if entry.incidents == () and entry.files]
        if not chosen:
            raise InputError(
                "fault",
                found="no attempt that is labelled as healthy and has logs",
                expected="one to put it into",
                hint="name one by --attempt",
            )
        return chosen
    chosen = [entry for entry in entries if wanted in {entry.attempt, entry.name}]
    if not chosen:
        names = [entry.attempt for entry in entries]
        raise InputError(
            f"attempt {wanted}",
            found=f"{len(names)} others",
            expected="one of the data set",
            hint=did_you_mean(wanted, names),
        )
    return chosen


def _broken(
    chosen: list[AttemptEntry], header: DatasetHeader, injection: Injection
) -> dict[str, Broken]:
    """Break the chosen attempts; those without clocks are left alone if there are others."""
    broken: dict[str, Broken] = {}
    refused: InputError | None = None
    for entry in chosen:
        rng = Random(f"{injection.seed}/{injection.fault.name}/{entry.attempt}")
        try:
            broken[entry.attempt] = break_attempt(entry, header, injection, rng)
        except InputError as error:
            refused = refused or error
    if refused is not None and (not broken or injection.attempt is not None):
        raise refused
    return broken


@dataclass(slots=True)
class _Writer:
    """Writes the folder; each log under a name of its own."""

    out: Path
    _copied: dict[str, str] = field(default_factory=dict)
    _numbers: Iterator[int] = field(default_factory=count)

    def write(
        self,
        header: DatasetHeader,
        entries: list[AttemptEntry],
        broken: dict[str, Broken],
        injection: Injection,
    ) -> Dataset:
        (self.out / "logs").mkdir(parents=True, exist_ok=True)
        node_logs = [self._copy(log) for log in header.node_logs]
        for one in broken.values():
            node_logs += self._node_logs(one)
        name = injection.fault.name
        made = replace(
            header,
            name=f"{header.name}, with {name}",
            origin=Origin.SIMULATED,
            description=f"{header.description} {name} put into {len(broken)} attempts.".strip(),
            node_logs=tuple(node_logs),
        )
        written = (self._entry(entry, broken.get(entry.attempt)) for entry in entries)
        return write_dataset(self.out, made, written)

    def _entry(self, entry: AttemptEntry, broken: Broken | None) -> AttemptEntry:
        if broken is None:
            return replace(entry, files=tuple(map(self._copy, entry.files)))
        files = []
        for file in entry.files:
            if file.path in broken.logs:
                files.append(self._changed(file, broken))
            elif file.path not in broken.left_out:
                files.append(self._copy(file))
        if broken.controller:
            path = self._place("slurmctld.log")
            self._lines(path, broken.controller)
            files.append(LogFile(path=path, stream="slurmctld"))
        return replace(broken.entry, files=tuple(files))

    def _copy(self, file: LogFile) -> LogFile:
        path = self._copied.get(file.path)
        if path is None and not Path(file.path).exists():
            # Missing in the new data set, too, where nothing is ever put: a backtest says so.
            path = f"logs/missing/{Path(file.path).name}"
        elif path is None:
            path = self._copied[file.path] = self._place(Path(file.path).name)
            shutil.copy2(file.path, self.out / path)
        return replace(file, path=path)

    def _changed(self, file: LogFile, broken: Broken) -> LogFile:
        """Write a log anew, as plain text, or cut off in its compressed form."""
        name = Path(file.path).name.removesuffix(".gz").removesuffix(".zst")
        chunks = broken.logs[file.path]()
        if broken.cuts_pipe:
            path = self._place(f"{name}.gz")
            _write_cut(self.out / path, chunks)
        else:
            path = self._place(name)
            with (self.out / path).open("wb") as stream:
                stream.writelines(chunks)
        seconds = (broken.entry.end or 0) / MICROSECONDS_PER_SECOND
        os.utime(self.out / path, (seconds, seconds))  # clocks without a year take it from there
        return replace(file, path=path)

    def _node_logs(self, broken: Broken) -> Iterator[LogFile]:
        for node, lines in broken.nodes.items():
            path = self._place(f"{node}.log")
            self._lines(path, lines)
            yield LogFile(path=path, stream="kernel", node=node)

    def _lines(self, path: str, lines: Iterable[str]) -> None:
        text = "".join(f"{line}\n" for line in lines)
        (self.out / path).write_bytes(text.encode("utf-8", "surrogateescape"))

    def _place(self, name: str) -> str:
        """Return a path that nothing has yet."""
        return f"logs/{next(self._numbers):04d}-{name}"


def _write_cut(path: Path, chunks: Iterable[bytes]) -> None:
    """Write what a broken pipe leaves of a compressed log: its end is missing."""
    with gzip.open(path, "wb", compresslevel=1) as stream:
        stream.writelines(chunks)
    os.truncate(path, path.stat().st_size - _TRAILER_BYTES)


_TRAILER_BYTES = 12
"""Of gzip: check sum and length, and the end of the last piece before them."""
