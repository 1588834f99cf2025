"""Where in the code an exception was raised, under a name that stays the same over machines."""

from __future__ import annotations

import re

from relume.models.policy.shape import MASK

FOLDERS = 2
"""Folders kept above a source file that isn't installed: what is above is a person's choice."""
INSIDE = " > "
"""Between the job's own code and the installed code below it that raised."""

_INSTALLED = re.compile(
    r"(?:^|.*/)(?:(?:site|dist)-packages/(?:[^/]+\.(?:egg|whl)/)?|python\d[\d.]*(?:\.zip)?/)"
)
"""What stands before installed modules, and before Python's own."""
_HOME = re.compile(r"^/(?:(?:[^/]+/){0,2}home|(?:[^/]+/)?[Uu]sers)/[^/]+/|^(?:~[^/]*|/root)/")
_MADE_UP = re.compile(r"tmp\w{6,}|(?:[0-9a-f]{4,}-){2,}[0-9a-f]+|(?=[a-z]*\d)[a-z0-9]{20,}")
"""Names of files and folders that a program chose."""
_PART = re.compile(r"(?=[a-f]*\d)[0-9a-f]{6,}(?![A-Za-z0-9])|\d+(?:[._-]\d+)*")


def is_installed(path: str) -> bool:
    """Whether a source file is no code of the job's own: of a package, or of Python itself.

    Examples
    --------
    >>> is_installed("/opt/env/lib/python3.11/site-packages/torch/nn/functional.py")
    True
    >>> is_installed("/home/ada/run/train.py")
    False
    """
    return path.startswith("<frozen ") or _INSTALLED.match(path) is not None


def code_place(places: str) -> str:
    """Return ``path:function`` without what differs between machines, people and versions.

    An installed module keeps its path within the packages, other files the last `FOLDERS` folders
    below somebody's home, their numbers masked. Places with `INSIDE` between stay so.

    Examples
    --------
    >>> code_place("/opt/env/lib/python3.11/site-packages/torch/nn/functional.py:linear")
    'torch/nn/functional.py:linear'
    >>> code_place("/home/ada/run17/model/layers.py:forward")
    'run<*>/model/layers.py:forward'
    """
    return INSIDE.join(_place(place) for place in places.split(INSIDE))


def _place(place: str) -> str:
    path, _, function = place.rpartition(":")
    installed = _INSTALLED.match(path)
    if installed is not None:
        return f"{path[installed.end() :]}:{function}"
    *folders, name = [part for part in _HOME.sub("", path).split("/") if part != "."] or [""]
    kept = [_folder(part) for part in folders if part][-FOLDERS:]
    return f"{'/'.join([*kept, _file(name)])}:{function}"


def _folder(name: str) -> str:
    return MASK if _MADE_UP.fullmatch(name) else _PART.sub(MASK, name)


def _file(name: str) -> str:
    """Numbers of source files stay: ``stage1.py`` is another file than ``stage2.py``."""
    stem, dot, suffix = name.rpartition(".")
    return f"{MASK}{dot}{suffix}" if stem.isdigit() or _MADE_UP.fullmatch(stem) else name
