"""Files that a person names: whether reading one ends, who else may, and small ones as text."""

from __future__ import annotations

import errno
import stat
from codecs import BOM_UTF8
from pathlib import Path

from relume.errors import ConfigError

_KINDS = (
    (stat.S_ISFIFO, "a named pipe"),
    (stat.S_ISSOCK, "a socket"),
    (stat.S_ISCHR, "a device"),
    (stat.S_ISBLK, "a device"),
)
_NULL = Path("/dev/null")
_READABLE_BY_OTHERS, _WRITABLE_BY_OTHERS = 0o004, 0o002
_DESCRIPTORS = ("/dev/fd/", "/proc/self/fd/")
_STDIN = "/dev/stdin"


def special_kind(path: Path) -> str | None:
    """Say which kind of special file `path` is, null for what can be read to its end.

    A pipe waits for somebody to write, for ever perhaps, and a device such as ``/dev/zero`` has no
    end. Null for files, folders and ``/dev/null``, and for a pipe or terminal that the caller has
    already opened for us and names by its descriptor: ``/dev/stdin``, and ``/dev/fd/63`` of a
    shell's process substitution.

    Raises
    ------
    OSError
        When there is no such file.

    Examples
    --------
    >>> special_kind(Path("/dev/zero")), special_kind(Path("/dev/null")), special_kind(Path("/"))
    ('a device', None, None)
    """
    mode = path.stat().st_mode
    kind = next((words for is_kind, words in _KINDS if is_kind(mode)), None)
    if kind is None or path.resolve() == _NULL or _is_handed_over(path, mode):
        return None
    return kind


def small_text(path: Path, encoding: str = "utf-8") -> str:
    """Return the text of a small file, such as one of tokens, from whatever editor.

    A byte order mark at its beginning is no part of it.

    Raises
    ------
    OSError
        When it can't be read, or might have no end (`special_kind`).
    UnicodeDecodeError
        When it is no text of that encoding.
    """
    kind = special_kind(path)
    if kind is not None:
        raise OSError(errno.EINVAL, f"{kind}, of which nobody knows whether it ends", str(path))
    return path.read_bytes().removeprefix(BOM_UTF8).decode(encoding)


def require_private(file: Path, what: str) -> None:
    """Refuse a secret that everybody on the machine can read or replace.

    Raises
    ------
    ConfigError
        When it is one.
    OSError
        When the file isn't there.
    """
    mode = file.stat().st_mode
    if mode & (_READABLE_BY_OTHERS | _WRITABLE_BY_OTHERS):
        may = "read it" if mode & _READABLE_BY_OTHERS else "write to it"
        raise ConfigError(
            f"{what} {file}",
            found=f"mode {mode & 0o777:o}, which lets everybody {may}",
            expected="mode 600 or 640",
            hint=f"chmod o= {file}",
        )


def _is_handed_over(path: Path, mode: int) -> bool:
    if str(path) != _STDIN and not str(path).startswith(_DESCRIPTORS):
        return False
    if not stat.S_ISCHR(mode):
        return stat.S_ISFIFO(mode)
    with path.open("rb", buffering=0) as stream:
        return stream.isatty()
