"""How many files this process may have open."""

from __future__ import annotations

import resource


def allow_many_files() -> None:
    """Allow as many as the system lets us: each log that is read takes a descriptor."""
    _, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    resource.setrlimit(resource.RLIMIT_NOFILE, (hard, hard))
