"""The EpilogSlurmctld helper, with this site's paths filled in."""

from __future__ import annotations

import re
import shlex
import shutil
from importlib.resources import files
from pathlib import Path

from relume.errors import ConfigError

NAME = "relume-epilog-slurmctld"
_STANDARD_PATH = "/usr/bin:/bin"


def epilog_script(folder: Path, slurm_conf: str, *, scontrol: str | None = None) -> str:
    """Return the helper's text.

    Parameters
    ----------
    folder
        The controller's folder, as it is called where slurmctld runs.
    slurm_conf
        What `SLURM_CONF` must be there; empty for Slurm's default.
    scontrol
        Path of `scontrol` there; null looks for it on this host.

    Raises
    ------
    ConfigError
        When `scontrol` isn't found.

    Examples
    --------
    >>> text = epilog_script(Path("/srv/relume"), "", scontrol="/opt/slurm/bin/scontrol")
    >>> [line for line in text.splitlines() if line.startswith(("folder=", "PATH="))]
    ['folder=/srv/relume/epilog', 'PATH=/opt/slurm/bin:/usr/bin:/bin']
    """
    found = scontrol or shutil.which("scontrol")
    if found is None:
        raise ConfigError(
            "install-epilog",
            found="no scontrol on PATH",
            hint="run it where slurmctld runs, or name the program with --scontrol",
        )
    text = (files("relume.controller") / "epilog" / NAME).read_text(encoding="utf-8")
    values = {
        "slurm_conf": slurm_conf,
        "folder": str(folder / "epilog"),
        "PATH": f"{Path(found).parent}:{_STANDARD_PATH}",
    }
    for name, value in values.items():
        text = _filled(text, name, value)
    return text


def _filled(text: str, name: str, value: str) -> str:
    """Give a variable its value, on the line that sets it first."""
    line = f"{name}={shlex.quote(value)}".replace("\\", r"\\")
    return re.sub(rf"^{name}=.*$", line, text, count=1, flags=re.MULTILINE)
