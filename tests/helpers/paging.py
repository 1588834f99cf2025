"""The dashboard over a real ledger and a real lake, its clock in our hand; and what a browser sees of it."""

from __future__ import annotations

from dataclasses import dataclass, field
from html.parser import HTMLParser
from pathlib import Path
from typing import Any

from fastapi import FastAPI
from starlette.testclient import TestClient

from relume.clock import ManualClock
from relume.serve.api import PartStatus
from relume.serve.ledger import Ledger
from relume.serve.page import Dashboard
from relume.verdict import Health

NOW = 1_767_330_000_000_000
SECOND = 1_000_000
PERSON = {"Accept": "text/html,application/xhtml+xml"}


class Html(HTMLParser):
    """A page as elements: their names, attributes and text, in order."""

    def __init__(self, text: str) -> None:
        super().__init__()
        self.elements: list[tuple[str, dict[str, str | None]]] = []
        self.texts: list[str] = []
        self.words: list[tuple[str, str]] = []
        self._inside: list[str] = []
        self.feed(text)

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.elements.append((tag, dict(attrs)))
        self._inside.append(tag)

    def handle_endtag(self, tag: str) -> None:
        while self._inside and self._inside.pop() != tag:
            pass

    def handle_data(self, data: str) -> None:
        self.texts.append(data)
        self.words += [(tag, data) for tag in self._inside[-2:]]

    @property
    def text(self) -> str:
        """All text, white space folded."""
        return " ".join(" ".join(self.texts).split())

    def named(self, tag: str) -> list[dict[str, str | None]]:
        """The attributes of every element of that name."""
        return [attributes for name, attributes in self.elements if name == tag]

    def heading(self) -> str:
        """The text of the one `h1`, white space folded."""
        assert len(self.named("h1")) == 1
        return " ".join("".join(text for tag, text in self.words if tag == "h1").split())


@dataclass
class Site:
    """The pages of one service."""

    ledger: Ledger
    lake: Path
    clock: ManualClock = field(default_factory=lambda: ManualClock(NOW))
    parts: dict[str, PartStatus] = field(
        default_factory=lambda: {"runner": PartStatus(Health.HEALTHY)}
    )

    def __post_init__(self) -> None:
        app = FastAPI()
        Dashboard(self.ledger, self.clock, lambda: self.parts, self.lake).join(app)
        self.client = TestClient(app, headers=PERSON, follow_redirects=False)

    def page(self, path: str, status: int = 200) -> Html:
        """Return a page as a browser gets it."""
        answer = self.client.get(path)
        assert answer.status_code == status, answer.text
        assert answer.headers["content-type"].startswith("text/html")
        return Html(answer.text)

    def twin(self, path: str, status: int = 200) -> Any:
        """Return the same as JSON."""
        answer = self.client.get(path, headers={"Accept": "application/json"})
        assert answer.status_code == status, answer.text
        return answer.json()
