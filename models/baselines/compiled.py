"""How kernels are compiled: ahead of the first use where they can be, without holding the GIL."""

from __future__ import annotations

from collections.abc import Callable
from typing import ParamSpec, TypeVar, cast

from numba import njit

P = ParamSpec("P")
T = TypeVar("T")


def compiled(function: Callable[P, T]) -> Callable[P, T]:
    """Compile a kernel for arrays: cached on disk, without fast-math, so equal on every machine.

    Two orders of one sum differ in their last bit. Without fast-math the compiler keeps the order
    that is written, and a replay equals what ran live.

    The cache notices changes of the kernel's own file only: the constants that it uses stand there.
    """
    return cast("Callable[P, T]", njit(cache=True, nogil=True, error_model="numpy")(function))
