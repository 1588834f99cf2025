"""`relume control`: carry Advice out on a Slurm cluster, or say what would be done."""

from __future__ import annotations

from contextlib import closing, contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from relume.cli.options import ConfigOption, named
from relume.errors import counted

if TYPE_CHECKING:
    from collections.abc import Iterator

    from relume.config import Config
    from relume.controller.doors import Doors, Stop
    from relume.controller.service import ServiceClient
    from relume.settings import ControllerSettings

app = typer.Typer(help="Carry Advice out on a Slurm cluster.", invoke_without_command=True)

ModeOption = Annotated[
    str | None,
    typer.Option("--mode", help="observe: change nothing; act: carry out.", show_default=False),
]
PartitionsOption = Annotated[
    list[str] | None,
    typer.Option(
        "--partition", "-p", help="A partition whose jobs may be touched.", show_default=False
    ),
]
ServiceOption = Annotated[
    str | None, typer.Option("--service", help="Address of relume serve.", show_default=False)
]
TokenOption = Annotated[
    str | None,
    typer.Option(
        "--token-file",
        parser=named,
        metavar="FILE",
        help="File with the control token.",
        show_default=False,
    ),
]
SlurmConfOption = Annotated[
    str | None,
    typer.Option(
        "--slurm-conf",
        parser=named,
        metavar="FILE",
        help="The cluster's slurm.conf.",
        show_default=False,
    ),
]
FolderOption = Annotated[
    str | None,
    typer.Option(
        "--folder",
        parser=named,
        metavar="FOLDER",
        help="Folder of journal and heartbeat.",
        show_default=False,
    ),
]
IntervalOption = Annotated[
    float | None,
    typer.Option("--interval", help="Seconds between two looks at Slurm.", show_default=False),
]
OnceOption = Annotated[bool, typer.Option("--once", help="One round, then end.")]


@app.callback()
def control(
    context: typer.Context,
    *,
    config: ConfigOption = None,
    mode: ModeOption = None,
    partition: PartitionsOption = None,
    service: ServiceOption = None,
    token_file: TokenOption = None,
    slurm_conf: SlurmConfOption = None,
    folder: FolderOption = None,
    interval: IntervalOption = None,
    once: OnceOption = False,
) -> None:
    """Carry Advice out on a Slurm cluster; in mode observe (the default) only say what it would do.

    It runs until it is told to end (SIGTERM, Ctrl-C). Exit code 0: it was told to; 2: the
    configuration is wrong; 3: with --once, Slurm, the service or the journal could not be reached.
    """
    flags: dict[str, object] = {
        "controller.mode": mode,
        "controller.partitions": partition or None,
        "controller.service": service,
        "controller.token_file": token_file,
        "controller.slurm_conf": slurm_conf,
        "controller.folder": None if folder is None else str(Path(folder).absolute()),
        "controller.interval_seconds": interval,
    }
    from relume.config import load_config

    loaded = load_config(config, flags=flags)
    if context.invoked_subcommand is not None:
        context.obj = loaded
        return
    _run(loaded, once=once)


@app.command("install-epilog")
def install_epilog(
    context: typer.Context,
    *,
    show: Annotated[bool, typer.Option("--print", help="Print the helper.")] = False,
    to: Annotated[
        Path | None, typer.Option("--to", help="Write it to this file.", show_default=False)
    ] = None,
    scontrol: Annotated[
        str | None,
        typer.Option("--scontrol", help="Path of scontrol on that host.", show_default=False),
    ] = None,
) -> None:
    """Print or write the EpilogSlurmctld helper, with folder and SLURM_CONF filled in.

    Slurm itself is not touched: the line for slurm.conf goes to standard error.
    """
    import os

    from relume.controller.install import NAME, epilog_script
    from relume.errors import InputError

    if show is (to is not None):
        raise InputError("install-epilog", expected="either --print or --to FILE")
    config: Config = context.obj
    settings = config.settings.controller
    slurm_conf = settings.slurm_conf or os.environ.get("SLURM_CONF", "")
    text = epilog_script(Path(settings.folder).absolute(), slurm_conf, scontrol=scontrol)
    if to is None:
        typer.echo(text, nl=False)
    else:
        to.write_text(text, encoding="utf-8")
        to.chmod(0o755)
    path = f"/etc/slurm/{NAME}" if to is None else to.absolute()
    typer.echo(f"slurm.conf: EpilogSlurmctld={path} (then restart slurmctld)", err=True)


