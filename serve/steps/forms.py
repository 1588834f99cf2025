"""The known forms of one log's step lines, and the numbers of many lines at a time."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from itertools import repeat
from typing import TYPE_CHECKING

import numpy as np

from relume.features.progress.run import Integers, ReadLine, Wording
from relume.serve.steps.columns import MAX_LIMITS, Codes, Columns
from relume.serve.steps.learning import Form, Read, Said, learn, worth

if TYPE_CHECKING:
    from numpy.typing import NDArray

MAX_LINE = 2048
"""Lines of so many bytes are read one by one: their forms are never learned."""
LEARN_AFTER = 12
"""Lines of one form that are read one by one before it is tried out: that takes as long."""
MAX_FORMS = 4096
"""Forms of one log that are known; lines of others are read one by one."""
MAX_SEEN = 16_384
"""Forms of which it is counted how often they came."""
MAX_WORDINGS = 4096
"""What lines of known forms say; logs that say still more are read one by one."""
LEARN_AT_ONCE, MAX_NEW_FORMS = 100, 4
"""Lines of one form in a block that are worth learning it at once, and for how many forms."""
MAX_NEW = 64
"""Wordings of known forms that are learned from one block before its lines are read."""
UNKNOWN, NEW = -1, -2
BLANK = bytes.maketrans(b"123456789", b"000000000")
"""Blanks out digits, but for how many there are."""


@dataclass(slots=True)
class Numbers:
    """What lines say, in columns; `which` is `UNKNOWN` for those that nothing is known of."""

    which: Integers
    steps: Integers
    times: Integers
    elapsed: NDArray[np.float64]
    losses: NDArray[np.float64]


class Forms:
    """Learns the forms of one log's step lines, and reads lines by them.

    Parameters
    ----------
    read
        Reads one line.
    reader
        Returns how lines are read anew that were found to say the same as this one.

    Attributes
    ----------
    wordings, timed
        What lines of known forms say, by number, and whether they have a clock.
    """

    def __init__(self, read: Read, reader: Callable[[Said], ReadLine]) -> None:
        self._read, self._reader = read, reader
        self._by_blank: dict[bytes, int] = {}
        self._seen: dict[bytes, int] = {}
        self._forms: list[Form] = []
        self._texts: list[bytes] = []
        self._known: dict[tuple[int, bytes], int] = {}
        self._columns: Columns | None = None
        self._bases = np.zeros(0, np.int64)
        self.wordings: list[Wording] = []
        self.timed = np.zeros(0, np.bool_)

    def see(self, text: bytes) -> None:
        """Take a step line that was read by itself."""
        if len(text) >= MAX_LINE:
            return
        blank = text.translate(BLANK)
        number = self._by_blank.get(blank)
        if number is None:
            seen = self._seen[blank] = self._seen.get(blank, 0) + 1
            if len(self._seen) > MAX_SEEN:
                self._seen.clear()
            if seen < LEARN_AFTER or len(self._forms) >= MAX_FORMS:
                return
            self._seen.pop(blank, None)
            number = self._by_blank[blank] = self._add_form(text)
        if number != UNKNOWN:
            self._add_wording(number, bytes(text[at] for at in self._forms[number].fixed), text)

    def find(self, codes: Codes, starts: Integers, blanks: Sequence[bytes]) -> Numbers:
        """Read those of the lines that are known; `blanks` are they without their digits."""
        forms = self._forms_of(blanks)
        if self._learn_common(codes, starts, blanks, np.flatnonzero(forms == NEW)):
            forms = self._forms_of(blanks)
        known = np.flatnonzero(forms >= 0)
        found = Numbers(
            np.full(len(blanks), UNKNOWN),
            np.zeros(len(blanks), np.int64),
            np.zeros(len(blanks), np.int64),
            np.zeros(len(blanks), np.float64),
            np.full(len(blanks), np.nan),
        )
        if not known.size:
            return found
        columns, at, forms = self._made_columns(), starts[known], forms[known]
        which = self._which(columns, codes, at, forms)
        which[~columns.is_clock(codes, at, forms)] = UNKNOWN
        found.which[known] = which
        found.steps[known] = columns.steps.add_up(codes, at, forms)
        found.times[known] = columns.times.add_up(codes, at, forms)
        said = found.which != UNKNOWN
        found.times[said] += self._bases[found.which[said]]
        found.elapsed[known] = columns.elapsed.add_up(codes, at, forms)
        found.losses[known] = columns.losses.read(codes, at, forms)
        return found

    def _forms_of(self, blanks: Sequence[bytes]) -> Integers:
        return np.fromiter(map(self._by_blank.get, blanks, repeat(NEW)), np.int64, len(blanks))

    def _learn_common(
        self, codes: Codes, starts: Integers, blanks: Sequence[bytes], new: Integers
    ) -> bool:
        """Learn forms that many of the lines have before these are read; say whether any was."""
        if len(new) < LEARN_AT_ONCE:
            return False
        begin = len(self._forms)
        counted = Counter(b for at in new.tolist() if len(b := blanks[at]) < MAX_LINE)
        for blank, count in counted.most_common(MAX_NEW_FORMS):
            if count < LEARN_AT_ONCE or len(self._by_blank) >= MAX_SEEN:
                break
            start = starts[blanks.index(blank)]
            text = codes[start : start + len(blank)].tobytes()
            self._by_blank[blank] = self._add_form(text) if b"0" in blank else UNKNOWN
        return len(self._forms) > begin

    def _add_form(self, text: bytes) -> int:
        form = learn(text, self._read) if len(self._forms) < MAX_FORMS else None
        if form is None or len(form.limits) > MAX_LIMITS:
            return UNKNOWN
        self._forms.append(form)
        self._texts.append(text)
        self._columns = None
        return len(self._forms) - 1

    def _add_wording(self, number: int, fixed: bytes, text: bytes) -> int:
        """Learn what a line of a form says; return its wording, `UNKNOWN` where none is learned."""
        key = number, fixed
        if len(self._known) >= MAX_WORDINGS or key in self._known:
            return self._known.get(key, UNKNOWN)
        said = self._read(text)
        if said is None:
            self._known[key] = UNKNOWN
            return UNKNOWN
        form, wording = self._forms[number], len(self.wordings)
        self._known[key] = wording
        base, is_timed = (said.time or 0) - worth(form.times, text), said.time is not None
        self._bases = np.append(self._bases, base)
        self.timed = np.append(self.timed, is_timed)
        self.wordings.append(Wording(said.point, said.rank, is_timed, self._reader(said)))
        return wording

    def _made_columns(self) -> Columns:
        if self._columns is None:
            self._columns = Columns(self._forms, self._texts)
        return self._columns

    def _which(self, columns: Columns, codes: Codes, starts: Integers, forms: Integers) -> Integers:
        """Return what each line says: lines that agree in their fixed digits say the same."""
        order = np.argsort(forms, kind="stable")  # lines of two forms often take turns
        starts, forms = starts[order], forms[order]
        fixed_digits = columns.fixed.codes(codes, starts, forms)
        differs = forms[1:] != forms[:-1]
        for digits in fixed_digits:
            differs |= digits[1:] != digits[:-1]
        heads = np.concatenate(([0], np.flatnonzero(differs) + 1))
        lengths = np.diff(heads, append=len(forms))
        which, new = list[int](), 0
        for head, form in zip(heads.tolist(), forms[heads].tolist(), strict=True):
            fixed = fixed_digits[: len(self._forms[form].fixed), head].tobytes()
            wording = self._known.get((form, fixed))
            if wording is None and new < MAX_NEW:
                text = codes[starts[head] : starts[head] + len(self._texts[form])].tobytes()
                wording, new = self._add_wording(form, fixed, text), new + 1
            which.append(UNKNOWN if wording is None else wording)
        said = np.empty(len(forms), np.int64)
        said[order] = np.repeat(np.array(which, np.int64), lengths)
        return said
