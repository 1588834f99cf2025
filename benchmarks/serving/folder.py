"""The folder of a service that a bench starts."""

from __future__ import annotations

import shutil
import sys
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path


@contextmanager
def service_folder(name: str) -> Iterator[Path]:
    """Give a new folder; taken away at the end, but for a failure, which may be told in it.

    >>> with service_folder("example") as folder:
    ...     there = folder.is_dir()
    >>> there, folder.exists()
    (True, False)
    """
    folder = Path(tempfile.mkdtemp(prefix=f"relume-{name}-"))
    try:
        yield folder
    except BaseException:
        sys.stderr.write(f"relume: what the service said is in {folder}\n")
        raise
    shutil.rmtree(folder)
