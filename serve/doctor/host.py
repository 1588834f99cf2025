"""What a service needs of this machine: folders, disk, secrets, certificates, limits."""

from __future__ import annotations

import glob
import os
import resource
import shutil
import subprocess
from collections.abc import Iterator, Mapping
from datetime import UTC, datetime
from pathlib import Path

from relume.clock import MICROSECONDS_PER_SECOND, Clock, from_datetime
from relume.errors import ConfigError, counted
from relume.files import require_private
from relume.filesystems import require_local
from relume.serve.doctor.finding import Finding, failing, ok, unknown, warning
from relume.serve.live.kernel import NODE

GIB = 1 << 30
LEAST_FREE_BYTES, FEW_FREE_BYTES = 1 * GIB, 10 * GIB
LEAST_FREE_SHARE = 0.02
FEW_INODES = 100_000
MANY_FILES = 16_384
"""Open files that a service of a large cluster may need."""
DAY = 86_400
LEAST_CERTIFICATE_DAYS, FEW_CERTIFICATE_DAYS = 0, 21
_OTHERS = 0o007
_OPENSSL_SECONDS = 10.0


def data_folder(folder: Path) -> Iterator[Finding]:
    """Look at who may use the data folder, and on what it lies."""
    if not folder.is_dir():
        fix = f"start relume serve, which makes it, or: mkdir -p {folder}"
        yield failing("folder", f"{folder} is no folder", fix)
        return
    if not os.access(folder, os.R_OK | os.W_OK | os.X_OK):
        fix = f"run this as the user of the service, or: chown that user {folder}"
        yield failing("folder", f"{folder} can't be read and written by us", fix)
    elif folder.stat().st_mode & _OTHERS:
        fix = f"chmod o= {folder}"
        yield warning("folder", f"{folder}: everybody on the machine may look into it", fix)
    else:
        yield ok("folder", f"{folder} is ours alone")
    try:
        require_local(folder, "data folder")
    except ConfigError as error:
        yield failing("folder", f"{error.what}: {error.found}", "set serve.folder to a local disk")


def disk(folder: Path) -> Iterator[Finding]:
    """Look at how much is free where the data folder is, or will be."""
    there = next(one for one in (folder, *folder.parents) if one.exists())
    usage = shutil.disk_usage(there)
    words = f"{usage.free / GIB:.1f} GiB of {usage.total / GIB:.1f} GiB free at {there}"
    fix = "make room, or let old telemetry go: relume lake prune (with lake.keep_days)"
    if usage.free < LEAST_FREE_BYTES or usage.free < LEAST_FREE_SHARE * usage.total:
        yield failing("disk", words, fix)
    elif usage.free < FEW_FREE_BYTES:
        yield warning("disk", words, fix)
    else:
        yield ok("disk", words)
    inodes = os.statvfs(there)
    if inodes.f_files and inodes.f_favail < FEW_INODES:
        few = f"{inodes.f_favail} inodes free at {there}"
        yield (failing if inodes.f_favail == 0 else warning)("disk", few, fix)


def log_roots(roots: tuple[str, ...]) -> Iterator[Finding]:
    """Look whether folders of jobs' logs can be read."""
    if not roots:
        yield ok("logs", "no file of a job is read: serve.log_roots names no folder")
    for root in map(Path, roots):
        if not root.is_dir():
            fix = "mount it here, or take it out of serve.log_roots"
            yield failing("logs", f"{root} is no folder", fix)
        elif not os.access(root, os.R_OK | os.X_OK):
            fix = "run the service as a user who may read the logs of jobs"
            yield failing("logs", f"{root} can't be read by us", fix)
        else:
            with os.scandir(root) as entries:  # a mount that is gone fails here
                next(entries, None)
            yield ok("logs", f"{root} can be read")


