"""Dask workers as jobs of the Slurm cluster that this machine may submit to."""

from __future__ import annotations

import logging
import re
import shlex
import sys
from collections.abc import Iterator
from contextlib import contextmanager, nullcontext
from dataclasses import dataclass
from pathlib import Path
from types import ModuleType
from typing import TYPE_CHECKING, Any

from relume.errors import InputError, UnreachableError
from relume.serve.backtest.engines import worker
from relume.serve.backtest.engines.dasked import Dask, library
from relume.serve.backtest.engines.lost import outliving_workers

if TYPE_CHECKING:
    from dask_jobqueue.slurm import SLURMCluster

log = logging.getLogger(__name__)
LOOPBACK = "127.0.0.1"
WORKERS = 2
MEMORY_BYTES = 4 << 30
LOOK_SECONDS = 5
"""How often it is looked whether all jobs are there that were asked for."""
PATIENCE_SECONDS = 60
"""Without any worker after so long, it is said where to look."""
TRIES = 2
"""Workers that may be lost over a piece; one more, and it is given up."""
DEATH_SECONDS = 60
"""Workers that hear nothing from here for so long end by themselves."""
LOST_SECONDS = 1
"""How long a worker may be away before its job counts as lost: none of them comes back."""
QUIET = {
    "distributed.worker.profile.enabled": False,
    "distributed.worker.memory.target": False,
    "distributed.worker.memory.spill": False,
    "distributed.worker.memory.pause": False,
    "distributed.diagnostics.nvml": False,
    "distributed.admin.tick.interval": "1s",
    "distributed.admin.system-monitor.interval": "10s",
}
"""What Dask does beside the work, for a dashboard that nobody sees: it looks at the stacks of its
workers a hundred times a second, at its own loop fifty times. A worker that keeps its results, and
takes no piece while it holds much, would be none to wait for: `worker` watches its memory."""
_WORKER = ("--no-dashboard", "--dashboard-address", f"{LOOPBACK}:0", "--preload", worker.__name__)
_PLAIN = re.compile(r"[\w./@%+=:,-]+")
_OPTION = re.compile(r"--?[A-Za-z][\w-]*([= ][^\x00-\x1f\x7f]+)?")


@dataclass(frozen=True, slots=True, kw_only=True)
class SlurmWorkers:
    """What is submitted.

    Attributes
    ----------
    folder
        Where jobs leave their logs, and find their certificate; each node must see it.
    workers
        Jobs, each of one worker with one core.
    memory_bytes
        Of each; a worker that holds more is ended.
    interface
        The network interface of this machine and of the nodes over which they talk, such as
        ``ib0``; null for the loopback, over which only workers on this machine reach it.
    options
        Further options of ``sbatch``, such as ``--partition=cpu``.

    Raises
    ------
    InputError
        For what can't stand in a job script.
    """

    folder: Path
    workers: int = WORKERS
    memory_bytes: int = MEMORY_BYTES
    interface: str | None = None
    options: tuple[str, ...] = ()

    def __post_init__(self) -> None:
        for what, text in (("--out", str(self.folder)), ("--interface", self.interface or "lo")):
            if not _PLAIN.fullmatch(text):
                raise InputError(
                    f"{what} {text!r} with --slurm",
                    found="characters that mean something in a job script",
                    expected="letters, digits and . / @ % + = : , - _",
                )
        for option in self.options:
            if not _OPTION.fullmatch(option):
                raise InputError(
                    f"--slurm-option {option!r}", expected="one option, such as --partition=cpu"
                )


@contextmanager
def dask_on_slurm(asked: SlurmWorkers) -> Iterator[Dask]:
    """Yield an engine whose workers are jobs, which end with it.

    The scheduler runs in this process. It and the workers talk by TLS, with a certificate that is
    made for this time only: who can talk to a scheduler can run programs as its user.

    Raises
    ------
    InputError
        Without the extra, and for an interface that isn't there.
    UnreachableError
        When jobs can't be submitted.
    """
    distributed, jobqueue = library(), _jobqueue()
    import dask  # noqa: PLC0415 - with these it is there

    asked.folder.mkdir(parents=True, exist_ok=True, mode=0o700)
    with (
        outliving_workers(),
        dask.config.set(_configured()),
        _cluster(jobqueue, asked) as cluster,
        _certified(cluster),
    ):
        with _refused(asked):
            cluster.sync(_submit, cluster, asked.workers)
        with (
            distributed.Client(cluster, set_as_default=False) as client,
            _kept(cluster, asked),
        ):
            yield Dask(client)


