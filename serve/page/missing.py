"""What isn't there."""

from __future__ import annotations

from relume.errors import shown
from relume.serve.ledger import NotFoundError


def no_such(what: str, name: str) -> NotFoundError:
    """Return the error about a record that the ledger doesn't hold."""
    return NotFoundError(
        f"{what} {shown(name)}",
        found=f"no such {what} in the ledger",
        expected="one that this service knows",
    )
