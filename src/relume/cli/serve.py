"""`relume serve`: watch live jobs, write Advice, answer the controller."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from relume.cli.options import ConfigOption, named_path

if TYPE_CHECKING:
    from relume.serve.live.polling import Account, Ask
    from relume.settings import Settings

ACCOUNTING_SECONDS = 10.0


def serve(
    *,
    config: ConfigOption = None,
    listen: Annotated[
        str | None,
        typer.Option(
            "--listen", metavar="HOST:PORT", help="Address of the HTTP API.", show_default=False
        ),
    ] = None,
    folder: Annotated[
        Path | None,
        typer.Option(
            "--folder",
            parser=named_path,
            metavar="FOLDER",
            help="The data folder.",
            show_default=False,
        ),
    ] = None,
    log_root: Annotated[
        list[Path] | None,
        typer.Option(
            "--log-root",
            parser=named_path,
            metavar="FOLDER",
            help="A folder that jobs' logs are in; may be given again.",
            show_default=False,
        ),
    ] = None,
    kernel_log: Annotated[
        list[Path] | None,
        typer.Option(
            "--kernel-log",
            parser=named_path,
            metavar="PATH",
            help="Nodes' kernel logs, with {node} for the node; may be given again.",
            show_default=False,
        ),
    ] = None,
    tls_cert: Annotated[
        Path | None,
        typer.Option(
            "--tls-cert",
            parser=named_path,
            metavar="FILE",
            help="Certificate with its chain: speak https only.",
            show_default=False,
        ),
    ] = None,
    tls_key: Annotated[
        Path | None,
        typer.Option(
            "--tls-key",
            parser=named_path,
            metavar="FILE",
            help="The key of the certificate.",
            show_default=False,
        ),
    ] = None,
    allow_open_reads: Annotated[
        bool,
        typer.Option(
            "--allow-open-reads",
            help="Let everybody read who reaches an address that isn't loopback.",
        ),
    ] = False,
    mode: Annotated[
        str | None,
        typer.Option(
            "--mode",
            help="monitor: only write down; approve: ask a person; act: may be carried out.",
            show_default=False,
        ),
    ] = None,
) -> None:
    """Watch the jobs that `relume control` reports, and write Advice about those that fail or hang.

    It reads the jobs' output files and the nodes' kernel logs, keeps all of it in its data folder,
    and answers under /v1 (docs/api.md). It asks Slurm itself only where serve.poll_slurm says so.
    It runs until it is told to end (SIGTERM, Ctrl-C). Exit code 0: it was told to; 2: the
    configuration is wrong; 3: the data folder or the address can't be used.
    """
    import logging

    from relume.config import load_config
    from relume.serve.live.service import run_service

    flags: dict[str, object] = {
        "serve.listen": listen,
        "serve.folder": None if folder is None else str(folder.absolute()),
        "serve.log_roots": [str(root.absolute()) for root in log_root or ()] or None,
        "serve.kernel_logs": [str(path.absolute()) for path in kernel_log or ()] or None,
        "serve.tls_cert_file": None if tls_cert is None else str(tls_cert.absolute()),
        "serve.tls_key_file": None if tls_key is None else str(tls_key.absolute()),
        "serve.allow_open_reads": allow_open_reads or None,
        "serve.mode": mode,
    }
    loaded = load_config(config, flags=flags)
    logging.basicConfig(format="%(asctime)s %(levelname)s %(message)s", level=logging.INFO)
    logging.getLogger("alembic").setLevel(logging.WARNING)
    run_service(loaded.settings, *_asking(loaded.settings))


def _asking(settings: Settings) -> tuple[Ask | None, Account | None]:
    """What asks Slurm and its accounting, where the configuration wants it; null where it doesn't.

    Accounting that hangs mustn't keep Slurm from being asked, so less patience is had with it.
    """
    from relume.controller.reader import SlurmReader

    if not settings.serve.poll_slurm:
        return None, None
    conf = settings.controller.slurm_conf
    path = Path(conf) if conf else None
    accounting = SlurmReader(slurm_conf=path, timeout_seconds=ACCOUNTING_SECONDS)
    return SlurmReader(slurm_conf=path).snapshot, accounting.accounting_of
