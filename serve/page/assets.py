"""The files that a page loads: all of them come with the package, none from elsewhere."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cache
from hashlib import sha256
from pathlib import Path

from starlette.responses import Response

FOLDER = Path(__file__).parent / "static"
KINDS = {
    ".css": "text/css; charset=utf-8",
    ".js": "text/javascript; charset=utf-8",
    ".svg": "image/svg+xml",
}
"""What is served, by the end of its name; the rest (licences, notes) lies beside it."""


@dataclass(frozen=True, slots=True)
class Asset:
    """One file: its content, its type, and what changes when it does."""

    content: bytes
    kind: str
    version: str


@cache
def assets() -> dict[str, Asset]:
    """Return every file that is served, by its path below `/static/`; read once."""
    return {
        path.relative_to(FOLDER).as_posix(): _read(path)
        for path in sorted(FOLDER.rglob("*"))
        if path.suffix in KINDS
    }


def _read(path: Path) -> Asset:
    content = path.read_bytes()
    return Asset(content, KINDS[path.suffix], sha256(content).hexdigest()[:16])


def url_of(name: str) -> str:
    """Return the address of a file; it changes with the content, so browsers may keep it."""
    return f"/static/{name}?v={assets()[name].version}"


def answer(name: str, version: str) -> Response:
    """Return a file; 404 for what isn't one of ours. Nothing is looked up on the disk."""
    found = assets().get(name)
    if found is None:
        return Response("no such file\n", 404, media_type="text/plain")
    is_present = version == found.version
    keep = "public, max-age=31536000, immutable" if is_present else "no-cache"
    return Response(found.content, media_type=found.kind, headers={"Cache-Control": keep})
