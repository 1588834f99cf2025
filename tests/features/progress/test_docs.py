from __future__ import annotations

from pathlib import Path

import pytest

from relume.features.progress.assess import ProgressState
from relume.features.progress.formats import FORMATS
from relume.features.progress.markers import MarkerKind, Phase
from relume.features.progress.point import ProgressPoint
from relume.features.progress.user import USER_GROUPS

PAGE = (Path(__file__).parents[3] / "docs" / "formats" / "progress.md").read_text("utf-8")

NAMES = [
    *(fmt.id for fmt in FORMATS),
    *MarkerKind,
    *Phase,
    *ProgressState,
    *USER_GROUPS,
]


@pytest.mark.parametrize("name", sorted(set(NAMES)))
def test_the_page_knows_every_name(name: str) -> None:
    assert f"`{name}`" in PAGE


@pytest.mark.parametrize("field", ProgressPoint.__slots__)
def test_the_page_explains_every_field(field: str) -> None:
    table = PAGE.split("## ProgressPoint")[1].split("## Formats")[0]
    first_cells = [row.split("|")[1] for row in table.splitlines() if row.startswith("| ")]
    assert any(field in {name.strip() for name in cell.split(",")} for cell in first_cells)
