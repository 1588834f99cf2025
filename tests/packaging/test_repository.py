"""What is committed says nothing about the machine, the registry or the people it was made with."""

from __future__ import annotations

import re
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

# Written so that this file does not hold what it looks for.
REGISTRIES = re.compile(
    r"pypi\.or[g]|pythonhosted\.or[g]|npmjs\.(?:or[g]|co[m])|deb\.debian\.or[g]"
)
ADDRESS = re.compile(r"[\w.+-]+@(?:[\w-]+\.)+[a-zA-Z]{2,}\b")
# RFC 2606 names, and the accounts of forges, which are nobody's.
NOBODY = re.compile(r"@(?:[\w-]+\.)*(?:example\.(?:com|net|org)|example|invalid|test)$|^git@")


@pytest.fixture(scope="module")
def texts(repository: Path) -> dict[str, str]:
    """The text of every committed file (binary ones left out), by its path."""
    if not (repository / ".git").exists() or shutil.which("git") is None:
        pytest.skip("not a checkout: there are no committed files to look at")
    listing = subprocess.run(
        ["git", "ls-files", "-z"],  # noqa: S607
        cwd=repository,
        check=True,
        capture_output=True,
        text=True,
    )
    contents = {}
    for name in filter(None, listing.stdout.split("\0")):
        path = repository / name
        if path.is_file() and not path.is_symlink():
            data = path.read_bytes()
            if b"\0" not in data:
                contents[name] = data.decode(errors="replace")
    return contents


def machine_paths(repository: Path) -> re.Pattern[str]:
    """What finds a folder of this machine: the checkout, what lies beside it, the interpreter."""
    around = [*repository.parent.iterdir(), Path(sys.base_prefix)]
    # `/usr` and the like are on every machine.
    own = [str(repository), *(str(folder) for folder in around if len(folder.parts) > 2)]
    return re.compile(rf"(?<![\w.])(?:{'|'.join(map(re.escape, own))})(?![\w.-])")


def test_no_file_names_a_path_of_this_machine(texts: dict[str, str], repository: Path) -> None:
    pattern = machine_paths(repository)
    found = {name: hit[0] for name, text in texts.items() if (hit := pattern.search(text))}
    assert found == {}


def test_a_path_of_this_machine_is_seen(repository: Path) -> None:
    assert machine_paths(repository).search(f"find-links = {repository}/wheels")


def test_no_file_names_a_registry(texts: dict[str, str]) -> None:
    found = {name: hit[0] for name, text in texts.items() if (hit := REGISTRIES.search(text))}
    assert found == {}


def test_no_file_holds_the_address_of_a_person(texts: dict[str, str]) -> None:
    addresses = {
        (name, address)
        for name, text in texts.items()
        for address in ADDRESS.findall(text)
        if not NOBODY.search(address)
    }
    assert addresses == set()


def test_the_address_of_a_person_is_seen() -> None:
    domain = "mail.company.de"  # apart, so that this file holds no address
    address = f"some.one+here@{domain}"
    assert ADDRESS.findall(f"<{address}>") == [address]
    assert not NOBODY.search(address)


@pytest.mark.parametrize("address", ["root@node.example.com", "job@cluster.invalid", "git@x.com"])
def test_the_address_of_nobody_passes(address: str) -> None:
    assert NOBODY.search(address)
