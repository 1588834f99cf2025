"""A process that writes to a ledger until it is killed, and says what was acknowledged.

For each line on standard input it forks a writer, which first prints ``pid N``, then one line for
each call that returned; ``ended`` is printed when the writer is gone. Forking saves the imports.
"""

from __future__ import annotations

import itertools
import os
import sys
from pathlib import Path

from advising import make_advice, make_attempt
from relume.advice import Advice, Disposition, Reconciliation
from relume.serve.ledger import Access, AttemptRecord, LabelRecord, Ledger

STARTED = 1_767_323_045
REPORT = Reconciliation(Disposition.CONVERGED, "x" * 2000, 1)


def advice_of(number: int) -> Advice:
    """The Advice that a writer writes as its `number`-th; longer than a page of the database."""
    return make_advice(attempt=f"lab/{number}@{STARTED}.0", missing_evidence=(str(number) * 5000,))


def label_of(number: int) -> LabelRecord:
    """What is said of the `number`-th Advice; longer than a page of the database."""
    name = advice_of(number).advice_id
    return LabelRecord(advice_id=name, right=True, who="writer", why=str(number) * 1000, at=number)


def pair_of(number: int) -> tuple[AttemptRecord, AttemptRecord]:
    """Two attempts that are written in one call."""
    left = make_attempt(attempt=f"lab/1@{STARTED}.0", last_step=number, name="l" * 3000)
    return left, make_attempt(attempt=f"lab/2@{STARTED}.0", last_step=number, name="r" * 3000)


def write(url: str, password_file: str, first: int) -> None:
    """Write with numbers from `first` on, without end."""
    say(f"pid {os.getpid()}")
    access = Access(Path(password_file) if password_file else None)
    with Ledger.open(url, access) as ledger:
        token = ledger.take_lease("lab", "writer", 60, 0).fencing_token
        for number in itertools.count(first):
            advice = advice_of(number)
            ledger.put_advice(advice)
            say(f"advice {number}")
            ledger.put_attempts(pair_of(number))
            say(f"attempts {number}")
            ledger.put_cursors({"left": str(number), "right": str(number)})
            say(f"cursors {number}")
            ledger.reconcile(advice.advice_id, REPORT, token, 0)
            say(f"report {number}")
            ledger.put_label(label_of(number))
            say(f"label {number}")


def say(line: str) -> None:
    """Print a line at once, whole."""
    os.write(1, f"{line}\n".encode())


def main() -> None:
    """Fork a writer for each line, one after the other."""
    for line in sys.stdin:
        child = os.fork()
        if child == 0:
            write(sys.argv[1], sys.argv[2], int(line))
        os.waitpid(child, 0)
        say("ended")


if __name__ == "__main__":
    main()
