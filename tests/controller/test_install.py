"""The helper as it is installed: this site's paths in it, quoted."""

from __future__ import annotations

import os
import subprocess
from pathlib import Path

import pytest

from relume.controller.install import NAME, epilog_script
from relume.errors import ConfigError


def assignments(text: str) -> dict[str, str]:
    """Return what the three lines say, by the shell's own word."""
    names = ("slurm_conf", "folder", "PATH")
    lines = [next(one for one in text.splitlines() if one.startswith(f"{n}=")) for n in names]
    script = "\n".join([*lines, 'printf "%s\\0" "$slurm_conf" "$folder" "$PATH"'])
    done = subprocess.run(["/bin/sh", "-c", script], check=True, capture_output=True, text=True)
    return dict(zip(names, done.stdout.split("\0")[:3], strict=True))


@pytest.mark.parametrize(
    "conf", ["", "/etc/slurm/slurm.conf", "/a b/$x`y`'\"\\1\\g<0>.conf", "/ü/slurm.conf"]
)
def test_paths_are_filled_in_as_they_are(conf: str) -> None:
    text = epilog_script(Path("/srv/it's here"), conf, scontrol="/opt/slurm 1/bin/scontrol")
    assert assignments(text) == {
        "slurm_conf": conf,
        "folder": "/srv/it's here/epilog",
        "PATH": "/opt/slurm 1/bin:/usr/bin:/bin",
    }


def test_only_the_three_lines_change() -> None:
    before = epilog_script(Path("/a"), "/b", scontrol="/c/scontrol").splitlines()
    after = epilog_script(Path("/x"), "/y", scontrol="/z/scontrol").splitlines()
    changed = [new for old, new in zip(before, after, strict=True) if old != new]
    assert changed == ["slurm_conf=/y", "folder=/x/epilog", "PATH=/z:/usr/bin:/bin"]


def test_scontrol_is_looked_for(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("PATH", str(tmp_path))
    with pytest.raises(ConfigError, match="--scontrol"):
        epilog_script(Path("/a"), "")
    (tmp_path / "scontrol").touch(mode=0o755)
    assert assignments(epilog_script(Path("/a"), ""))["PATH"].startswith(f"{tmp_path}:")


def test_the_file_is_an_executable_of_plain_sh(repository: Path) -> None:
    path = repository / "controller/epilog" / NAME
    assert path.read_text().startswith("#!/bin/sh\n")
    assert os.access(path, os.X_OK)
    subprocess.run(["/bin/sh", "-n", path], check=True)
