"""Leases in the database: one controller a cluster, fenced by a number that only grows."""

from __future__ import annotations

from dataclasses import replace

from sqlalchemy import Connection, Row, insert, select, update

from relume.clock import from_seconds, to_iso
from relume.errors import InputError
from relume.serve.ledger.errors import LeaseHeldError, StaleFencingTokenError
from relume.serve.ledger.records import Lease
from relume.serve.ledger.tables import LEASES


def take(connection: Connection, wanted: Lease, now: int) -> Lease:
    """Give or renew `wanted`, whose token doesn't count; return the lease with its token."""
    held = find(connection, wanted.cluster)
    if held is None:
        lease = replace(wanted, fencing_token=1)
        connection.execute(insert(LEASES).values(**_columns(lease)))
        return lease
    renewed = held.holder == wanted.holder
    if not renewed and held.expires_at > now:
        raise LeaseHeldError(
            f"lease of cluster {wanted.cluster} for {wanted.holder}",
            found=f"the lease of {held.holder}, alive until {to_iso(held.expires_at)}",
            expected="no other controller",
            hint="only observe, and try again when it has run out",
        )
    token = held.fencing_token if renewed else held.fencing_token + 1
    lease = replace(wanted, fencing_token=token)
    mine = LEASES.c.cluster == wanted.cluster
    connection.execute(update(LEASES).where(mine).values(**_columns(lease)))
    return lease


def find(connection: Connection, cluster: str) -> Lease | None:
    """Return the newest lease of a cluster, alive or not."""
    row = connection.execute(select(LEASES).where(LEASES.c.cluster == cluster)).one_or_none()
    return None if row is None else _lease(row)


def every(connection: Connection) -> list[Lease]:
    """Return the newest lease of each cluster, by its name."""
    return [_lease(row) for row in connection.execute(select(LEASES).order_by(LEASES.c.cluster))]


def holder(connection: Connection, cluster: str) -> str:
    """Return who has the newest lease of a cluster, alive or not; empty if there never was one."""
    lease = find(connection, cluster)
    return "" if lease is None else lease.holder


def check_fence(connection: Connection, cluster: str, token: int) -> None:
    """Refuse every token but the newest one that was given out."""
    lease = find(connection, cluster)
    newest = 0 if lease is None else lease.fencing_token
    if token != newest:
        raise StaleFencingTokenError(
            f"fencing token of cluster {cluster}",
            found=str(token),
            expected=f"{newest}, the newest" if newest else "a lease of that cluster",
            hint="another controller has taken over: stop acting, and ask for the lease again",
        )


def wanted(cluster: str, holder: str, ttl_seconds: float, now: int) -> Lease:
    """Return the lease that a controller asks for, still without a token."""
    if not cluster or not holder or not ttl_seconds > 0:
        raise InputError(
            "lease",
            found=f"cluster {cluster!r}, holder {holder!r}, ttl {ttl_seconds} s",
            expected="names, and a time to live above 0",
        )
    return Lease(cluster, holder, 0, now + from_seconds(ttl_seconds), now)


def _lease(row: Row[str, str, int, int, int | None]) -> Lease:
    return Lease(row.cluster, row.holder, row.fencing_token, row.expires_at, row.seen_at)


def _columns(lease: Lease) -> dict[str, str | int | None]:
    return {
        "cluster": lease.cluster,
        "holder": lease.holder,
        "fencing_token": lease.fencing_token,
        "expires_at": lease.expires_at,
        "seen_at": lease.seen_at,
    }