def _run(config: Config, *, once: bool) -> None:
    from relume.controller.folder import ControllerFolder
    from relume.controller.loop import Controller

    settings = config.settings.controller
    require_partitions(settings)
    log_to_stderr()
    place = ControllerFolder(Path(settings.folder))
    with doors(settings) as surroundings, closing(place) as folder:
        folder.prepare()
        with closing(Controller(surroundings, folder, settings)) as controller:
            if not once:
                controller.run(stop_on_signals())
                return
            done = controller.round()
            typer.echo(f"{counted(done.commands, 'command')} given")
            if done.trouble is not None:
                raise done.trouble


def require_partitions(settings: ControllerSettings) -> None:
    """Refuse mode *act* without a list of partitions, in which nothing could ever be done."""
    from relume.errors import ConfigError

    if settings.mode == "act" and not settings.partitions:
        raise ConfigError(
            "controller.partitions",
            found="none, in mode act",
            expected="the partitions whose jobs may be touched",
            hint='name them (--partition), or write ["*"] for all',
        )


@contextmanager
def doors(settings: ControllerSettings) -> Iterator[Doors]:
    """Open the doors to Slurm and to the service as configured."""
    from relume.controller.actuator import SlurmActuator
    from relume.controller.doors import Doors
    from relume.controller.reader import SlurmReader

    conf = _slurm_conf(settings)
    client = client_of(settings)
    try:
        yield Doors(SlurmReader(slurm_conf=conf), SlurmActuator(slurm_conf=conf), client)
    finally:
        client.close()


def client_of(settings: ControllerSettings) -> ServiceClient:
    """Return what speaks with the service, as configured."""
    from relume.controller.service import ServiceClient

    return ServiceClient(settings.service, _token(settings), ca_file=settings.ca_file)


def log_to_stderr() -> None:
    """Let the log go to standard error."""
    import logging

    logging.basicConfig(format="%(asctime)s %(levelname)s %(message)s", level=logging.INFO)
    logging.getLogger("httpx2").setLevel(logging.WARNING)


def stop_on_signals() -> Stop:
    """Return what says when SIGTERM or SIGINT came."""
    import signal
    import threading

    stop = threading.Event()
    for number in (signal.SIGTERM, signal.SIGINT):
        signal.signal(number, lambda *_: stop.set())
    return stop


def _slurm_conf(settings: ControllerSettings) -> Path | None:
    """Return the configured slurm.conf; null leaves it to the environment and to Slurm."""
    import os

    from relume.errors import ConfigError

    given = settings.slurm_conf or os.environ.get("SLURM_CONF", "")
    if given and not Path(given).is_file():
        # Slurm's clients would look for it in the network, and say nothing for a long time.
        raise ConfigError(
            f"controller.slurm_conf {given}" if settings.slurm_conf else f"SLURM_CONF {given}",
            found="no such file",
            expected="the cluster's slurm.conf",
            hint="mend the path, or leave both empty for Slurm's default",
        )
    return Path(settings.slurm_conf) if settings.slurm_conf else None


def _token(settings: ControllerSettings) -> str | None:
    from relume.errors import ConfigError
    from relume.files import small_text

    if not settings.token_file:
        return None
    try:
        lines = small_text(Path(settings.token_file), "ascii").splitlines()
    except (OSError, UnicodeDecodeError) as error:
        raise ConfigError(
            f"controller.token_file {settings.token_file}",
            found=str(error),
            expected="a readable file with a token",
        ) from error
    # The same file as the service's: one token a line, and lines of comments.
    stripped = (line.strip() for line in lines)
    words = [line for line in stripped if line and not line.startswith(("#", "sha256:"))]
    if not words or not words[0].isprintable() or " " in words[0]:
        raise ConfigError(
            f"controller.token_file {settings.token_file}",
            found="no token",
            expected="a token a line; blank lines, # and sha256: (no token itself) are left out",
        )
    return words[0]
