"""Debian's Chromium, driven by Playwright; what it asks for and complains of is written down."""

from __future__ import annotations

import shutil
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

from relume.errors import UnreachableError

if TYPE_CHECKING:
    from playwright.sync_api import Browser, BrowserContext, ConsoleMessage, Page, Request

ARGUMENTS = (
    "--no-sandbox",
    "--disable-gpu",
    "--disable-quic",
    "--no-first-run",
    "--disable-background-networking",
    "--disable-component-update",
    "--disable-sync",
    "--disable-dev-shm-usage",
)
"""A browser that talks to nobody but us; without the sandbox, which root can't use."""
PATIENCE_MILLISECONDS = 120_000


@contextmanager
def chromium() -> Iterator[Browser]:
    """Start a browser without a window, and end it.

    Raises
    ------
    UnreachableError
        When there is none on PATH, or Playwright isn't installed.
    """
    path = shutil.which("chromium")
    try:
        from playwright.sync_api import sync_playwright  # noqa: PLC0415 - of the group dev only
    except ModuleNotFoundError as error:
        raise UnreachableError(
            "playwright", found=str(error), expected="the Python package playwright"
        ) from error
    if path is None:
        raise UnreachableError(
            "chromium", found="none on PATH", expected="a browser", hint="apt-get install chromium"
        )
    with sync_playwright() as playwright:
        browser = playwright.chromium.launch(
            executable_path=path, args=list(ARGUMENTS), timeout=PATIENCE_MILLISECONDS
        )
        try:
            yield browser
        finally:
            browser.close()


@dataclass(slots=True)
class Watched:
    """A window of the browser, and all that it asked for and complained of.

    Attributes
    ----------
    complaints
        Errors and warnings of the console, and errors of scripts.
    addresses
        Of every request.
    """

    context: BrowserContext
    page: Page
    origin: str
    complaints: list[str] = field(default_factory=list)
    addresses: list[str] = field(default_factory=list)

    @property
    def outside(self) -> list[str]:
        """Requests to anybody but the service."""
        own = (f"{self.origin}/", "data:")
        return [one for one in self.addresses if not one.startswith(own)]


@contextmanager
def window(browser: Browser, origin: str, **options: Any) -> Iterator[Watched]:  # noqa: ANN401
    """Open a window of its own (no cookies of others); `options` as Playwright's `new_context`."""
    context = browser.new_context(base_url=origin, **options)
    context.set_default_timeout(PATIENCE_MILLISECONDS)
    try:
        page = context.new_page()
        watched = Watched(context, page, origin)

        def note_console(message: ConsoleMessage) -> None:
            if message.type in {"error", "warning"}:
                watched.complaints.append(message.text)

        def note_request(request: Request) -> None:
            watched.addresses.append(request.url)

        page.on("console", note_console)
        page.on("pageerror", lambda error: watched.complaints.append(str(error)))
        page.on("request", note_request)
        yield watched
    finally:
        context.close()
