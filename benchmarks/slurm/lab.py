"""Starts and stops a Slurm cluster on loopback: munged, MariaDB, slurmdbd, slurmctld, slurmd.

Nothing is mocked. A lab lives in one folder, shares nothing with an installed Slurm, and several
run side by side. It ends its own processes only, also those that killed daemons left behind.
"""

from __future__ import annotations

import os
import pwd
import secrets
import shutil
import signal
import subprocess
from collections.abc import Sequence
from pathlib import Path
from types import TracebackType
from typing import Self

from relume.benchmarks.slurm import settings as texts
from relume.benchmarks.slurm.ports import PortBlock
from relume.benchmarks.slurm.processes import MARK, end, lab_processes, on_node, send, wait_until
from relume.benchmarks.slurm.settings import MAX_ROOT_CHARACTERS, LabSettings
from relume.errors import InputError, UnreachableError

PROGRAMS = ("munged", "slurmctld", "slurmd", "sbatch")
ACCOUNTING_PROGRAMS = ("mariadbd", "mariadb-install-db", "slurmdbd")
_FOLDERS = ("etc", "log", "run", "state", "spool", "munge", "mysql", "dev", "jobs")
_DAEMONS = ("slurmctld", "slurmscriptd", "slurmd", "slurmdbd", "mariadbd", "munged")
"""In the order in which they end best: each may still need the later ones."""
_NODE_STATES = frozenset({"idle", "alloc", "mix", "comp"})
"""Of nodes that answer: a lab that is started again may have jobs to run at once."""
_SYSTEM_FOLDERS = "/usr/sbin:/sbin"
_STEERING = ("SLURM_", "SBATCH_", "SQUEUE_", "SACCT_", "SCANCEL_", "SINFO_", MARK)


