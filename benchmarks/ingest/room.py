"""Room on the disk for what a bench makes."""

from __future__ import annotations

import shutil
from pathlib import Path

from relume.errors import InputError


def require_room(what: str, folder: Path, wanted: int) -> None:
    """Refuse to begin with what needs so many bytes of free disk where there are fewer.

    Raises
    ------
    InputError
        When there is less.
    """
    free = shutil.disk_usage(folder).free
    if free < wanted:
        raise InputError(
            f"{what} in {folder}",
            found=f"{free / 1e9:.1f} GB of free disk",
            expected=f"{wanted / 1e9:.1f} GB",
            hint="take a folder with more room; for temporary files, set TMPDIR",
        )
