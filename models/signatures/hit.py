"""A line that a rule recognised."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from relume.events import LogLine
    from relume.models.signatures.rule import Signature


@dataclass(frozen=True, slots=True)
class Hit:
    """One signature on one line.

    `captures` holds what the line says by name (`CAPTURE_GROUPS`), as printed; a group that wasn't
    found is absent, and of two expressions with the same group the first one that matched counts.
    """

    signature: Signature
    line: LogLine
    captures: dict[str, str]
