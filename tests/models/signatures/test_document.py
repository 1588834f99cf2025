"""`docs/formats/signatures.md` tells what the loader does."""

from __future__ import annotations

import re
from dataclasses import fields
from pathlib import Path

import pytest

from relume.events import LogLine
from relume.models.signatures.checks import check_catalogue
from relume.models.signatures.fields import CAPTURE_GROUPS
from relume.models.signatures.loader import load_catalogue
from relume.models.signatures.matcher import READ_CHARACTERS
from relume.models.signatures.rule import Exclude, Implicates, Role, Signature, Tier
from relume.verdict import Domain, Kind, Retry


@pytest.fixture(scope="module")
def page() -> str:
    return (Path(__file__).parents[3] / "docs/formats/signatures.md").read_text(encoding="utf-8")


def parse(text: str) -> LogLine:
    prefix = re.match(r"(?:\[rank\d+\]: )?", text)
    return LogLine(text, 0, 0, "", message_start=prefix.end() if prefix else 0)


def test_the_example_loads_and_passes_beside_the_packaged_rules(page: str, tmp_path: Path) -> None:
    [example] = re.findall(r"```toml\n(.*?)```", page, re.DOTALL)
    path = tmp_path / "example.toml"
    path.write_text(example)
    catalogue = load_catalogue([path], packaged=False)
    assert check_catalogue(catalogue, parse).failures == ()
    assert check_catalogue(catalogue).failures != ()  # or its prefix would show nothing


def test_every_field_has_a_row(page: str) -> None:
    rows = set(re.findall(r"^\| `(\w+)` \| (?:yes|no)", page, re.MULTILINE))
    assert rows == {item.name for item in fields(Signature)} - {"origin"}  # the loader sets it


@pytest.mark.parametrize(
    ("field", "values"),
    [
        ("role", Role),
        ("tier", Tier),
        ("kind", Kind),
        ("domain", Domain),
        ("retry", Retry),
        ("implicates", Implicates),
        ("exclude", Exclude),
    ],
)
def test_every_value_is_named(page: str, field: str, values: type[Role]) -> None:
    [row] = re.findall(rf"^\| `{field}` \|(.*)$", page, re.MULTILINE)
    assert {value.value for value in values} <= set(re.findall(r"`(\w+)`", row))


def test_every_capture_group_is_named(page: str) -> None:
    section = page.split("### Groups of captures")[1].split("## Patterns", maxsplit=1)[0]
    assert set(re.findall(r"`([a-z_]+)`", section)) == CAPTURE_GROUPS


def test_the_bound_of_reading_is_stated(page: str) -> None:
    assert f"the first {READ_CHARACTERS} characters" in page
