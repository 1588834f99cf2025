"""Tables of Slurm's ``--parsable`` form: a header, then rows of cells between delimiters.

Two things make them harder than they look. Free text (a submit line, a comment, a reason) may hold
line breaks and the delimiter itself. And the lines of other programs may stand between the rows: a
warning, a prompt, the header again. A row is what has the columns that its table must have; the
columns whose form is known say where in a row that is too long the text stood.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass

from relume.ingest.skips import SkipCounts

HEADER_LINES = 5
"""First lines of a file in which its header is looked for: a warning may stand before it."""
MAX_HEADER_CHARACTERS = 8000
MAX_ROW_CHARACTERS = 1 << 18
"""Bound of a row that goes over several lines: it is held while its end is awaited."""
MAX_DELIMITERS = 64
"""Delimiters within the free text of one row that are still told from those between cells."""
MAX_FOREIGN = 4
"""Lines before a broken row that are tried as no part of it."""
# The delimiter is what stands between the first two names; spaces alone are columns of fixed width.
_DELIMITER = re.compile(r"\s*[A-Za-z]\w*(?P<delimiter>[^\w\s]+|\t)(?=\w|$)")


@dataclass(frozen=True, slots=True)
class Form:
    """What a kind of table is known by.

    Attributes
    ----------
    ids
        Columns of which a header has at least one, and each row a cell like the pattern of the
        first of them; one that is a text has no pattern that counts.
    needed
        Columns that each header has, and the pattern that each row's cell fits.
    typed
        Further columns whose cells have a form; the other columns are free text.
    texts
        Columns in which delimiters are likely; they are tried before the other free ones.
    lost, foreign, joined
        Reasons (`relume.ingest.skips`): a row without sense, a line of no row, a mended row.
    """

    ids: Mapping[str, re.Pattern[str]]
    needed: Mapping[str, re.Pattern[str]]
    typed: Mapping[str, re.Pattern[str]]
    texts: Sequence[str]
    lost: str
    foreign: str
    joined: str

    def header(self, line: str) -> Table | None:
        """Read a header; null when the line is none."""
        if not all(name in line for name in self.needed):  # most lines end here
            return None
        line = line.strip("\r\n\ufeff")
        found = _DELIMITER.match(line[:MAX_HEADER_CHARACTERS])
        if found is None:
            return None
        columns = [name.strip() for name in line.split(found["delimiter"])]
        has_needed = all(name in columns for name in self.needed)
        has_id = any(name in columns for name in self.ids)
        return Table(columns, found["delimiter"], self) if has_needed and has_id else None

    def headers(self, start: str) -> list[Table]:
        """Read the headers in the first `HEADER_LINES` of a text."""
        lines = start.split("\n", HEADER_LINES)[:HEADER_LINES]
        return [table for table in map(self.header, lines) if table is not None]


class Table:
    """The columns of one header, and what its rows are."""

    def __init__(self, columns: Sequence[str], delimiter: str, form: Form) -> None:
        self.delimiter = delimiter
        self.width = len(columns)
        self.at: dict[str, int] = {}
        for index, name in enumerate(columns):
            self.at.setdefault(name, index)
        an_id = next(name for name in form.ids if name in self.at)
        must = {an_id: form.ids[an_id], **form.needed}
        if an_id in form.texts:
            del must[an_id]
        typed = {**form.typed, **must, "": _NOTHING}
        self._must = [(self.at[name], pattern) for name, pattern in must.items()]
        self._typed = [(i, typed[name]) for i, name in enumerate(columns) if name in typed]
        free = [i for i, name in enumerate(columns) if name not in typed]
        self._free = sorted(free, key=lambda i: columns[i] not in form.texts)

    def row(self, cells: list[str]) -> list[str] | None:
        """Return the cells, one a column; null when they are no row of this table.

        With delimiters in its text a row is too long. They are taken to be in one cell: the first
        with which all cells of a known form fit their columns.
        """
        more = len(cells) - self.width
        if more == 0:
            return cells if _fits(cells, self._must) else None
        if not 0 < more <= MAX_DELIMITERS:
            return None
        for place in self._free:
            end = place + more + 1
            row = [*cells[:place], self.delimiter.join(cells[place:end]), *cells[end:]]
            if _fits(row, self._typed):
                return row
        return None


def read_table(
    lines: Iterable[str], *forms: Form, skipped: SkipCounts
) -> Iterator[tuple[Table, list[str]]]:
    """Yield each row as (table, cells), broken rows joined; what is no row is counted.

    Holds one row, at most `MAX_ROW_CHARACTERS` of it. A header may come again, with other columns;
    it is of the first of the `forms` that it fits, and they count by the same reasons.
    """
    table: Table | None = None
    form = forms[0]
    broken = _BrokenRow(form, skipped)
    for raw in lines:
        line = raw.rstrip("\r\n")
        header = next(filter(None, (one.header(line) for one in forms)), None)
        if header is not None:
            broken.drop()
            table = header
        elif table is None:
            skipped.add(form.foreign, int(bool(line.strip())))
        else:
            row = table.row(line.split(table.delimiter)) or broken.add(line, table)
            if row is not None:
                broken.drop()
                yield table, row
    broken.drop()


class Cells:
    """The cells of one row by the names of their columns."""

    __slots__ = ("_at", "_cells")

    def __init__(self, table: Table, cells: list[str]) -> None:
        self._at, self._cells = table.at, cells

    def cell(self, *names: str) -> str:
        """Return the cell of the first of the columns that is there, without blanks around it.

        Empty when none of them is.
        """
        for name in names:
            index = self._at.get(name)
            if index is not None:
                return self._cells[index].strip()
        return ""


class _BrokenRow:
    """The beginning of a row that goes on in the next lines."""

    def __init__(self, form: Form, skipped: SkipCounts) -> None:
        self._form, self._skipped = form, skipped
        self._lines: list[str] = []
        self._delimiters: list[int] = []
        self._characters = 0

    def add(self, line: str, table: Table) -> list[str] | None:
        """Take the next line; return the row when it is whole. No row begins blank."""
        if not (self._lines or line.strip()):
            return None
        self._lines.append(line)
        self._delimiters.append(line.count(table.delimiter))
        self._characters += len(line) + 1
        more = sum(self._delimiters) + 1 - table.width if self._delimiters[-1] else -1
        if more >= 0:  # else the rest of the row is still to come
            for first in range(min(len(self._lines) - 1, MAX_FOREIGN)):
                row = table.row("\n".join(self._lines[first:]).split(table.delimiter))
                if row is not None:
                    self._skipped.add(self._form.joined)
                    del self._lines[first:], self._delimiters[first:]
                    return row
        if more > MAX_DELIMITERS or self._characters > MAX_ROW_CHARACTERS:
            self.drop()
        return None

    def drop(self) -> None:
        """Begin anew; what is lost is counted: as a row, or as lines that are of none."""
        if any(self._delimiters):
            self._skipped.add(self._form.lost)
        else:
            self._skipped.add(self._form.foreign, sum(1 for line in self._lines if line.strip()))
        self._lines, self._delimiters, self._characters = [], [], 0


def _fits(cells: Sequence[str], columns: Iterable[tuple[int, re.Pattern[str]]]) -> bool:
    return all(pattern.fullmatch(cells[index].strip()) for index, pattern in columns)


_NOTHING = re.compile("")
"""What `--parsable` has behind its last delimiter."""
