"""The real Slurm that the tests of this folder use, and what keeps them apart.

`slurm` is one cluster for the session (for each process of `pytest -n`: they run side by side).
`start_slurm(settings)` starts another one with other settings, for one module.
"""

from __future__ import annotations

import shutil
import tempfile
from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager
from pathlib import Path

import pytest

from relume.benchmarks.slurm.lab import SlurmLab
from relume.benchmarks.slurm.settings import LabSettings
from relume.controller.actuator import SlurmActuator
from relume.controller.reader import SlurmReader


@contextmanager
def _lab_folder() -> Iterator[Path]:
    # Not below tmp_path: the names of unix sockets would grow too long.
    folder = Path(tempfile.mkdtemp(prefix="rl-"))
    try:
        yield folder
    finally:
        shutil.rmtree(folder)


@pytest.fixture(scope="session")
def slurm(require_server: Callable[[str], None]) -> Iterator[SlurmLab]:
    """Return a running cluster of four nodes, with accounting."""
    require_server("slurm")
    with _lab_folder() as folder, SlurmLab(folder) as lab:
        yield lab


@pytest.fixture(scope="module")
def start_slurm(
    require_server: Callable[[str], None],
) -> Iterator[Callable[[LabSettings], SlurmLab]]:
    """Return a function that starts a cluster of its own, which ends with the module."""
    require_server("slurm")
    with ExitStack() as stack:

        def start(settings: LabSettings) -> SlurmLab:
            folder = stack.enter_context(_lab_folder())
            return stack.enter_context(SlurmLab(folder, settings))

        yield start


@pytest.fixture(autouse=True)
def _free_nodes(request: pytest.FixtureRequest) -> Iterator[None]:
    """Leave no job of a test to the next one that uses `slurm`."""
    yield
    if "slurm" in request.fixturenames:
        lab: SlurmLab = request.getfixturevalue("slurm")
        lab.cancel_jobs()


@pytest.fixture
def reader(slurm: SlurmLab) -> SlurmReader:
    return SlurmReader(slurm_conf=slurm.slurm_conf)


@pytest.fixture
def actuator(slurm: SlurmLab) -> SlurmActuator:
    return SlurmActuator(slurm_conf=slurm.slurm_conf)
