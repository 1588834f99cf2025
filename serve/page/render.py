"""Documents as pages: templates that escape everything, or the same as JSON."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from functools import cache
from hashlib import sha256
from pathlib import Path
from typing import TYPE_CHECKING, Any

from jinja2 import Environment, FileSystemLoader, StrictUndefined
from msgspec.json import encode
from starlette.responses import Response

from relume import __version__
from relume.serve.page import words
from relume.serve.page.assets import url_of
from relume.serve.page.status import Status

if TYPE_CHECKING:
    from starlette.requests import Request

TEMPLATES = Path(__file__).parent / "templates"
SEEN_HEADER = "X-Relume-Seen"
"""What a page says that it shows already; equal means: nothing new."""
FRAGMENT_HEADER = "HX-Request"
KINDS = {
    "crash": "\N{MULTIPLICATION X}",
    "hang": "\N{BLACK SQUARE}",
    "straggler": "\N{BLACK DOWN-POINTING TRIANGLE}",
    "numeric": "\N{ALMOST EQUAL TO}",
    "benign": "\N{CHECK MARK}",
    "unknown": "?",
}
"""A sign of each kind beside its colour and its word: never by colour alone."""


@dataclass(frozen=True, slots=True)
class Page:
    """One page to draw.

    Attributes
    ----------
    name
        Of its template, and of the place in the menu.
    title
        Of the window.
    document
        What it shows, which is also what its JSON twin holds.
    parts
        What its template is given beside the document.
    """

    name: str
    title: str
    document: object
    parts: Mapping[str, object] = field(default_factory=dict)


@cache
def environment() -> Environment:
    """Return the templates; everything that they show is escaped."""
    made = Environment(
        loader=FileSystemLoader(TEMPLATES),
        autoescape=True,
        undefined=StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
    )
    made.filters |= {
        "line": words.log_line,
        "utc": words.utc,
        "iso": words.iso,
        "span": words.span,
        "share": words.share,
        "number": words.number,
        "short": words.short,
        "words": words.words,
    }
    made.globals |= {"url_of": url_of, "signs": KINDS, "version": __version__}
    return made


def wants_json(request: Request) -> bool:
    """Whether the twin is asked for: by ``?format=json``, or by the header Accept."""
    accept = request.headers.get("accept", "")
    by_header = "application/json" in accept and "text/html" not in accept
    return request.query_params.get("format") == "json" or by_header


def answer(
    request: Request, page: Page, status: Status, *, code: int = 200, news: int | None = None
) -> Response:
    """Return a page, its twin, or only what changes in it; 204 where the browser has that.

    Parameters
    ----------
    request
        Which says what of these is wanted.
    page
        What to draw.
    status
        Of the service, as of the time from which ages are counted.
    code
        Of the answer.
    news
        Number of what became known last before it was drawn: a browser follows the stream of events
        from there. Null on pages that don't follow it.
    """
    content = encode(page.document)
    keep = {"Cache-Control": "no-store", "Vary": "Accept, HX-Request"}
    if wants_json(request):
        return Response(content, code, keep, "application/json")
    seen = sha256(content + status.words.encode()).hexdigest()[:16]
    is_fragment = request.headers.get(FRAGMENT_HEADER) == "true"
    if is_fragment and request.headers.get(SEEN_HEADER) == seen:
        return Response(status_code=204, headers=keep)
    shown: dict[str, Any] = {
        "page": page.name,
        "title": page.title,
        "it": page.document,
        "status": status,
        "now": status.at,
        "seen": seen,
        "here": _here(request),
        "news": news,
        **page.parts,
    }
    template = "live.html" if is_fragment else "page.html"
    text = environment().get_template(template).render(shown)
    return Response(text, code, keep, "text/html")


def _here(request: Request) -> str:
    """The address of the page, for it to ask again."""
    query = request.url.query
    return request.url.path + (f"?{query}" if query else "")
