"""Finds the step lines of a block: those of known forms by their digits, others by the engine."""

from __future__ import annotations

from bisect import bisect_left
from collections.abc import Sequence
from dataclasses import dataclass
from functools import partial
from itertools import accumulate

import numpy as np

from relume.features.progress.parse import parse_located
from relume.features.progress.point import ProgressPoint
from relume.features.progress.run import Integers, ReadLine, Run, Wording
from relume.ingest.blocks import Block, count_lines
from relume.ingest.loglines import LineParser
from relume.models.signatures.engine import Candidate, Engine
from relume.serve.scanplan import ScanPlan
from relume.serve.steps.columns import Codes
from relume.serve.steps.forms import BLANK, MAX_LINE, UNKNOWN, Forms, Numbers
from relume.serve.steps.learning import Said

LEARN_FROM = 1000
"""Step lines of a log before its forms are learned: small logs are read before that pays."""
MIN_LINES = 32
"""Step lines of a block that are worth being read together."""
MIN_RUN = 16
"""Step lines of known forms for each of another: single ones are not worth being read apart."""
MAX_LOGS = 64
"""Logs of an attempt whose forms are known."""


@dataclass(slots=True)
class Steps:
    """What was found in a block: lines of known forms, and candidates among all others."""

    candidates: list[Candidate]
    starts: Integers
    ends: Integers
    numbers: Numbers
    wordings: Sequence[Wording]
    block: Block
    taken: int = 0
    _lines: Integers | None = None

    def before(self, offset: int) -> Run | None:
        """Return the lines of known forms before `offset` that weren't taken yet, null for none."""
        begin = self.taken
        if begin == len(self.starts):
            return None
        end = int(np.searchsorted(self.starts, offset))
        if begin >= end:
            return None
        self.taken, part = end, slice(begin, end)
        used, which = np.unique(self.numbers.which[part], return_inverse=True)
        return Run(
            self.block.file,
            tuple(self.wordings[number] for number in used),
            which,
            self.numbers.steps[part],
            self.numbers.times[part],
            self.numbers.elapsed[part],
            self.numbers.losses[part],
            self._all_lines()[part],
            lambda at: self.text(begin + at),
            lambda at: (int(self.starts[begin + at]), int(self.ends[begin + at])),
        )

    def _all_lines(self) -> Integers:
        """Return the physical line of each, found at once: mixed blocks have many runs."""
        if self._lines is None:
            self._lines = self.block.lines_at(self.starts)
        return self._lines

    def text(self, at: int) -> bytes:
        """Return one line of a known form."""
        return self.block.data[self.starts[at] : self.ends[at]]


@dataclass(slots=True)
class _Log:
    """What is known of one log."""

    parser: LineParser
    forms: Forms
    step_lines: int = 0
    is_dense: bool = False
    """Whether most of its lines are of known forms: then these are looked for first."""


