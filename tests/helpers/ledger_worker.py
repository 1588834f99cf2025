"""A process that writes to a ledger beside others: ``ledger_worker.py URL PASSWORD_FILE NAME``.

It waits for a line on standard input, so that all begin at once, and prints how much Advice was new to
the ledger, and the fencing tokens that it was given.
"""

from __future__ import annotations

import json
import sys
from pathlib import Path

from advising import CREATED, make_advice
from relume.advice import Advice
from relume.serve.ledger import Access, LabelRecord, LeaseHeldError, Ledger

ROUNDS = 15


def advice_of(number: int) -> Advice:
    """The Advice that every worker writes in its round of that number."""
    return make_advice(attempt=f"lab/{number + 1}@1767323045.0")


def work(ledger: Ledger, name: str) -> tuple[int, list[int]]:
    """Write the same Advice as the others, labels of one's own, and ask for the lease."""
    new, tokens = 0, []
    for number in range(ROUNDS):
        advice = advice_of(number)
        new += ledger.put_advice(advice)
        ledger.put_label(
            LabelRecord(advice_id=advice.advice_id, right=True, who=name, at=CREATED + number)
        )
        ledger.put_cursors({"shared": name, name: str(number)})
        try:
            # Each lease has run out when the next one is asked for.
            tokens.append(ledger.take_lease("lab", name, 1e-6, CREATED + 2 * number).fencing_token)
        except LeaseHeldError:
            continue
    return new, tokens


def main() -> None:
    """Do the work of one process."""
    url, password_file, name = sys.argv[1:]
    access = Access(Path(password_file) if password_file else None)
    sys.stdin.readline()
    with Ledger.open(url, access) as ledger:
        sys.stdout.write(json.dumps(work(ledger, name)))


if __name__ == "__main__":
    main()
