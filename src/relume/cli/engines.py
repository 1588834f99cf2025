"""Where a backtest is computed: options of `relume backtest`, and the engine that they mean."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, replace
from enum import StrEnum
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

if TYPE_CHECKING:
    from relume.serve.backtest.engines.work import Engine

GIB = 1 << 30
MIN_GIB = 0.25
"""A worker with less could not even begin."""
SLURM_FOLDER = "workers"


class EngineName(StrEnum):
    """What replays."""

    LOCAL = "local"
    DASK = "dask"


EngineOption = Annotated[
    EngineName,
    typer.Option("--engine", help="Replay on this machine, or by the workers of a Dask cluster."),
]
WorkersOption = Annotated[
    int | None,
    typer.Option(
        "--workers",
        min=1,
        metavar="N",
        help="Processes, or jobs with --slurm. Without it: one a core, or two jobs.",
        show_default=False,
    ),
]
MemoryOption = Annotated[
    float | None,
    typer.Option(
        "--worker-memory",
        min=MIN_GIB,
        metavar="GIB",
        help="End a worker that holds more. Without it: its part of this machine's; 4 for a job.",
        show_default=False,
    ),
]
SchedulerOption = Annotated[
    str | None,
    typer.Option(
        "--scheduler",
        metavar="ADDRESS",
        help="With --engine dask: the scheduler of a cluster that is there.",
        show_default=False,
    ),
]
SlurmOption = Annotated[
    bool,
    typer.Option("--slurm", help="With --engine dask: submit the workers as jobs of Slurm."),
]
InterfaceOption = Annotated[
    str | None,
    typer.Option(
        "--interface",
        metavar="NAME",
        help="With --slurm: the network between here and the nodes. Without it: this machine.",
        show_default=False,
    ),
]
SlurmExtraOption = Annotated[
    list[str] | None,
    typer.Option(
        "--slurm-option",
        metavar="OPTION",
        help="With --slurm: an option of sbatch, such as --partition=cpu. May be repeated.",
        show_default=False,
    ),
]


@dataclass(frozen=True, slots=True, kw_only=True)
class Asked:
    """What was asked for on the command line; `out` is where results are kept.

    Raises
    ------
    InputError
        For options that don't go together.
    """

    engine: EngineName
    workers: int | None
    memory_gib: float | None
    scheduler: str | None
    slurm: bool
    interface: str | None
    slurm_options: tuple[str, ...]
    out: Path | None

    def __post_init__(self) -> None:
        """Refuse options that don't go together."""
        from relume.errors import InputError

        is_dask = self.engine is EngineName.DASK
        wrong = {
            "--scheduler": self.scheduler is not None and not is_dask,
            "--slurm": self.slurm and not is_dask,
            "--interface": self.interface is not None and not self.slurm,
            "--slurm-option": bool(self.slurm_options) and not self.slurm,
            "--workers": self.workers is not None and self.scheduler is not None,
            "--worker-memory": self.memory_gib is not None and self.scheduler is not None,
        }
        if name := next((name for name, is_wrong in wrong.items() if is_wrong), None):
            raise InputError(
                f"{name} means nothing here",
                found=f"--engine {self.engine}" + (", --scheduler" if self.scheduler else ""),
                hint="docs/backtest.md, Large recordings, shows what goes with what",
            )
        if is_dask and self.slurm == (self.scheduler is not None):
            raise InputError(
                "--engine dask",
                found="both --scheduler and --slurm" if self.slurm else "no cluster",
                expected="either --scheduler ADDRESS or --slurm",
            )
        if self.slurm and self.out is None:
            raise InputError(
                "--slurm",
                found="no --out",
                expected="a folder that the nodes see: the jobs leave their logs there",
                hint="add --out FOLDER",
            )

    def here(self, option: str) -> Asked:
        """Return the same in this process alone, which `option` needs.

        Raises
        ------
        InputError
            Where other processes were asked for.
        """
        from relume.errors import InputError

        if self.engine is not EngineName.LOCAL or self.workers not in (None, 1):
            raise InputError(
                f"{option} with other processes",
                found=f"--engine {self.engine}, --workers {self.workers or 'left out'}",
                expected="all replayed in one process",
                hint="leave --engine and --workers out",
            )
        return replace(self, workers=1)


@contextmanager
def engine_of(asked: Asked) -> Iterator[Engine]:
    """Yield the engine that was asked for; what it started ends with it.

    Raises
    ------
    RelumeError
        For a cluster that can't be had.
    """
    memory = None if asked.memory_gib is None else int(asked.memory_gib * GIB)
    if asked.scheduler is not None:
        from relume.serve.backtest.engines.dasked import dask_at

        with dask_at(asked.scheduler) as engine:
            yield engine
    elif asked.slurm and asked.out is not None:
        from relume.serve.backtest.engines.slurm import (
            MEMORY_BYTES,
            WORKERS,
            SlurmWorkers,
            dask_on_slurm,
        )

        workers = SlurmWorkers(
            folder=asked.out.absolute() / SLURM_FOLDER,
            workers=asked.workers or WORKERS,
            memory_bytes=memory or MEMORY_BYTES,
            interface=asked.interface,
            options=asked.slurm_options,
        )
        with dask_on_slurm(workers) as engine:
            yield engine
    else:
        from relume.serve.backtest.engines.local import Local

        yield Local(asked.workers, memory)
