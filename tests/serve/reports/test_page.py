"""A page of a backtest: nothing in it runs, nothing of it is fetched, whatever jobs print."""

from __future__ import annotations

import base64
import hashlib
import sys
from html.parser import HTMLParser
from pathlib import Path

import pytest
from typer.testing import CliRunner

from recording import START, entry, logged, recorded, steps
from relume.cli import app

NAME = "<script>alert('name')</script>\" onload=\"x"
LINE = "ValueError: </td><script src=//evil.example/x.js></script><img src=http://evil.example>"


class Elements(HTMLParser):
    """Notes the elements of a page, their attributes, its text and its style."""

    def __init__(self) -> None:
        super().__init__()
        self.elements: list[tuple[str, dict[str, str | None]]] = []
        self.text = self.style = ""
        self._is_style = False

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.elements.append((tag, dict(attrs)))
        self._is_style = tag == "style"

    def handle_data(self, data: str) -> None:
        if self._is_style:
            self.style += data
        else:
            self.text += data

    def handle_endtag(self, tag: str) -> None:
        self._is_style = self._is_style and tag != "style"


@pytest.fixture(scope="module")
def text(tmp_path_factory: pytest.TempPathFactory) -> str:
    folder = tmp_path_factory.mktemp("data")
    failed = ["Traceback (most recent call last):", '  File "a.py", line 1, in f', LINE]
    log = logged(folder, "7.out", [*steps(30), *failed])
    recorded(folder, entry(files=(log,), start=START, name=NAME, run=NAME))
    page = folder / "page.html"
    result = CliRunner().invoke(app, ["backtest", str(folder), "--html", str(page)])
    assert result.exit_code == 0, result.output
    assert "the page is" in result.stderr
    score, goodput = map(result.stdout.index, ("False alarms", "Where the time of GPUs went"))
    assert score < goodput
    return page.read_text("utf-8")


@pytest.fixture(scope="module")
def parsed(text: str) -> Elements:
    found = Elements()
    found.feed(text)
    return found


def test_hostile_text_stays_text(parsed: Elements) -> None:
    assert NAME in parsed.text
    assert LINE in parsed.text
    tags = {tag for tag, _ in parsed.elements}
    assert not tags & {"script", "iframe", "object", "embed", "link", "form", "base", "svg", "a"}
    assert not [
        name for _, attributes in parsed.elements for name in attributes if name[:2] == "on"
    ]


def test_nothing_is_fetched(parsed: Elements) -> None:
    sources = [attributes["src"] or "" for _, attributes in parsed.elements if "src" in attributes]
    assert sources
    assert all(source.startswith("data:image/svg+xml;base64,") for source in sources)
    assert parsed.style
    assert "url(" not in parsed.style
    assert "@import" not in parsed.style


def test_pictures_run_nothing_either(parsed: Elements) -> None:
    for _, attributes in parsed.elements:
        if "src" in attributes:
            svg = base64.b64decode((attributes["src"] or "").partition("base64,")[2]).decode()
            assert "<script" not in svg
            assert "href=" not in svg.replace('xmlns:xlink="http://www.w3.org/1999/xlink"', "")


def test_the_policy_forbids_scripts_and_requests(parsed: Elements) -> None:
    [policy] = [
        attributes["content"]
        for tag, attributes in parsed.elements
        if tag == "meta" and attributes.get("http-equiv") == "Content-Security-Policy"
    ]
    assert policy is not None
    rules = dict(part.strip().split(" ", 1) for part in policy.split(";"))
    assert rules["default-src"] == "'none'"
    assert rules["img-src"] == "data:"
    digest = base64.b64encode(hashlib.sha256(parsed.style.encode()).digest()).decode()
    assert rules["style-src"] == f"'sha256-{digest}'"
    assert "script-src" not in rules


def test_it_says_what_the_terminal_says(parsed: Elements) -> None:
    for words in ("Where the time of GPUs went", "False alarms", "Failures", "made up"):
        assert words in parsed.text


def test_without_its_packages_it_says_so_before_anything_is_replayed(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    recorded(tmp_path, entry(files=(), start=START))
    monkeypatch.setitem(sys.modules, "vl_convert", None)
    out = tmp_path / "out"
    result = CliRunner().invoke(
        app, ["backtest", str(tmp_path), "--html", str(tmp_path / "p.html"), "--out", str(out)]
    )
    assert "pip install 'relume[report]'" in str(result.exception)
    assert not out.exists()