def kernel_logs(patterns: tuple[str, ...], now: int) -> Iterator[Finding]:
    """Look whether there are kernel logs, of how many nodes, and how old the newest is."""
    if not patterns:
        words = "serve.kernel_logs names none: no node is excluded for what only its kernel saw"
        yield warning(
            "kernel logs", words, f"set it to a path such as /var/log/hosts/{NODE}/kern.log"
        )
    for pattern in patterns:
        found = glob.glob("*".join(map(glob.escape, pattern.split(NODE))))  # noqa: PTH207 - any root
        times = [os.stat(file).st_mtime for file in found if os.access(file, os.R_OK)]  # noqa: PTH116
        if not times:
            fix = "look at the path, and whether we may read what is there"
            yield failing("kernel logs", f"{pattern}: no file that can be read", fix)
            continue
        age = now / MICROSECONDS_PER_SECOND - max(times)
        words = (
            f"{pattern}: {counted(len(times), 'node')}, the newest line {max(age, 0.0):.0f} s old"
        )
        fix = "does the log server still get them?"
        yield warning("kernel logs", words, fix) if age > DAY else ok("kernel logs", words)


def secrets(files: Mapping[str, str]) -> Iterator[Finding]:
    """Look whether files of secrets (by setting) can be read by us, and not by everybody."""
    for setting, name in files.items():
        file = Path(name)
        try:
            require_private(file, setting)
        except ConfigError as error:
            yield failing("secrets", f"{error.what}: {error.found}", error.hint or "chmod 600")
        except OSError as error:
            fix = "make it, or take the setting out"
            yield failing("secrets", f"{setting} {file}: {error.strerror}", fix)
        else:
            if os.access(file, os.R_OK):
                yield ok("secrets", f"{setting} {file} is readable by us, not by everybody")
            else:
                fix = f"chown it to the user of the service, or run this as that user: {file}"
                yield failing("secrets", f"{setting} {file} can't be read by us", fix)


def certificate(file: Path, clock: Clock) -> Iterator[Finding]:
    """Look how long a certificate lasts, by the command `openssl`."""
    command = shutil.which("openssl")
    if command is None:
        yield unknown("tls", f"{file}: no command openssl to look with", "install openssl")
        return
    done = subprocess.run(
        [command, "x509", "-noout", "-startdate", "-enddate", "-in", str(file)],
        capture_output=True,
        text=True,
        check=False,
        timeout=_OPENSSL_SECONDS,
    )
    dates = dict(line.partition("=")[::2] for line in done.stdout.splitlines())
    if done.returncode or len(dates) != 2:  # noqa: PLR2004 - the two that were asked for
        yield failing("tls", f"{file} is no certificate in PEM", "look at serve.tls_cert_file")
        return
    begin, end = (_openssl_time(dates[name]) for name in ("notBefore", "notAfter"))
    now = clock.now()
    days = (end - now) / MICROSECONDS_PER_SECOND / DAY
    words = f"{file} is valid until {dates['notAfter']}"
    fix = "renew it, then restart the service, which reads it at its start"
    if days <= LEAST_CERTIFICATE_DAYS or now < begin:
        yield failing("tls", f"{words}, and from {dates['notBefore']}", fix)
    elif days < FEW_CERTIFICATE_DAYS:
        yield warning("tls", f"{words}: {counted(round(days), 'day')}", fix)
    else:
        yield ok("tls", words)


def _openssl_time(text: str) -> int:
    moment = datetime.strptime(text, "%b %d %H:%M:%S %Y GMT").replace(tzinfo=UTC)
    return from_datetime(moment)


def open_files() -> Iterator[Finding]:
    """Look how many files a process like this may open."""
    _, most = resource.getrlimit(resource.RLIMIT_NOFILE)
    number = "any number of files" if most < 0 else counted(most, "file")
    words = f"{number} may be open at once"
    if 0 <= most < MANY_FILES:
        fix = "raise it for the service: LimitNOFILE=65536 in its systemd unit"
        yield warning("files", words, fix)
    else:
        yield ok("files", words)
