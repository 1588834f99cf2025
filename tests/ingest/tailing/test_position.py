"""Positions: their text form, and what is no position."""

from __future__ import annotations

import pytest

from relume.errors import InputError
from relume.ingest.tailing.position import TailPosition

FULL = TailPosition(
    device=1,
    inode=2,
    offset=30,
    head_length=3,
    head_digest=b"\x00\xff" * 8,
    line=4,
    line_start=28,
    partial=b"\xff\n",
)


@pytest.mark.parametrize("position", [TailPosition(), FULL])
def test_the_text_form_gives_the_position_back(position: TailPosition) -> None:
    assert TailPosition.from_text(position.to_text()) == position


@pytest.mark.parametrize(
    "text",
    [
        "",
        "7",
        "{",
        '{"offset":-1}',
        '{"partial":"?"}',
        '{"offset":1,"partial":"YWI="}',
        '{"offset":1,"line_start":2}',
        "\ud800",
    ],
)
def test_what_is_no_position_is_refused(text: str) -> None:
    with pytest.raises(InputError, match="position of a tail"):
        TailPosition.from_text(text)
