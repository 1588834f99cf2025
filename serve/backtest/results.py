"""What a backtest found, unit by unit: on disk as it goes, so that it can be gone on with."""

from __future__ import annotations

import fcntl
import os
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import Any, Self

import msgspec

from relume.advice import Advice
from relume.errors import InputError
from relume.models.policy.fingerprint import known_fingerprint
from relume.models.straggler.windows import Window
from relume.records import verdict_record
from relume.serve.backtest.replay import Replayed
from relume.serve.backtest.sources import Unit
from relume.serve.backtest.steps import StepRow
from relume.slurm.hostlists import fold
from relume.verdict import Locator, Verdict

FORMAT = 2
ABOUT_FILE = "backtest.json"
RESULTS_FILE = "results.jsonl"


class AdviceResult(msgspec.Struct, frozen=True):
    """Advice as the ledger would have it, and whom the verdict suspected.

    `resumed_at` is when the attempt had shown so many steps after an alarm about a hang that there
    was none (`STEPS_TO_REFUTE`); null if it never did.
    """

    advice: Advice
    nodes: list[str]
    ranks: list[int]
    resumed_at: int | None = None


class AttemptResult(msgspec.Struct, frozen=True):
    """What came of one attempt. Times are UTC microseconds, null without any clock.

    `verdict` has kind, cause, domain, rule and confidence of the verdict on everything, and, where
    nobody knows the cause, its `unrecognised` lines; `fingerprint` names its failure, null for none
    and where nobody can tell two such failures apart. `steps` are rows of a time, the step done by
    then, and the microseconds of it that were no work; `counts_lines` as in `StepRecord`. `wider`
    is what its failure led to be advised about a node, or about the cluster. `logs`
    counts the logs that were read, `missing` names those that could not be, or not as they are, and
    `skipped` counts what was left out of the others. `windows` are what its pace says for a
    judgement across jobs; results of before it was kept have none.
    """

    attempt: str
    title: str
    run: str
    start: int | None
    end: int | None
    nodes: int | None
    state: str | None
    advice: list[AdviceResult]
    verdict: dict[str, Any] | None
    first_step: int | None
    last_step: int | None
    logs: int
    missing: list[str]
    skipped: dict[str, int]
    windows: list[Window] = []
    nodelist: str | None = None
    gpus: int | None = None
    eligible: int | None = None
    fingerprint: str | None = None
    steps: list[StepRow] = []
    counts_lines: bool = False
    wider: list[Advice] = []


class UnitResult(msgspec.Struct, frozen=True):
    """What came of the attempts of one unit."""

    unit: str
    attempts: list[AttemptResult]


class About(msgspec.Struct, frozen=True):
    """What a backtest was run on and with; results of another one don't go with it."""

    data: str
    digest: str
    settings: str
    version: str
    format: int = FORMAT


def unit_result(unit: Unit, replayed: dict[str, Replayed]) -> UnitResult:
    """Return the record of a replayed unit."""
    results = []
    for source in unit.attempts:
        entry, found = source.entry, replayed[source.entry.attempt]
        start, end = found.extent.span
        told = found.told(entry.state)
        results.append(
            AttemptResult(
                attempt=entry.attempt,
                title=entry.title,
                run=source.run.name,
                start=start,
                end=end,
                nodes=entry.size,
                state=entry.state,
                advice=[
                    _advice(one.advice, one.verdict, found.resumed.get(one.advice.advice_id))
                    for one in found.findings
                ],
                verdict=_verdict(found.verdict),
                first_step=found.first_step,
                last_step=found.last_step,
                logs=found.extent.logs,
                missing=list(found.missing(source)),
                skipped=source.skipped,
                windows=found.windows,
                nodelist=_nodelist(entry.nodes),
                gpus=entry.gpus,
                eligible=entry.eligible,
                fingerprint=None if told is None else known_fingerprint(told),
                steps=found.steps.rows,
                counts_lines=found.steps.counts_lines,
                wider=found.wider,
            )
        )
    return UnitResult(unit.name, results)


