"""How the configuration lets people and programs in: tokens, names, TLS, and what is refused."""

from __future__ import annotations

import logging
import os
import secrets
import ssl
from pathlib import Path

from relume.clock import Clock
from relume.errors import ConfigError
from relume.files import require_private
from relume.serve.api import Access, Role, is_local, read_tokens
from relume.serve.doctor.finding import Status
from relume.serve.doctor.host import certificate
from relume.settings import ServeSettings

log = logging.getLogger(__name__)
MADE = {Role.CONTROL: "control.token", Role.INGEST: "ingest.token"}
"""Token files that are made in the data folder where the site names none."""


def require_entrance(serve: ServeSettings) -> None:
    """Refuse to be reached from elsewhere without tokens, and half of what TLS needs.

    Raises
    ------
    ConfigError
        For these.
    """
    if bool(serve.tls_cert_file) is not bool(serve.tls_key_file):
        raise ConfigError(
            "serve.tls_cert_file and serve.tls_key_file",
            found="one without the other",
            expected="both, or none",
        )
    _require_key(serve)
    if _is_loopback(serve.listen):
        return
    if not serve.control_token_file:
        raise ConfigError(
            f"serve.listen {serve.listen!r}",
            found="an address that others reach, and no serve.control_token_file",
            expected="a token file of your own, or 127.0.0.1",
            hint="make a token with: relume config token",
        )
    if not serve.read_token_file and not serve.allow_open_reads:
        raise ConfigError(
            f"serve.listen {serve.listen!r}",
            found="an address that others reach, and no serve.read_token_file",
            expected="a token file for those who may read",
            hint="make one with: relume config token; or let everybody read: --allow-open-reads",
        )
    if not serve.tls_cert_file:
        log.warning("no TLS on %s: tokens travel as they are; see --tls-cert", serve.listen)


def note_certificate(serve: ServeSettings, clock: Clock) -> None:
    """Warn of a certificate that is not valid (any more): the service starts, clients refuse it."""
    if not serve.tls_cert_file:
        return
    for found in certificate(Path(serve.tls_cert_file), clock):
        if found.status in {Status.FAILING, Status.WARNING}:
            log.warning("%s: %s", found.words, found.fix)


def access_of(serve: ServeSettings, folder: Path) -> Access:
    """Return who is let in; token files that the site names none of are made, once.

    Raises
    ------
    ConfigError
        For a token file that can't be used.
    """
    files = {role: _token_file(serve, folder, role) for role in Role}
    return Access(
        tokens=read_tokens({role: file for role, file in files.items() if file is not None}),
        open_reads=not serve.read_token_file,
        host_names=_host_names(serve),
        secure=bool(serve.tls_cert_file),
    )


def _host_names(serve: ServeSettings) -> frozenset[str] | None:
    """Return other names than those of the machine itself; any for who listens elsewhere."""
    if _is_loopback(serve.listen):
        return frozenset(name.lower() for name in serve.host_names)
    return None


def _token_file(serve: ServeSettings, folder: Path, role: Role) -> Path | None:
    named: str = getattr(serve, f"{role}_token_file")
    if named:
        return Path(named)
    if role not in MADE:
        return None
    path = folder / MADE[role]
    if not path.exists():
        new = path.with_name(f"{path.name}.new")
        new.unlink(missing_ok=True)
        with os.fdopen(os.open(new, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600), "w") as file:
            file.write(secrets.token_hex(32) + "\n")
        new.rename(path)
        log.info("made a token of role %s: %s", role, path)
    return path


def _require_key(serve: ServeSettings) -> None:
    for name in ("tls_cert_file", "tls_key_file"):
        path = getattr(serve, name)
        if path and not os.access(path, os.R_OK):
            raise ConfigError(f"serve.{name} {path}", found="no file that can be read")
    if serve.tls_key_file:
        require_private(Path(serve.tls_key_file), "serve.tls_key_file")
        _require_pair(serve)


def _require_pair(serve: ServeSettings) -> None:
    """Load both as the server will: it would ask a terminal for a pass phrase, or die of a key."""

    def refuse_to_ask() -> str:
        raise _bad_pair(
            serve, "a key with a pass phrase", "openssl pkey -in KEY -out NEW takes it off"
        )

    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    try:
        context.load_cert_chain(serve.tls_cert_file, serve.tls_key_file, refuse_to_ask)
    except ssl.SSLError as error:
        words = error.reason or str(error)
        if words == "KEY_VALUES_MISMATCH":
            raise _bad_pair(serve, "the key of another certificate") from error
        raise _bad_pair(serve, words.replace("_", " ").lower()) from error


def _bad_pair(serve: ServeSettings, found: str, hint: str | None = None) -> ConfigError:
    return ConfigError(
        f"serve.tls_cert_file {serve.tls_cert_file} and serve.tls_key_file {serve.tls_key_file}",
        found=found,
        expected="a certificate in PEM, the server's own first, and its key without a pass phrase",
        hint=hint,
    )


def _is_loopback(address: str) -> bool:
    return is_local(address.rpartition(":")[0].strip("[]"))