class SlurmLab:
    """A cluster in the folder `root`; a context manager that starts and stops it.

    Attributes
    ----------
    root
        Its folder: configuration in `etc`, logs in `log`, output of jobs in `jobs`.
    slurm_conf
        What SLURM_CONF must name for every client.
    environment
        The variables of a client: those of this process without Slurm's, and SLURM_CONF.

    Raises
    ------
    InputError
        When `root` is too long for unix sockets.
    """

    def __init__(self, root: Path, settings: LabSettings | None = None) -> None:
        self.root = root.resolve()
        self.settings = settings or LabSettings()
        self.slurm_conf = self.root / "etc" / "slurm.conf"
        self.environment = _client_environment(self.slurm_conf)
        if len(str(self.root)) > MAX_ROOT_CHARACTERS:
            raise InputError(
                f"lab folder {self.root}",
                found=f"{len(str(self.root))} characters",
                expected=f"at most {MAX_ROOT_CHARACTERS}: unix sockets lie in it",
                hint="name a folder in /tmp",
            )

    def __enter__(self) -> Self:
        self.start()
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        self.stop()

    def start(self) -> None:
        """Start everything and wait until all nodes are there; on failure stop what was started.

        Raises
        ------
        UnreachableError
            When programs are missing, ports in use, or a daemon doesn't come up.
        """
        self._require_programs()
        with PortBlock(self.settings.ports, self.settings.base_port) as ports:
            try:
                self._start_daemons(ports.base_port)
            except BaseException:
                self.stop()
                raise

    def stop(self) -> None:
        """End every process of the lab; what does not go by itself is killed. Files stay."""
        jobs = [pid for pid, name in lab_processes(self.root).items() if name not in _DAEMONS]
        send(self.root, jobs, signal.SIGKILL)  # slurmstepd is deaf to anything gentler
        for daemon in _DAEMONS:
            pids = [pid for pid, name in lab_processes(self.root).items() if name == daemon]
            end(self.root, pids, grace_seconds=10.0)
        while left := lab_processes(self.root):
            end(self.root, left, grace_seconds=1.0)

    # --- one daemon ------------------------------------------------------------------------------

    def start_slurmctld(self) -> None:
        """Start slurmctld and wait until it answers."""
        self._daemon("slurmctld")
        wait_until(lambda: self._succeeds("scontrol", "ping"), what="slurmctld of the lab")

    def stop_slurmctld(self, number: signal.Signals = signal.SIGTERM) -> None:
        """Stop slurmctld and wait until it is gone; SIGKILL makes it forget its last seconds."""
        self._stop_program("slurmctld", number)

    def start_slurmdbd(self) -> None:
        """Start slurmdbd and wait until it answers."""
        self._daemon("slurmdbd")
        wait_until(lambda: self._succeeds("sacctmgr", "-n", "show", "cluster"), what="slurmdbd")

    def stop_slurmdbd(self, number: signal.Signals = signal.SIGTERM) -> None:
        """Stop slurmdbd and wait until it is gone."""
        self._stop_program("slurmdbd", number)

    def start_nodes(self, *nodes: str) -> None:
        """Start the slurmd of nodes, without waiting until slurmctld has seen them."""
        for node in nodes:
            self._daemon("slurmd", "-N", node)

    def kill_node(self, node: str) -> None:
        """Let a node die at once, with all that runs on it."""
        slurmd = int((self.root / "run" / f"slurmd.{node}.pid").read_text())
        send(self.root, [slurmd], signal.SIGKILL)
        send(self.root, on_node(self.root, node), signal.SIGKILL)

    # --- use -------------------------------------------------------------------------------------

    def run(self, *command: str, given: str | None = None, timeout_seconds: float = 30.0) -> str:
        """Run a client and return what it prints.

        Raises
        ------
        UnreachableError
            When it fails, or takes longer than `timeout_seconds`.
        """
        done = self._client(command, given, timeout_seconds)
        if done.returncode:
            raise UnreachableError(
                " ".join(command)[:200],
                found=f"exit code {done.returncode}: {done.stderr.strip()}",
            )
        return done.stdout

    def submit(self, script: str, *options: str) -> str:
        """Submit a batch script (without its ``#!`` line) and return the job id.

        It writes to `jobs/ID.out`, unless `options` of sbatch say something else.
        """
        output = f"--output={self.root}/jobs/%j.out"
        command = ("sbatch", "--parsable", output, f"--chdir={self.root}/jobs", *options)
        return self.run(*command, given=f"#!/bin/bash\n{script}\n").strip()

    def state(self, job_id: str) -> str:
        """Return Slurm's word for the state of a job; empty when there is no such job."""
        return self.states().get(job_id, "")

    def states(self) -> dict[str, str]:
        """Return Slurm's word for the state of each job, by job id."""
        rows = self.run("squeue", "-h", "-t", "all", "-o", "%i %T").splitlines()
        return dict(row.split(" ", 1) for row in rows)

    def wait_for_state(self, job_id: str, *states: str, seconds: float = 30.0) -> None:
        """Wait until a job is in one of `states`."""
        what = f"job {job_id} in state {' or '.join(states)}"
        wait_until(lambda: self.state(job_id) in states, what=what, seconds=seconds)

    def cancel_jobs(self) -> None:
        """Cancel all jobs and wait until every node is free again."""
        user = pwd.getpwuid(os.geteuid()).pw_name
        self.run("scancel", "--quiet", f"--user={user}")
        wait_until(lambda: not self.run("squeue", "-h").strip(), what="end of all jobs")

    # --- inside ----------------------------------------------------------------------------------

    def _require_programs(self) -> None:
        needed = PROGRAMS + (ACCOUNTING_PROGRAMS if self.settings.accounting else ())
        path = self.environment["PATH"]
        if missing := [name for name in needed if shutil.which(name, path=path) is None]:
            raise UnreachableError(
                "the Slurm lab",
                found=f"no {', '.join(missing)}",
                expected="the daemons of Slurm, munge and MariaDB",
                hint="docs/slurm.md names the packages",
            )

    def _start_daemons(self, base_port: int) -> None:
        self._write_files(base_port)
        self._start_munge()
        if self.settings.accounting:
            self._start_database()
            self.start_slurmdbd()
        self.start_slurmctld()
        self.start_nodes(*self.settings.node_names)
        wait_until(self._all_up, what="nodes of the lab")

    def _write_files(self, base_port: int) -> None:
        for folder in _FOLDERS:
            (self.root / folder).mkdir(parents=True, exist_ok=True)
        self.root.chmod(0o755)  # munged refuses a socket that others can't reach
        for gpu in range(self.settings.gpus):
            device = self.root / "dev" / f"gpu{gpu}"
            device.unlink(missing_ok=True)
            device.symlink_to("/dev/null")
        user = pwd.getpwuid(os.geteuid()).pw_name
        etc = self.root / "etc"
        self.slurm_conf.write_text(texts.slurm_conf(self.root, self.settings, base_port, user))
        (etc / "gres.conf").write_text(texts.gres_conf(self.root, self.settings))
        (etc / "my.cnf").write_text(texts.my_cnf(self.root, base_port, user))
        _write_secret(self.root / "munge" / "munge.key", secrets.token_hex(64))
        self._password = secrets.token_hex()
        dbd = texts.slurmdbd_conf(self.root, base_port, user, self._password)
        _write_secret(etc / "slurmdbd.conf", dbd)

    def _start_munge(self) -> None:
        folder = self.root / "munge"
        files = {"key-file": "key", "pid-file": "pid", "log-file": "log", "seed-file": "seed"}
        options = [f"--{option}={folder}/munge.{ending}" for option, ending in files.items()]
        self._daemon("munged", f"--socket={folder}/munge.sock", "--num-threads=2", *options)
        credential = ("munge", "-S", f"{folder}/munge.sock", "-n")
        wait_until(lambda: self._succeeds(*credential), what="munged of the lab")

    def _start_database(self) -> None:
        defaults = f"--defaults-file={self.root}/etc/my.cnf"
        socket = f"--socket={self.root}/run/mariadb.sock"
        if not (self.root / "mysql" / "mysql").is_dir():
            method = "--auth-root-authentication-method=socket"
            self.run("mariadb-install-db", defaults, method, "--skip-test-db")
        # Of all daemons the only one that stays in the foreground.
        self._daemon("setsid", "--fork", "mariadbd", defaults)
        wait_until(lambda: self._succeeds("mariadb-admin", socket, "ping"), what="MariaDB")
        self.run("mariadb", socket, given=texts.database_setup(self._password))

    def _daemon(self, *command: str) -> None:
        """Run a program that goes into the background by itself."""
        path = self.root / "log" / f"{command[0]}.out"
        with path.open("ab") as log:
            done = subprocess.run(
                command,
                stdin=subprocess.DEVNULL,
                stdout=log,
                stderr=log,
                env=self.environment | {MARK: str(self.root)},
                timeout=30,
                check=False,
            )
        if done.returncode:
            said = path.read_text(errors="replace")[-400:].strip()
            raise UnreachableError(" ".join(command), found=f"exit code {done.returncode}: {said}")

    def _stop_program(self, program: str, number: signal.Signals) -> None:
        def pids() -> list[int]:
            return [pid for pid, name in lab_processes(self.root).items() if name == program]

        send(self.root, pids(), number)
        wait_until(lambda: not pids(), what=f"end of {program}")

    def _all_up(self) -> bool:
        rows = self._client(("sinfo", "-h", "-N", "-o", "%N %t")).stdout.splitlines()
        states = dict(row.split() for row in rows)  # a node has a row in each of its partitions
        return len(states) == self.settings.nodes and _NODE_STATES.issuperset(states.values())

    def _succeeds(self, *command: str) -> bool:
        return self._client(command, timeout_seconds=5.0).returncode == 0

    def _client(
        self, command: Sequence[str], given: str | None = None, timeout_seconds: float = 30.0
    ) -> subprocess.CompletedProcess[str]:
        try:
            return subprocess.run(
                command,
                input=given or "",
                capture_output=True,
                text=True,
                errors="replace",
                env=self.environment,
                timeout=timeout_seconds,
                check=False,
            )
        except subprocess.TimeoutExpired:
            return subprocess.CompletedProcess(command, 124, "", f"no end in {timeout_seconds:g} s")


def _client_environment(slurm_conf: Path) -> dict[str, str]:
    """Return this process's variables without those that steer Slurm, for a client of the lab."""
    kept = {
        name: value
        for name, value in os.environ.items()
        if not name.startswith(
            ("SLURM", "SBATCH_", "SQUEUE_", "SACCT_", "SCANCEL_", "SINFO_", MARK)
        )
    }
    path = f"{kept.get('PATH', os.defpath)}:{_SYSTEM_FOLDERS}"
    return kept | {"SLURM_CONF": str(slurm_conf), "PATH": path}


def _write_secret(path: Path, text: str) -> None:
    """Write a file that only its owner may read, from its first byte on."""
    path.unlink(missing_ok=True)
    with os.fdopen(os.open(path, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600), "w") as file:
        file.write(text)
