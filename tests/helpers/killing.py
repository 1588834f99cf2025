"""Kills at one system call, as SIGKILL or a power failure would."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    import pytest


class Killed(BaseException):
    """Stands for SIGKILL at one system call."""


@contextmanager
def killed_at(step: int, monkeypatch: pytest.MonkeyPatch) -> Iterator[list[str]]:
    """End everything at the `step`-th system call that changes the disk; list those made."""
    made: list[str] = []

    def counted(
        name: str, real: Callable[..., Any], half: Callable[..., Any] | None
    ) -> Callable[..., Any]:
        def call(*arguments: Any, **options: Any) -> Any:
            if len(made) == step:
                if half is not None:
                    half(*arguments)
                raise Killed
            made.append(name)
            return real(*arguments, **options)

        return call

    write = os.write

    def half_write(descriptor: int, data: bytes) -> None:
        write(descriptor, data[: len(data) // 2])

    with monkeypatch.context() as patched:
        patched.setattr(os, "fsync", counted("fsync", os.fsync, None))
        patched.setattr(os, "write", counted("write", write, half_write))
        patched.setattr(os, "ftruncate", counted("ftruncate", os.ftruncate, None))
        patched.setattr(Path, "replace", counted("replace", Path.replace, None))
        patched.setattr(Path, "mkdir", counted("mkdir", Path.mkdir, None))
        patched.setattr(Path, "unlink", counted("unlink", Path.unlink, None))
        patched.setattr(Path, "rmdir", counted("rmdir", Path.rmdir, None))
        yield made
