"""Arrays as bytes and back: what detectors of this folder and of stragglers are kept as."""

from __future__ import annotations

import io
import zipfile
from typing import TYPE_CHECKING, Any

import numpy as np

from relume.errors import InputError

if TYPE_CHECKING:
    from collections.abc import Iterable

    from numpy.typing import ArrayLike, NDArray


def packed(**arrays: ArrayLike) -> bytes:
    """Return arrays as bytes, for `unpacked`."""
    buffer = io.BytesIO()
    np.savez(buffer, **arrays)  # type: ignore[arg-type] # its other parameter is a flag
    return buffer.getvalue()


def unpacked(saved: bytes, names: Iterable[str], what: str) -> dict[str, NDArray[Any]]:
    """Return the arrays of these names out of what `packed` gave.

    Parameters
    ----------
    what
        Whose they are, for the message.

    Raises
    ------
    InputError
        When it can't be read, or one is missing.

    Examples
    --------
    >>> unpacked(packed(times=[1, 2], values=[0.5]), ["times"], "a series")["times"].tolist()
    [1, 2]
    """
    try:
        with np.load(io.BytesIO(saved), allow_pickle=False) as parts:
            return {name: parts[name] for name in names}
    except (ValueError, KeyError, OSError, EOFError, zipfile.BadZipFile) as error:
        raise InputError(f"{what} can't be restored", found=str(error)) from error