@contextmanager
def _certified(cluster: SLURMCluster) -> Iterator[None]:
    """Take the files of the certificate away at the end: the library leaves that to chance."""
    try:
        yield
    finally:
        for name in ("ca_file", "cert", "key"):
            getattr(cluster, f"_job_{name}", nullcontext()).__exit__(None, None, None)


def _configured() -> dict[str, Any]:
    return QUIET | {
        "distributed.scheduler.allowed-failures": TRIES,
        "distributed.scheduler.active-memory-manager.start": False,
        "distributed.client.scheduler-info-interval": "10s",
        "distributed.deploy.lost-worker-timeout": f"{LOST_SECONDS}s",
        # A worker gets a piece when it has done the one before: who is lost takes none along.
        "distributed.scheduler.worker-saturation": 1.0,
        # The site's limit of time is the partition's, or an option.
        "jobqueue.slurm.walltime": None,
    }


def _exports() -> list[str]:
    """Return lines of a job's script by which its worker is `QUIET`."""
    names = {name: f"DASK_{name.replace('.', '__').replace('-', '_').upper()}" for name in QUIET}
    return [f"export {names[name]}={value}" for name, value in QUIET.items()]


def _jobqueue() -> ModuleType:
    """Return the library that submits workers; its defaults are part of Dask's configuration."""
    try:
        import dask_jobqueue.slurm  # noqa: PLC0415 - as `distributed`
    except ImportError as error:
        raise InputError(
            "--slurm", found=f"no module {error.name}", hint="pip install 'relume[dask]'"
        ) from error
    module: ModuleType = dask_jobqueue.slurm
    return module


def _cluster(jobqueue: ModuleType, asked: SlurmWorkers) -> SLURMCluster:
    where = ["--host", LOOPBACK] if asked.interface is None else []
    scheduler = {"host": LOOPBACK} if asked.interface is None else {}
    with _refused(asked):
        cluster: SLURMCluster = jobqueue.SLURMCluster(
            cores=1,
            processes=1,
            memory=f"{asked.memory_bytes}B",
            python=shlex.quote(sys.executable),
            interface=asked.interface,
            security=library().Security.temporary(),
            shared_temp_directory=str(asked.folder),
            log_directory=str(asked.folder),
            job_name="relume-backtest",
            death_timeout=DEATH_SECONDS,
            job_extra_directives=list(asked.options),
            job_script_prologue=_exports(),
            nanny=False,
            worker_extra_args=[*where, *_WORKER],
            scheduler_options={
                **scheduler,
                "dashboard": False,
                "dashboard_address": f"{LOOPBACK}:0",
            },
        )
    return cluster


async def _submit(cluster: SLURMCluster, workers: int) -> None:
    cluster.scale(workers)  # type: ignore[no-untyped-call]
    await cluster


@contextmanager
def _refused(asked: SlurmWorkers) -> Iterator[None]:
    """Say in our words what Dask or sbatch refuse."""
    try:
        yield
    except (RuntimeError, OSError) as error:
        said = str(error).strip().splitlines()
        raise UnreachableError(
            f"{asked.workers} Dask workers as jobs of Slurm",
            found=said[-1] if said else "that they could not be submitted",
            expected="that `sbatch` works here",
            hint="look at --slurm-option",
        ) from error
    except ValueError as error:  # an interface that isn't there
        raise InputError(f"--interface {asked.interface}", found=str(error)) from error


@contextmanager
def _kept(cluster: SLURMCluster, asked: SlurmWorkers) -> Iterator[None]:
    """Submit anew what was lost, now and then; say so where no worker ever comes."""
    from tornado.ioloop import PeriodicCallback  # noqa: PLC0415 - Dask's own

    looks, loop = 0, cluster.loop
    if loop is None:  # it was closed meanwhile
        yield
        return

    async def look() -> None:
        nonlocal looks
        looks += 1
        if looks * LOOK_SECONDS == PATIENCE_SECONDS and not cluster.scheduler_info["workers"]:
            log.warning(
                "no worker yet: their jobs wait in the queue, or fail; their logs: %s",
                asked.folder,
            )
        try:
            await _submit(cluster, asked.workers)
        except (RuntimeError, OSError) as error:
            log.warning("cannot submit a job for a worker that was lost: %s", error)

    callback = PeriodicCallback(look, LOOK_SECONDS * 1000)
    loop.add_callback(callback.start)
    try:
        yield
    finally:
        loop.add_callback(callback.stop)
