"""Finds a wording of the third group, and the lines in it that name the cause."""

from __future__ import annotations

from relume.benchmarks.episodes.unseen import (
    hangs,
    hardware,
    healthy,
    machine,
    memory,
    network,
    scheduler,
    startup,
    storage,
    traps,
    victims,
    workload,
)

MARK = "»"
"""Before a line of a wording that names the cause, when not all of it does. Such a wording is
printed as it is: no traceback stands above it. The mark itself is never printed."""

FORMS: dict[str, tuple[str, ...]] = {
    **hardware.FORMS,
    **network.FORMS,
    **storage.FORMS,
    **memory.FORMS,
    **startup.FORMS,
    **workload.FORMS,
    **hangs.FORMS,
    **scheduler.FORMS,
    **machine.FORMS,
    **traps.FORMS,
    **victims.FORMS,
    **healthy.FORMS,
}
"""Wordings by the place in a story where they are said, in the form of `string.Template`."""


def unmarked(text: str, roots: tuple[int, ...]) -> tuple[str, tuple[int, ...]]:
    r"""Return the text without marks, and which of its lines are roots: the marked ones, if any.

    A text that is said without roots (by a victim) has none, marked or not.

    Examples
    --------
    >>> unmarked("stack:\n»out of luck\n at main", (0,))
    ('stack:\nout of luck\n at main', (1,))
    >>> unmarked("out of luck", (0,))
    ('out of luck', (0,))
    """
    if MARK not in text:
        return text, roots
    lines = text.split("\n")
    marked = tuple(number for number, line in enumerate(lines) if line.startswith(MARK))
    return "\n".join(line.removeprefix(MARK) for line in lines), marked if roots else ()
