"""Pages of lists: how many records, and the cursor that asks for those behind them."""

from __future__ import annotations

from base64 import urlsafe_b64decode, urlsafe_b64encode
from collections.abc import Sequence
from typing import Annotated

import msgspec
from pydantic import BaseModel, ConfigDict, Field

from relume.errors import InputError
from relume.serve.ledger import MAX_PAGE, Key, Wanted

DEFAULT_PAGE = 100
MAX_CURSOR, MAX_NAME = 2000, 300
_MOST = 2**62


class Paged(BaseModel):
    """What every list is asked by."""

    model_config = ConfigDict(frozen=True, use_attribute_docstrings=True)

    cursor: Annotated[str | None, Field(max_length=MAX_CURSOR)] = None
    """Field `next` of the page before."""
    limit: Annotated[int, Field(ge=1, le=MAX_PAGE)] = DEFAULT_PAGE
    """Records of a page."""

    def behind(self, of: str, kinds: Sequence[type]) -> Key | None:
        """Return where the page begins; see `read`."""
        return read(of, self.cursor, kinds)


class Within(Paged):
    """A list of what has a time."""

    since: Annotated[int | None, Field(ge=0, lt=_MOST)] = None
    """At this time or later, UTC microseconds."""
    until: Annotated[int | None, Field(ge=0, lt=_MOST)] = None
    """Before this time, UTC microseconds."""

    def wanted(self) -> Wanted:
        """Return which records are wanted."""
        names = self.model_fields_set & Wanted.__dataclass_fields__.keys()
        return Wanted(**{name: getattr(self, name) for name in names})


class OfCluster(Within):
    """A list of what belongs to clusters."""

    cluster: Annotated[str | None, Field(max_length=MAX_NAME)] = None
    """Of this cluster only."""


class OfAttempt(OfCluster):
    """A list of what is about attempts."""

    attempt: Annotated[str | None, Field(max_length=MAX_NAME)] = None
    """Of this attempt only: its text form, or `job_id-restart_count` of the newest job."""


def written(of: str, end: Key | None) -> str | None:
    """Return the cursor behind the record at which a page ends; null for none.

    Examples
    --------
    >>> written("audit", (7,)), read("audit", written("audit", (7,)), (int,))
    ('WyJhdWRpdCIsN10', (7,))
    """
    if end is None:
        return None
    return urlsafe_b64encode(msgspec.json.encode([of, *end])).decode().rstrip("=")


def read(of: str, cursor: str | None, kinds: Sequence[type]) -> Key | None:
    """Return where a page begins; null for the first one.

    Parameters
    ----------
    of
        The list that the cursor has to be of.
    cursor
        As it came.
    kinds
        What it must hold.

    Raises
    ------
    InputError
        For anything that isn't a cursor of that list.
    """
    if cursor is None:
        return None
    try:
        padded = cursor + "=" * (-len(cursor) % 4)
        name, *key = msgspec.json.decode(urlsafe_b64decode(padded), type=list[int | str])
    except (ValueError, UnicodeError, msgspec.DecodeError) as error:
        raise _bad(of, cursor) from error
    fits = [type(one) for one in key] == list(kinds)
    if name != of or not fits or not all(_is_kept(one) for one in key):
        raise _bad(of, cursor)
    return tuple(key)


def _is_kept(one: int | str) -> bool:
    """Whether a column could hold it."""
    return isinstance(one, str) or abs(one) < _MOST


def _bad(of: str, cursor: str) -> InputError:
    return InputError(
        f"cursor of {of}",
        found=repr(cursor[:80]),
        expected="field next of the page before, as it came",
        hint="begin again without one",
    )
