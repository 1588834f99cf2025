from __future__ import annotations

import re
from pathlib import Path

import pytest
import typer

from relume.cli import app as every
from relume.cli.report import app
from relume.features.goodput.buckets import Bucket, spans_of
from relume.models.worth.counterfactual import Hand
from relume.serve.backtest.goodput import goodput_of
from relume.serve.backtest.hindsight import hindsight_of
from relume.serve.backtest.lived import GPUS_PER_NODE
from relume.serve.backtest.lives import lives_of
from relume.serve.backtest.runs import STALL_SECONDS
from relume.serve.backtest.steps import MAX_ROWS
from relume.serve.backtest.worth import Worth
from relume.serve.reports.goodput import to_document
from relume.serve.reports.presets import preset_records


@pytest.fixture(scope="module")
def page(repository: Path) -> str:
    return (repository / "docs/goodput.md").read_text(encoding="utf-8")


def test_every_option_is_named(page: str) -> None:
    command = typer.main.get_group(app).commands["goodput"]
    for parameter in command.params:
        for name in parameter.opts:
            assert name in page, name


def test_every_option_of_backtest_is_named(repository: Path, page: str) -> None:
    command = typer.main.get_group(every).commands["backtest"]
    text = page + (repository / "docs/backtest.md").read_text(encoding="utf-8")
    for parameter in command.params:
        for name in parameter.opts:
            assert not name.startswith("--") or name in text, name


def test_every_bucket_and_every_hand_is_named(page: str) -> None:
    for name in (*Bucket, *Hand):
        assert re.search(rf"^\| `{name}` \|", page, re.MULTILINE), name


def test_every_key_is_named(page: str) -> None:
    lives = lives_of([])
    spans = spans_of(*lives.frames())
    goodput = goodput_of(lives, spans=spans)
    worth = Worth(lives, goodput, hindsight_of(lives, goodput, spans))
    document = to_document(worth) | {"presets": preset_records({})}
    for key, value in document.items():
        assert re.search(rf"^\|[^|]*`{key}`", page, re.MULTILINE), key
        is_named = isinstance(value, dict) and key not in {"shares", "gpu_hours"}
        for name in value if is_named else ():
            assert f"`{name}`" in page, name


def test_the_numbers_are_those_of_the_code(page: str) -> None:
    assert f"{MAX_ROWS} rows an attempt" in page
    assert f"(default {GPUS_PER_NODE})" in page
    assert f"a stall of {STALL_SECONDS:.0f} s" in page
