"""Slurm as the controller will need it: commands, release, slurmctld, its settings, its clock."""

from __future__ import annotations

import os
import re
import shutil
import subprocess
from collections.abc import Iterator, Mapping
from datetime import UTC, datetime

from relume.clock import Clock
from relume.errors import UnreachableError
from relume.serve.doctor.finding import Finding, failing, ok, unknown, unreachable, warning
from relume.serve.doctor.network import skew
from relume.slurm.scontrol import PING, SHOW_CONFIG, is_up, parse_config

COMMANDS = ("squeue", "scontrol", "sacct", "scancel")
TIMEOUT_SECONDS = 12.0
"""Above Slurm's own patience with a slurmctld that is away (MessageTimeout, 10 s by default)."""
TESTED = (22, 5)
"""The oldest release that the parsers were tried on."""
LEAST_MIN_JOB_AGE = 60
MAX_SHOWN = 200
_VERSION = re.compile(r"(\d+)\.(\d+)")
_AS_OF = re.compile(r"Configuration data as of (\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d)")


def slurm(cluster: str, slurm_conf: str, clock: Clock) -> Iterator[Finding]:
    """Look at the Slurm of this machine; `cluster` is the configured name, empty for any."""
    missing = [name for name in COMMANDS if shutil.which(name) is None]
    if missing:
        fix = "run this where relume control runs, too; relume serve alone needs none of them"
        yield unknown("slurm", f"no command {', '.join(missing)} here", fix)
        return
    environment = {**os.environ, "TZ": "UTC", "SLURM_TIME_FORMAT": "standard"}
    if slurm_conf:
        environment["SLURM_CONF"] = slurm_conf
    pinged = _run(PING, environment)
    if not is_up(pinged):
        fix = "start slurmctld, or set controller.slurm_conf to the right file"
        said = " ".join(pinged.split())[:MAX_SHOWN]
        yield unreachable("slurm", f"slurmctld doesn't answer: {said}", fix)
        return
    yield ok("slurm", "slurmctld answers")
    asked = clock.now()
    config = _run(SHOW_CONFIG, environment)
    answered = clock.now()
    as_of = _AS_OF.search(config)
    if as_of is not None:
        theirs = datetime.fromisoformat(as_of[1]).replace(tzinfo=UTC)
        yield skew("clock", "slurmctld", theirs, (asked, answered))
    yield from settings(parse_config(config), cluster)


def _version(text: str) -> Iterator[Finding]:
    found = _VERSION.match(text)
    if found is None:
        yield unknown("slurm", f"its release can't be read: {text[:MAX_SHOWN]!r}")
    elif (int(found[1]), int(found[2])) < TESTED:
        fix = "upgrade Slurm, or try it in mode observe first"
        yield warning("slurm", f"release {found[1]}.{found[2]}, older than any that was tried", fix)
    else:
        yield ok("slurm", f"release {found[1]}.{found[2]}")


def settings(config: Mapping[str, str], cluster: str) -> Iterator[Finding]:
    """Look at what `scontrol show config` says, by name, that decides what can be done."""
    yield from _version(config.get("SLURM_VERSION", ""))
    name = config.get("ClusterName", "")
    if cluster and name != cluster:
        fix = f'set cluster.name = "{name}", or cluster.name of another file'
        yield failing("slurm", f"ClusterName is {name!r}, the configured one {cluster!r}", fix)
    age = re.match(r"\d+", config.get("MinJobAge", ""))
    if age is not None and int(age[0]) < LEAST_MIN_JOB_AGE:
        fix = f"MinJobAge={5 * LEAST_MIN_JOB_AGE} in slurm.conf"
        yield warning("slurm", f"MinJobAge is {age[0]} s: ended jobs are forgotten before", fix)
    if "job_comment" not in config.get("AccountingStoreFlags", ""):
        fix = "AccountingStoreFlags=job_comment in slurm.conf"
        yield warning("slurm", "accounting keeps no comments: sacct can't tell runs by name", fix)
    if "accounting_storage/none" in config.get("AccountingStorageType", "accounting_storage/none"):
        fix = "set up slurmdbd; live watching works without"
        yield warning("slurm", "no accounting: sacct tells nothing of what is over", fix)


def _run(argv: tuple[str, ...], environment: Mapping[str, str]) -> str:
    """Return what a command prints, on both of its outputs.

    Raises
    ------
    UnreachableError
        When it doesn't end in time.
    """
    try:
        done = subprocess.run(
            argv,
            env=dict(environment),
            capture_output=True,
            timeout=TIMEOUT_SECONDS,
            check=False,
        )
    except subprocess.TimeoutExpired as error:
        raise UnreachableError(
            " ".join(argv),
            found=f"no end within {TIMEOUT_SECONDS:.0f} s",
            expected="an answer of slurmctld",
            hint="start slurmctld, or set controller.slurm_conf to the right file",
        ) from error
    return (done.stdout + done.stderr).decode("utf-8", "replace")
