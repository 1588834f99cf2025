"""Every example in a docstring (`>>>`) runs and prints what it says."""

from __future__ import annotations

import doctest
import importlib
import pkgutil

import pytest

import relume

MODULES = sorted(
    module.name
    for module in pkgutil.walk_packages(relume.__path__, "relume.")
    if module.name != "relume.__main__"
)


@pytest.mark.parametrize("name", MODULES)
def test_the_examples_of_a_module_run(name: str) -> None:
    module = importlib.import_module(name)
    failed, _ = doctest.testmod(module)
    assert failed == 0


def test_every_folder_is_looked_at() -> None:
    for folder in ("ingest", "features", "models", "serve", "controller", "benchmarks"):
        assert f"relume.{folder}" in MODULES
