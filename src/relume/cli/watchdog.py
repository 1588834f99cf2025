"""`relume watchdog`: let held jobs go when nobody decides any more."""

from __future__ import annotations

from pathlib import Path

import typer

from relume.cli.control import (
    FolderOption,
    ModeOption,
    OnceOption,
    PartitionsOption,
    SlurmConfOption,
)
from relume.cli.options import ConfigOption
from relume.errors import counted


def watchdog(
    *,
    config: ConfigOption = None,
    mode: ModeOption = None,
    partition: PartitionsOption = None,
    slurm_conf: SlurmConfOption = None,
    folder: FolderOption = None,
    once: OnceOption = False,
) -> None:
    """Let jobs go that Relume holds past a deadline, or while service and controller are gone.

    A process of its own beside `relume control`, with the same settings and folder. Exit code 0: it
    was told to end; 2: the configuration is wrong; 3: with --once, Slurm could not be reached, or
    the controller's folder not be read, and the markers of the jobs had to do.
    """
    from relume.cli.control import doors, log_to_stderr, require_partitions, stop_on_signals
    from relume.config import load_config
    from relume.controller.folder import ControllerFolder
    from relume.controller.watchdog import Watchdog

    flags: dict[str, object] = {
        "controller.mode": mode,
        "controller.partitions": partition or None,
        "controller.slurm_conf": slurm_conf,
        "controller.folder": None if folder is None else str(Path(folder).absolute()),
    }
    settings = load_config(config, flags=flags).settings.controller
    require_partitions(settings)
    log_to_stderr()
    with doors(settings) as surroundings:
        dog = Watchdog(surroundings, ControllerFolder(Path(settings.folder)), settings)
        if once:
            typer.echo(f"{counted(dog.round(), 'job')} let go")
            if dog.trouble is not None:
                raise dog.trouble
        else:
            dog.run(stop_on_signals())
