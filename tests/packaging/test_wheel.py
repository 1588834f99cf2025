"""The wheel holds every folder once, whether built from the tree or from the sdist."""

from __future__ import annotations

import os
import subprocess
import sys
import tarfile
import zipfile
from pathlib import Path

import pytest

FOLDERS = ("ingest", "features", "models", "serve", "controller", "benchmarks")


def build(source: Path, target: str, into: Path) -> Path:
    """Build one distribution with the environment's own hatchling, offline; return its file."""
    command = [sys.executable, "-m", "hatchling", "build", "-t", target, "-d", str(into)]
    subprocess.run(command, cwd=source, check=True, capture_output=True)
    return next(into.iterdir())


@pytest.fixture(scope="module")
def sdist(repository: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The unpacked source distribution."""
    folder = tmp_path_factory.mktemp("sdist")
    with tarfile.open(build(repository, "sdist", folder / "built")) as archive:
        # Python before 3.11.4 has no filters, after 3.13 warns without one.
        archive.extraction_filter = getattr(tarfile, "data_filter", None)
        archive.extractall(folder / "unpacked")  # noqa: S202 - our own
    return next((folder / "unpacked").iterdir())


@pytest.fixture(scope="module", params=["tree", "sdist"])
def names(
    request: pytest.FixtureRequest, repository: Path, tmp_path_factory: pytest.TempPathFactory
) -> list[str]:
    """The files of a wheel, built from the tree or from the sdist."""
    source = repository if request.param == "tree" else request.getfixturevalue("sdist")
    wheel = build(source, "wheel", tmp_path_factory.mktemp("wheel"))
    with zipfile.ZipFile(wheel) as archive:
        return archive.namelist()


def test_a_wheel_holds_the_whole_package_once(names: list[str], repository: Path) -> None:
    source = repository / "src"
    # Through the links: what `import relume` sees in a checkout is what the wheel must hold.
    expected = {
        str(Path(folder, name).relative_to(source))
        for folder, _, files in os.walk(source / "relume", followlinks=True)
        for name in files
        if Path(folder).name != "__pycache__"  # byte code, and what numba compiled
    }
    packed = [name for name in names if ".dist-info/" not in name]
    assert sorted(packed) == sorted(expected)


@pytest.mark.parametrize("folder", FOLDERS)
def test_every_folder_is_a_sub_package(names: list[str], folder: str) -> None:
    assert f"relume/{folder}/__init__.py" in names


def test_the_rule_catalogue_is_packed(names: list[str], repository: Path) -> None:
    catalogue = (repository / "models/signatures/catalogue").glob("*.toml")
    expected = {f"relume/models/signatures/catalogue/{path.name}" for path in catalogue}
    assert expected
    assert expected <= set(names)


def test_the_pages_and_what_they_load_are_packed(names: list[str], repository: Path) -> None:
    folder = repository / "serve/page"
    files = (one for one in folder.rglob("*.*") if one.parent.name != "__pycache__")
    expected = {f"relume/serve/page/{one.relative_to(folder).as_posix()}" for one in files}
    assert {Path(one).suffix for one in expected} >= {".html", ".js", ".css", ".svg", ".LICENSE"}
    assert expected <= set(names)


def test_types_and_licence_are_packed(names: list[str]) -> None:
    assert "relume/py.typed" in names
    assert any(name.endswith(".dist-info/licenses/LICENSE") for name in names)


def test_nothing_but_the_package_is_packed(names: list[str]) -> None:
    roots = {name.split("/")[0] for name in names}
    assert {root for root in roots if not root.endswith(".dist-info")} == {"relume"}
