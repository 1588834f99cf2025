"""What a page loads: ours, unchanged where it isn't ours, and from nowhere else."""

from __future__ import annotations

import re
from hashlib import sha256
from pathlib import Path

import pytest

from paging import Site
from relume.serve.page.assets import FOLDER, assets, url_of
from relume.serve.page.render import TEMPLATES

VENDORED = FOLDER / "vendor" / "VENDORED.md"
ROW = re.compile(
    r"^\| `([\w.]+)` \| [\w.]+ \| ([\d.]+) \| \S+ \(`([\w.]+)`\) \| `(\w{64})` \|$", re.MULTILINE
)


def test_what_is_not_ours_is_noted_and_unchanged() -> None:
    rows = ROW.findall(VENDORED.read_text())
    assert {row[0] for row in rows} == {
        path.name for path in VENDORED.parent.iterdir() if path.suffix in {".js", ".css"}
    }
    for name, version, licence, digest in rows:
        content = (VENDORED.parent / name).read_bytes()
        assert sha256(content).hexdigest() == digest
        assert len((VENDORED.parent / licence).read_text()) > 400
        assert (
            version in content[:400].decode() or version in content.decode() or name.endswith("css")
        )


def test_files_of_ours_name_no_address_elsewhere() -> None:
    ours = [path for path in FOLDER.glob("*") if path.is_file()] + [*TEMPLATES.iterdir()]
    for path in ours:
        text = path.read_text().replace('xmlns="http://www.w3.org/2000/svg"', "")
        assert not re.search(
            r"https?:|url\(|@import|//cdn|\beval\(|innerHTML|new Function", text
        ), path


@pytest.mark.parametrize("name", sorted(assets()))
def test_a_file_is_served_and_kept_while_it_is_the_same(site: Site, name: str) -> None:
    answer = site.client.get(url_of(name))
    assert answer.content == (FOLDER / name).read_bytes()
    assert "immutable" in answer.headers["cache-control"]
    assert answer.headers["content-type"] == assets()[name].kind
    assert site.client.get(f"/static/{name}?v=older").headers["cache-control"] == "no-cache"


@pytest.mark.parametrize(
    "name", ["nothing.js", "vendor/VENDORED.md", "../assets.py", "%2e%2e/assets.py"]
)
def test_nothing_else_is_served(site: Site, name: str) -> None:
    assert site.client.get(f"/static/{name}").status_code == 404


def test_a_page_loads_files_that_are_there(site: Site) -> None:
    page = site.page("/")
    loaded = [one["src"] for one in page.named("script")] + [
        one["href"] for one in page.named("link")
    ]
    assert len(loaded) == 5
    for address in loaded:
        assert site.client.get(str(address)).status_code == 200


def test_every_template_is_used(repository: Path) -> None:
    used = " ".join(path.read_text() for path in TEMPLATES.iterdir())
    code = (repository / "serve/page/dashboard.py").read_text()
    for path in TEMPLATES.iterdir():
        is_page = f'"{path.stem}"' in code
        assert is_page or path.name in used or path.stem == "page"
