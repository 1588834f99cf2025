"""The page about the dashboard names every page, key and file, and shows the stored result."""

from __future__ import annotations

import re
from pathlib import Path

import pytest
from starlette.routing import Route

from paging import NOW
from relume.benchmarks.tables import update
from relume.clock import ManualClock
from relume.serve.ledger import Ledger, sqlite_url
from relume.serve.page import Dashboard
from relume.serve.page.render import TEMPLATES

INSIDE = {"/status", "/login", "/static/{name:path}"}
"""What pages ask for by themselves."""


@pytest.fixture
def page(repository: Path) -> str:
    return (repository / "docs/page.md").read_text(encoding="utf-8")


def test_every_page_is_named(page: str, tmp_path: Path) -> None:
    with Ledger.open(sqlite_url(tmp_path / "ledger.db")) as ledger:
        routes = Dashboard(ledger, ManualClock(NOW), dict, tmp_path).routes().routes
    paths = {one.path for one in routes if isinstance(one, Route)} - INSIDE
    assert len(paths) == 9
    for path in paths:
        assert f"`{path.replace(':path', '')}`" in page, path


def test_every_key_is_named(page: str) -> None:
    shown = set(re.findall(r"<kbd>(.+?)</kbd>", (TEMPLATES / "page.html").read_text()))
    table = page.split("| key | does |")[1].split("\n\n", maxsplit=1)[0]
    assert shown == set(re.findall(r"`(.+?)`", table))


def test_the_table_is_that_of_the_stored_result(page: str, repository: Path) -> None:
    assert update(page, repository / "benchmarks" / "results") == page
