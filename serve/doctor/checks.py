"""The checks of one configuration."""

from __future__ import annotations

from functools import partial
from pathlib import Path

from sqlalchemy import make_url

from relume.clock import Clock
from relume.serve.doctor import host, network, records
from relume.serve.doctor.finding import Check
from relume.serve.doctor.slurm import slurm
from relume.serve.ledger.configured import access_of, url_of
from relume.settings import ClusterSettings, ServeSettings, Settings

LAKE = "lake"


def checks_of(
    settings: Settings,
    clock: Clock,
    *,
    token: str | None = None,
    prometheus: str | None = None,
) -> dict[str, Check]:
    """Return what is looked at, by name, in the order in which it is told.

    Parameters
    ----------
    token
        Of role *read*, for a service that wants one; null sends none.
    prometheus
        The address of a Prometheus; null: none is looked at.
    """
    serve, folder = settings.serve, Path(settings.serve.folder)
    name, url = settings.cluster.name, url_of(serve)
    own = "" if name == ClusterSettings().name else name
    ca_file = Path(serve.tls_cert_file) if serve.tls_cert_file else None
    database = make_url(url)
    file = database.database if database.get_backend_name() == "sqlite" else None
    checks: dict[str, Check] = {
        "folder": partial(host.data_folder, folder),
        "disk": partial(host.disk, folder),
        "files": host.open_files,
        "secrets": partial(host.secrets, secret_files(settings)),
        "logs": partial(host.log_roots, serve.log_roots),
        "kernel logs": partial(host.kernel_logs, serve.kernel_logs, clock.now()),
        "ledger": partial(records.ledger, url, access_of(serve), Path(file) if file else None),
        "lake": partial(records.lake, folder / LAKE, clock.now()),
        "service": partial(network.service, address(serve), clock, ca_file=ca_file, token=token),
        "slurm": partial(slurm, own, settings.controller.slurm_conf, clock),
    }
    if ca_file is not None:
        checks["tls"] = partial(host.certificate, ca_file, clock)
    for number, one in enumerate(settings.alerts.alertmanager_urls, 1):
        checks[f"alertmanager {number}"] = partial(network.ready, "alertmanager", one)
    if prometheus is not None:
        checks["prometheus"] = partial(network.ready, "prometheus", prometheus)
    return checks


def secret_files(settings: Settings) -> dict[str, str]:
    """Return the files of secrets that a configuration names, by setting."""
    found = {}
    for section, model in settings:
        for key, value in model:
            is_secret = key.endswith(("token_file", "url_file", "password_file", "key_file"))
            if is_secret and value:
                found[f"{section}.{key}"] = str(value)
    return found


def address(serve: ServeSettings) -> str:
    """Return where this machine reaches its own service.

    Examples
    --------
    >>> address(ServeSettings(listen="0.0.0.0:8470")), address(ServeSettings(listen="[::]:1"))
    ('http://127.0.0.1:8470', 'http://[::1]:1')
    """
    hostname, _, port = serve.listen.rpartition(":")
    here = {"0.0.0.0": "127.0.0.1", "[::]": "[::1]"}.get(hostname, hostname)  # noqa: S104
    return f"{'https' if serve.tls_cert_file else 'http'}://{here}:{port}"