class StepFinder:
    """Finds step lines, however a log is cut into blocks.

    For each block: `find`, then `see` for every line of its candidates that was read as a step.
    """

    def __init__(self, engine: Engine, plan: ScanPlan) -> None:
        self._engine, self._plan = engine, plan
        self._logs: dict[str, _Log] = {}

    def find(self, block: Block, parser: LineParser, *, together: bool = True) -> Steps:
        """Return the step lines of a block, and whatever else is looked for beside them.

        All of them are candidates where they aren't to be read `together`.
        """
        if not together:
            return _nothing_known(self._engine.scan(block.data), block)
        log = self._log(block.file, parser)
        if log.is_dense:
            return self._find_known_first(log, block)
        candidates = self._engine.scan(block.data)
        log.step_lines += len(candidates)
        if log.step_lines < LEARN_FROM or len(candidates) < MIN_LINES:
            return _nothing_known(candidates, block)
        return self._find_known_of(log, block, candidates)

    def see(self, text: bytes, parser: LineParser) -> None:
        """Learn from a line that was read as a step, without markers or formats of a user."""
        log = self._logs.get(parser.file)
        if log is not None and log.step_lines >= LEARN_FROM:
            log.forms.see(text)

    def _log(self, file: str, parser: LineParser) -> _Log:
        log = self._logs.get(file)
        if log is None or log.parser is not parser:
            self._logs.pop(file, None)
            if len(self._logs) >= MAX_LOGS:
                del self._logs[next(iter(self._logs))]
            forms = Forms(partial(self._read, parser), partial(self._reader, parser))
            log = self._logs[file] = _Log(parser, forms)
        return log

    def _find_known_first(self, log: _Log, block: Block) -> Steps:
        """Look for known forms among all lines, and for anything in the text that is left."""
        data = block.data
        blanks = data.translate(BLANK).split(b"\n")
        if not blanks[-1]:
            blanks.pop()
        sizes = np.fromiter(map(len, blanks), np.int64, len(blanks))
        ends = np.cumsum(sizes + 1) - 1
        starts = ends - sizes
        numbers = _checked(log.forms.find(_codes(data), starts, blanks), log, block, starts, ends)
        unknown = np.flatnonzero(numbers.which == UNKNOWN)
        spans = zip(starts[unknown].tolist(), ends[unknown].tolist(), strict=True)
        candidates = self._scan_left(data, list(spans))
        log.is_dense = len(unknown) < len(blanks) / 2
        if len(blanks) - len(unknown) < MIN_RUN * len(candidates):
            log.is_dense = False
            return _nothing_known(self._engine.scan(data), block)
        return Steps(candidates, *_known(numbers, starts, ends), log.forms.wordings, block)

    def _scan_left(self, data: bytes, spans: Sequence[tuple[int, int]]) -> list[Candidate]:
        """Scan some lines of a block as one text."""
        left = [data[start:end] for start, end in spans]
        begins = list(accumulate((len(text) + 1 for text in left), initial=0))
        candidates: list[Candidate] = []
        for begin, end, patterns in self._engine.scan(b"\n".join(left)):
            start, _ = spans[bisect_left(begins, begin)]
            candidates.append(Candidate(start, start + end - begin, patterns))
        return candidates

    def _find_known_of(self, log: _Log, block: Block, candidates: list[Candidate]) -> Steps:
        """Look for known forms among candidates."""
        data = block.data
        spans = [(start, min(end, start + MAX_LINE)) for start, end, _ in candidates]
        blanks = [data[start:end].translate(BLANK) for start, end in spans]
        starts, ends = np.array(spans).T
        numbers = _checked(log.forms.find(_codes(data), starts, blanks), log, block, starts, ends)
        is_unknown = (numbers.which == UNKNOWN).tolist()
        known = is_unknown.count(False)
        if known < MIN_RUN * is_unknown.count(True):
            return _nothing_known(candidates, block)
        log.is_dense = known > count_lines(data, 0, len(data)) / 2
        left = [c for c, unknown in zip(candidates, is_unknown, strict=True) if unknown]
        return Steps(left, *_known(numbers, starts, ends), log.forms.wordings, block)

    def _read(self, parser: LineParser, text: bytes) -> Said | None:
        found = self._engine.scan(text)
        if len(found) != 1:
            return None
        located = self._plan.split(found[0].patterns)
        if located.user_progress or located.markers:
            return None
        line = parser.look(text.decode("utf-8", "replace"), 0, 0)
        point = parse_located(line.message, located.progress)
        if point is None:
            return None
        rank = line.rank if line.rank is not None else line.task
        return Said(found[0].patterns, point, rank, line.event_time)

    def _reader(self, parser: LineParser, said: Said) -> ReadLine:
        patterns = self._plan.split(said.patterns).progress

        def read(text: bytes) -> tuple[ProgressPoint, int | None]:
            line = parser.look(text.decode("utf-8", "replace"), 0, 0)
            return parse_located(line.message, patterns) or said.point, line.event_time

        return read


def _checked(
    numbers: Numbers, log: _Log, block: Block, starts: Integers, ends: Integers
) -> Numbers:
    """Return the numbers if the earliest and the latest clock among them are read the same.

    Where a zone's clocks are put forward or back within the block, one of them isn't.
    """
    wordings, known = log.forms.wordings, np.flatnonzero(numbers.which != UNKNOWN)
    timed = known[log.forms.timed[numbers.which[known]]]
    if not timed.size:
        return numbers
    for choose in (np.argmin, np.argmax):
        at = timed[choose(numbers.times[timed])]
        _, time = wordings[numbers.which[at]].read(block.data[starts[at] : ends[at]])
        if time != numbers.times[at]:
            numbers.which[:] = UNKNOWN
            break
    return numbers


def _known(
    numbers: Numbers, starts: Integers, ends: Integers
) -> tuple[Integers, Integers, Numbers]:
    """Return where the known lines are, and what they say."""
    at = np.flatnonzero(numbers.which != UNKNOWN)
    chosen = Numbers(
        *(numbers.which[at], numbers.steps[at], numbers.times[at]),
        *(numbers.elapsed[at], numbers.losses[at]),
    )
    return starts[at], ends[at], chosen


def _nothing_known(candidates: list[Candidate], block: Block) -> Steps:
    none = np.zeros(0, np.int64)
    floats = none.astype(np.float64)
    numbers = Numbers(none, none, none, floats, floats)
    return Steps(candidates, none, none, numbers, (), block)


def _codes(data: bytes) -> Codes:
    return np.frombuffer(data, np.uint8)
