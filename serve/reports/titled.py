"""A table of a report for a terminal, with its title above it and a sentence below it."""

from __future__ import annotations

from collections.abc import Iterable

from rich.box import SIMPLE_HEAD
from rich.console import Group
from rich.table import Table
from rich.text import Text

from relume.printing import printable

NOTHING = "-"
"""What has no value: nothing was counted."""


class TitledTable:
    """A table with a title; its first column stands left, the others right.

    Examples
    --------
    >>> sheet = TitledTable("Runs", ("run", "nodes"))
    >>> sheet.add("pretrain", "8")
    >>> [str(part) for part in sheet.under("of 1 run").renderables[::2]]
    ['Runs', 'of 1 run']
    """

    def __init__(self, title: str, columns: Iterable[str]) -> None:
        self._title = title
        self.table = Table(box=SIMPLE_HEAD)
        for place, name in enumerate(columns):
            self.table.add_column(Text(name), justify="right" if place else "left")

    def add(self, *cells: str) -> None:
        """Add a row. Names are given by sites: nothing in a cell is markup or a control code."""
        self.table.add_row(*(Text(printable(cell)) for cell in cells))

    def under(self, below: str) -> Group:
        """Return it with its title and, below it, what it was counted from.

        Not as title and caption of the table itself: those are wrapped to its width.
        """
        return Group(Text(self._title, style="bold"), self.table, Text(below, style="dim"))


def number(value: float | None) -> str:
    """Return a share or a ratio with four digits after the point."""
    return NOTHING if value is None else f"{value:.4f}"
