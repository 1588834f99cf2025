"""requirements.lock pins, by hash and without addresses, what pyproject.toml asks for."""

from __future__ import annotations

import re
import tomllib
from pathlib import Path

import pytest
from packaging.requirements import Requirement
from packaging.utils import canonicalize_name

ENTRY = re.compile(
    r"^(?P<name>[a-z0-9-]+)==(?P<version>\S+)(?: ; (?P<marker>[^\\\n]+?))? \\\n"
    r"(?P<hashes>(?:    --hash=sha256:[0-9a-f]{64}(?: \\)?\n)+)",
    re.MULTILINE,
)


@pytest.fixture(scope="module")
def lock(repository: Path) -> str:
    """The text of the lock."""
    return (repository / "requirements.lock").read_text()


def test_every_line_belongs_to_a_hashed_pin(lock: str) -> None:
    assert ENTRY.sub("", lock) == ""
    assert len(ENTRY.findall(lock)) > 10


def test_the_lock_answers_pyproject(lock: str, repository: Path) -> None:
    project = tomllib.loads((repository / "pyproject.toml").read_text())
    wanted = [*project["project"]["dependencies"], *project["dependency-groups"]["dev"]]
    pins: dict[str, list[str]] = {}
    for entry in ENTRY.finditer(lock):
        pins.setdefault(entry["name"], []).append(entry["version"])
    for requirement in map(Requirement, wanted):
        versions = pins.get(canonicalize_name(requirement.name), [])
        assert versions, f"{requirement} is not pinned: run `make lock`"
        assert all(map(requirement.specifier.contains, versions)), f"{requirement}: run `make lock`"
