"""The document that a dump file holds, whatever it is written in, within fixed bounds."""

from __future__ import annotations

from pathlib import Path
from typing import Any, Final

import msgspec

from relume.errors import InputError
from relume.ingest.dumps.pickles import (
    MAX_CONTAINERS,
    BrokenPickleError,
    UnsafePickleError,
    unpickle,
)
from relume.ingest.opening import read_chunks

MAX_BYTES: Final = 64 << 20
"""Decoded bytes of one dump: a ring of 2,000 collectives takes 0.3 MB pickled, 1.2 MB as JSON."""


class DumpError(InputError):
    """A dump that is not used: broken or too large."""


class HostileDumpError(DumpError):
    """A pickle that tries more than to be data."""


def read_bytes(path: Path | str) -> bytes:
    """Return the decoded bytes of one dump (gzip and zstd as for logs).

    Raises
    ------
    DumpError
        When it is larger than `MAX_BYTES`.
    InputError
        When it can't be read.
    """
    pieces, length = [], 0
    for chunk in read_chunks(path):
        length += len(chunk)
        if length > MAX_BYTES:
            raise DumpError(
                f"dump {path} is not used",
                found=f"more than {MAX_BYTES >> 20} MiB",
                expected="the dump of one rank",
                hint="a ring of 2,000 collectives (TORCH_FR_BUFFER_SIZE) takes about 1 MB",
            )
        pieces.append(chunk)
    return b"".join(pieces)


def parse_document(data: bytes, name: str) -> Any:  # noqa: ANN401 - plain data of any shape
    """Return the plain data of a pickle or of JSON.

    Raises
    ------
    HostileDumpError
        For a pickle that tries more than to be data.
    DumpError
        For what is broken or holds too much.

    Examples
    --------
    >>> parse_document(b'{"version": "2.4"}', "rank_0")
    {'version': '2.4'}
    """
    try:
        if data[:1] == b"\x80":
            return unpickle(data)
        return _from_json(data)
    except BrokenPickleError as error:
        raise DumpError(
            f"dump {name} is not used",
            found=f"a pickle that can't be used: {error}",
            expected="the whole file, as it was written",
        ) from error
    except UnsafePickleError as error:
        raise HostileDumpError(
            f"dump {name} is refused",
            found=f"a pickle that is no plain data: {error}",
            expected="a pickle of lists, dicts, strings and numbers only",
            hint="nothing of it was run; ask who wrote it",
        ) from error
    except (ValueError, RecursionError) as error:
        raise DumpError(
            f"dump {name} is not used",
            found=f"JSON that can't be used: {str(error)[:200]}",
            expected="the whole file, as it was written",
        ) from error


def _from_json(data: bytes) -> Any:  # noqa: ANN401
    if data.count(b"[") + data.count(b"{") > MAX_CONTAINERS:
        raise ValueError("it may hold more lists and objects than a dump has")
    return msgspec.json.decode(data.removeprefix(b"\xef\xbb\xbf"))
