"""`relume serve`: watch live jobs, write Advice, answer the controller."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from relume.cli.control import ConfigOption


def serve(
    *,
    config: ConfigOption = None,
    listen: Annotated[
        str | None, typer.Option("--listen", help="Address and port.", show_default=False)
    ] = None,
    folder: Annotated[
        Path | None, typer.Option("--folder", help="The data folder.", show_default=False)
    ] = None,
    log_root: Annotated[
        list[str] | None,
        typer.Option("--log-root", help="A folder that jobs' logs are in.", show_default=False),
    ] = None,
    kernel_log: Annotated[
        list[str] | None,
        typer.Option("--kernel-log", help="Nodes' kernel logs, with {node}.", show_default=False),
    ] = None,
    mode: Annotated[
        str | None,
        typer.Option(
            "--mode", help="monitor: only write down; act: may be carried out.", show_default=False
        ),
    ] = None,
) -> None:
    """Watch the jobs that `relume control` reports, and write Advice about those that fail or hang.

    It reads the jobs' output files and the nodes' kernel logs, keeps all of it in its data folder,
    and answers under /v1 (docs/api.md). It never talks to Slurm. It runs until it is told to end
    (SIGTERM, Ctrl-C). Exit code 0: it was told to; 2: the configuration is wrong; 3: the data
    folder or the address can't be used.
    """
    import logging

    from relume.config import load_config
    from relume.serve.live.service import run_service

    flags: dict[str, object] = {
        "serve.listen": listen,
        "serve.folder": None if folder is None else str(folder.absolute()),
        "serve.log_roots": [str(Path(root).absolute()) for root in log_root or ()] or None,
        "serve.kernel_logs": [str(Path(path).absolute()) for path in kernel_log or ()] or None,
        "serve.mode": mode,
    }
    loaded = load_config(config, flags=flags)
    logging.basicConfig(format="%(asctime)s %(levelname)s %(message)s", level=logging.INFO)
    logging.getLogger("alembic").setLevel(logging.WARNING)
    run_service(loaded.settings)
