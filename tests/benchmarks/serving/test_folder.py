"""The folder of a bench's service: kept where something failed, and said where."""

from __future__ import annotations

import shutil
from pathlib import Path

import pytest

from relume.benchmarks.serving.folder import service_folder


def test_a_folder_is_kept_when_a_bench_fails(capsys: pytest.CaptureFixture[str]) -> None:
    kept: list[Path] = []

    def fail() -> None:
        with service_folder("test") as folder:
            kept.append(folder)
            raise ValueError("what the bench found")

    with pytest.raises(ValueError, match="found"):
        fail()
    assert kept[0].is_dir()
    assert str(kept[0]) in capsys.readouterr().err
    shutil.rmtree(kept[0])
