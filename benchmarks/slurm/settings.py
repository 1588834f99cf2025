"""What a lab consists of, and the text of its configuration files.

Source of every line: `slurm.conf(5)`, `slurmdbd.conf(5)`, `gres.conf(5)`, and what a cluster on one
machine needs (`docs/slurm.md` says which lines are there for that).
"""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

MAX_ROOT_CHARACTERS = 60
"""Longest root: `ROOT/spool/NODE/NODE_JOB.STEP` is a unix socket, which ends at 107 characters."""
_HERE = "NodeHostname=localhost NodeAddr=127.0.0.1"
NODE_PORTS_OFFSET = 10
"""The first slurmd listens that far above the base port."""


@dataclass(frozen=True, slots=True, kw_only=True)
class LabSettings:
    """What a lab consists of.

    Attributes
    ----------
    nodes
        How many slurmd run; they are named node1, node2 and so on.
    base_port
        slurmctld listens there, slurmdbd, MariaDB and the slurmd above it (`ports`); null takes
        the first free block.
    accounting
        Whether there is a slurmdbd with its MariaDB: without it the lab starts twice as fast,
        uses 150 MB less, and `sacct` has nothing.
    gpus
        Pretended GPUs of a node.
    node_timeout_seconds
        SlurmdTimeout: a silent node is DOWN two to three times as long after.
    message_timeout_seconds
        MessageTimeout: how long a client waits for a slurmctld that is away.
    epilog_slurmctld
        Program that slurmctld runs when a job ends; null for none. Slurm takes it only at start.
    extra
        Further lines of slurm.conf, such as ``PartitionName=spare Nodes=ALL``.
    """

    nodes: int = 4
    base_port: int | None = None
    accounting: bool = True
    gpus: int = 8
    node_timeout_seconds: int = 10
    message_timeout_seconds: int = 10
    epilog_slurmctld: Path | None = None
    extra: tuple[str, ...] = ()

    @property
    def ports(self) -> int:
        """How many ports a lab takes from its base port on."""
        return NODE_PORTS_OFFSET + self.nodes

    @property
    def node_names(self) -> tuple[str, ...]:
        """The nodes in order."""
        return tuple(f"node{number}" for number in range(1, self.nodes + 1))


def slurm_conf(root: Path, settings: LabSettings, base_port: int, user: str) -> str:
    """Return slurm.conf of a lab at `root` whose daemons run as `user`."""
    first = base_port + NODE_PORTS_OFFSET
    lines = [
        "ClusterName=lab",
        "SlurmctldHost=localhost(127.0.0.1)",
        f"SlurmctldPort={base_port}",
        f"SlurmUser={user}",
        f"SlurmdUser={user}",
        "AuthType=auth/munge",
        # 5 s is the least that is taken, and decides how long a requeued job waits (6 s, not 121).
        f"AuthInfo=socket={root}/munge/munge.sock,cred_expire=5",
        "CommunicationParameters=NoCtldInAddrAny,NoInAddrAny",
        f"StateSaveLocation={root}/state",
        f"SlurmdSpoolDir={root}/spool/%n",
        f"SlurmctldPidFile={root}/run/slurmctld.pid",
        f"SlurmdPidFile={root}/run/slurmd.%n.pid",
        f"SlurmctldLogFile={root}/log/slurmctld.log",
        f"SlurmdLogFile={root}/log/slurmd.%n.log",
        "ProctrackType=proctrack/linuxproc",
        "TaskPlugin=task/none",
        "JobAcctGatherType=jobacct_gather/none",
        "MpiDefault=none",
        "SwitchType=switch/none",
        "MailProg=/bin/true",
        "ReturnToService=2",
        "SlurmdParameters=config_overrides",
        "SlurmctldTimeout=30",
        f"SlurmdTimeout={settings.node_timeout_seconds}",
        f"MessageTimeout={settings.message_timeout_seconds}",
        "InactiveLimit=0",
        "KillWait=2",
        "MinJobAge=3600",
        "Waittime=0",
        "JobRequeue=1",
        "SelectType=select/cons_tres",
        "SelectTypeParameters=CR_Core",
        "SchedulerType=sched/backfill",
        "SchedulerParameters=bf_interval=1,sched_interval=2,sched_min_interval=0,batch_sched_delay=0",
        "PriorityType=priority/basic",
        *_accounting(root, settings, base_port),
        *_epilog(settings),
        *(["GresTypes=gpu"] if settings.gpus else []),
        f"NodeName=DEFAULT CPUs=8 RealMemory=4000{_gres(settings)} State=UNKNOWN",
        f"NodeName=node[1-{settings.nodes}] {_HERE} Port=[{first}-{first + settings.nodes - 1}]",
        "PartitionName=main Nodes=ALL Default=YES MaxTime=INFINITE OverSubscribe=EXCLUSIVE",
        *settings.extra,
    ]
    return "\n".join(lines) + "\n"