class Results:
    """The results of one backtest in a folder, one writer at a time.

    A unit is there whole or not at all: a line that a kill cut short is taken away when the folder
    is opened again, and its unit is replayed anew.

    Attributes
    ----------
    done
        The units that are there.
    given_up
        Units that could not be replayed this time, and why; the next time they are tried again.

    Raises
    ------
    InputError
        When the folder holds a backtest of other data, settings or version, or is in use.
    OSError
        When it can't be written.
    """

    def __init__(self, folder: Path, about: About) -> None:
        folder.mkdir(parents=True, exist_ok=True)
        self.given_up: dict[str, str] = {}
        self._path = folder / RESULTS_FILE
        self._descriptor = os.open(self._path, os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, 0o644)
        try:
            self._lock(folder)
            self._require(folder / ABOUT_FILE, about)
            self._places: dict[str, tuple[int, int]] = {}
            self._end = self._recover()
            self.done = set(self._places)
        except BaseException:
            os.close(self._descriptor)
            raise

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        os.close(self._descriptor)

    def add(self, result: UnitResult) -> None:
        """Make the result of a unit durable."""
        self.add_encoded(result.unit, msgspec.json.encode(result))

    def add_encoded(self, unit: str, record: bytes) -> None:
        """Do the same with a result that is in JSON already."""
        _write(self._descriptor, record + b"\n", self._path)
        os.fsync(self._descriptor)
        self._places[unit] = self._end, len(record) + 1
        self._end += len(record) + 1
        self.done.add(unit)

    def arrange(self, units: Iterable[str]) -> None:
        """Bring the results into the order of `units`, others after them; nothing where they are.

        The same units give the same bytes then, in whatever order they were done. A kill meanwhile
        leaves the file as it was.
        """
        wanted = list(dict.fromkeys(one for one in units if one in self._places))
        known = set(wanted)
        wanted += [one for one in self._places if one not in known]
        if wanted == list(self._places):
            return
        staged = self._path.with_suffix(".new")
        descriptor = os.open(staged, os.O_RDWR | os.O_CREAT | os.O_TRUNC | os.O_CLOEXEC, 0o644)
        try:
            fcntl.flock(descriptor, fcntl.LOCK_EX)  # before anybody can find it under its name
            for begin, size in map(self._places.__getitem__, wanted):
                _write(descriptor, os.pread(self._descriptor, size, begin), self._path)
            os.fsync(descriptor)
            staged.replace(self._path)
        except BaseException:
            os.close(descriptor)
            raise
        os.close(self._descriptor)
        self._descriptor, self._end = descriptor, 0
        sizes = {one: self._places[one][1] for one in wanted}
        self._places = {}
        for one, size in sizes.items():
            self._places[one] = self._end, size
            self._end += size

    def require_whole(self) -> None:
        """See that nothing had to be given up: what compares replays needs all of each.

        Raises
        ------
        InputError
            That names the first unit, and why.
        """
        for unit, why in self.given_up.items():
            raise InputError(
                f"replay of {unit}, and of {len(self.given_up) - 1} other runs",
                found=why,
                hint="give workers more memory, or take the run out of the data",
            )

    def read(self) -> Iterator[UnitResult]:
        """Yield all results, in the order in which they were made."""
        return read_units(self._path)

    def _lock(self, folder: Path) -> None:
        try:
            fcntl.flock(self._descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
            is_ours = os.path.samestat(os.fstat(self._descriptor), self._path.stat())
        except BlockingIOError:
            is_ours = False
        if not is_ours:  # or it was arranged anew between being opened and being locked
            raise InputError(
                f"results of a backtest in {folder}",
                found="another backtest that writes there",
                expected="a folder of its own for each",
                hint="wait for it, or name another folder with --out",
            )

    def _require(self, path: Path, about: About) -> None:
        """Note what the results are of, or see that they are of the same."""
        if not path.exists():
            staged = path.with_suffix(".new")
            staged.write_bytes(msgspec.json.encode(about))
            staged.replace(path)
            return
        try:
            known = msgspec.json.decode(path.read_bytes(), type=About)
        except msgspec.DecodeError as error:
            raise InputError(
                f"{path}", found=str(error), expected="what `relume backtest` wrote"
            ) from error
        if known != about:
            fields = (name for name in About.__struct_fields__)
            differing = [name for name in fields if getattr(known, name) != getattr(about, name)]
            raise InputError(
                f"results of a backtest in {path.parent}",
                found=f"those of other {', '.join(differing)}",
                expected=f"a backtest of {about.data} with these settings",
                hint="name another folder with --out, or remove this one",
            )

    def _recover(self) -> int:
        """Note where each result is, cut off what was cut short, and return where the file ends."""
        end = 0
        for unit, after in _units(self._path):
            self._places[unit.unit] = end, after - end
            end = after
        os.ftruncate(self._descriptor, end)
        os.lseek(self._descriptor, end, os.SEEK_SET)
        return end


def read_units(path: Path) -> Iterator[UnitResult]:
    """Yield the results in a file, up to a line that is being written or was cut short by a kill.

    Raises
    ------
    InputError
        At a line that is no result.
    OSError
        When there is no such file.
    """
    return (unit for unit, _ in _units(path))


def _write(descriptor: int, data: bytes, path: Path) -> None:
    if os.write(descriptor, data) < len(data):
        raise OSError(f"no room for {path}")


def _units(path: Path) -> Iterator[tuple[UnitResult, int]]:
    """Yield each result with the offset of its line's end."""
    end = 0
    with path.open("rb") as stream:
        for number, line in enumerate(stream, start=1):
            if not line.endswith(b"\n"):
                return
            try:
                unit = msgspec.json.decode(line, type=UnitResult)
            except msgspec.DecodeError as error:
                raise InputError(
                    f"{path} line {number}",
                    found=str(error),
                    expected="a result that `relume backtest` wrote",
                    hint="name another folder with --out, or take the line away",
                ) from error
            end += len(line)
            yield unit, end


def _advice(advice: Advice, verdict: Verdict | None, resumed: int | None) -> AdviceResult:
    where = Locator() if verdict is None else verdict.culprit
    nodes = dict.fromkeys((*([where.node] if where.node else ()), *advice.exclude_nodes))
    ranks = [] if where.rank is None else [where.rank]
    return AdviceResult(advice, list(nodes), ranks, resumed)


def _nodelist(nodes: tuple[str, ...]) -> str | None:
    """Return names as a hostlist, null for none and for what is no name of a node."""
    try:
        return fold(nodes) if nodes else None
    except InputError:
        return None


def _verdict(verdict: Verdict | None) -> dict[str, Any] | None:
    if verdict is None:
        return None
    keys = ("kind", "cause", "domain", "rule", "confidence", "unrecognised")
    record = verdict_record(verdict)
    return {key: record[key] for key in keys}
