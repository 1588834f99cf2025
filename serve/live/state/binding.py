"""What a kept state goes with: the point of the lake, the code, the rules and the settings."""

from __future__ import annotations

import platform
from dataclasses import dataclass
from functools import cache
from hashlib import sha256
from pathlib import Path
from typing import Final

import msgspec
import numpy as np

import relume
from relume.ingest.lake.journal import read_commits
from relume.serve.live.options import RunnerOptions
from relume.serve.live.state.digest import digest_of
from relume.serve.offline import Analyzer

FORMAT: Final = 1
"""Version of the state's file."""
_NOT_OURS: Final = frozenset({"benchmarks", "cli", "controller", "analysis"})
"""Folders whose code changes nothing that is judged."""


class LakePoint(msgspec.Struct, frozen=True):
    """A commit of one lake: its number, and when it was made (UTC microseconds)."""

    sequence: int
    committed_at: int


class Binding(msgspec.Struct, frozen=True):
    """What a state is good for; see `bound`."""

    code: str
    rules: str
    settings: str
    format: int = FORMAT

    def difference(self, other: Binding) -> str | None:
        """Return in words what differs, null when nothing does."""
        words = {"format": "format", "code": "version of Relume", "rules": "rules"}
        for name, said in (words | {"settings": "settings"}).items():
            if getattr(self, name) != getattr(other, name):
                return f"another {said}" if said != "settings" else "other settings"
        return None


@dataclass(frozen=True, slots=True)
class _Settings:
    """All settings that can change what is judged."""

    cluster: str
    zone: str
    watch: object
    reading: object


def bound(options: RunnerOptions, analyzer: Analyzer) -> Binding:
    """Return what a state of a live run is good for: this code, these rules, these settings."""
    settings = _Settings(options.cluster, options.zone, options.watch, analyzer.readings)
    return Binding(code_version(), analyzer.catalogue.content_hash, digest_of(settings))


@cache
def code_version() -> str:
    """Return a digest of the installed code, and of what else makes the objects that are kept.

    A release number wouldn't do: a site may have changed a line.
    """
    root = Path(relume.__file__).parent
    digest = sha256(f"{platform.python_version()} {np.__version__}\n".encode())
    for folder in sorted(root.iterdir()):
        if folder.name in _NOT_OURS or folder.name == "__pycache__":
            continue
        files = sorted(folder.rglob("*.py")) if folder.is_dir() else [folder]
        for path in files:
            if path.suffix == ".py":
                digest.update(f"{path.relative_to(root)}\n".encode())
                digest.update(path.read_bytes())
    return digest.hexdigest()


def is_point_of(lake: Path, point: LakePoint) -> bool:
    """Whether the lake has this very commit; raises as `read_commits` does."""
    for commit in read_commits(lake, point.sequence - 1):
        is_there = commit.first <= point.sequence <= commit.sequence
        return is_there and point.committed_at == commit.time_of(point.sequence)
    return False