def slurmdbd_conf(root: Path, base_port: int, user: str, password: str) -> str:
    """Return slurmdbd.conf; it must be readable by its owner only."""
    return f"""\
AuthType=auth/munge
AuthInfo=socket={root}/munge/munge.sock
DbdHost=localhost
DbdAddr=127.0.0.1
DbdPort={dbd_port(base_port)}
SlurmUser={user}
LogFile={root}/log/slurmdbd.log
PidFile={root}/run/slurmdbd.pid
StorageType=accounting_storage/mysql
StorageHost=127.0.0.1
StoragePort={database_port(base_port)}
StorageUser=slurm
StoragePass={password}
StorageLoc=slurm_acct_db
"""


def my_cnf(root: Path, base_port: int, user: str) -> str:
    """Return the configuration of MariaDB: small, and durable enough for a lab."""
    return f"""\
[mariadbd]
user={user}
datadir={root}/mysql
tmpdir={root}/run
socket={root}/run/mariadb.sock
pid-file={root}/run/mariadb.pid
port={database_port(base_port)}
bind-address=127.0.0.1
log-error={root}/log/mariadb.log
innodb_buffer_pool_size=64M
innodb_log_file_size=16M
innodb_lock_wait_timeout=900
innodb_flush_log_at_trx_commit=0
skip-name-resolve
"""


def database_setup(password: str) -> str:
    """Return the SQL that makes slurmdbd's database and account."""
    return f"""\
CREATE DATABASE IF NOT EXISTS slurm_acct_db;
CREATE OR REPLACE USER slurm@'127.0.0.1' IDENTIFIED BY '{password}';
GRANT ALL ON slurm_acct_db.* TO slurm@'127.0.0.1';
"""


def gres_conf(root: Path, settings: LabSettings) -> str:
    """Return gres.conf: Slurm believes in GPUs that are character devices."""
    return f"Name=gpu File={root}/dev/gpu[0-{settings.gpus - 1}]\n" if settings.gpus else ""


def dbd_port(base_port: int) -> int:
    """Return the port of slurmdbd."""
    return base_port + 1


def database_port(base_port: int) -> int:
    """Return the port of MariaDB."""
    return base_port + 2


def _accounting(root: Path, settings: LabSettings, base_port: int) -> list[str]:
    if not settings.accounting:
        return []
    return [
        "AccountingStorageType=accounting_storage/slurmdbd",
        "AccountingStorageHost=127.0.0.1",
        f"AccountingStoragePort={dbd_port(base_port)}",
        # The way to slurmdbd takes munge's socket from here, not from AuthInfo.
        f"AccountingStoragePass={root}/munge/munge.sock",
        "AccountingStoreFlags=job_comment",
        *(["AccountingStorageTRES=gres/gpu"] if settings.gpus else []),
    ]


def _epilog(settings: LabSettings) -> list[str]:
    program = settings.epilog_slurmctld
    return [] if program is None else [f"EpilogSlurmctld={program}"]


def _gres(settings: LabSettings) -> str:
    return f" Gres=gpu:{settings.gpus}" if settings.gpus else ""
