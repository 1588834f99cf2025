"""Certificates that openssl makes, each with its key."""

from __future__ import annotations

import shutil
import subprocess
from pathlib import Path

import pytest


def certificate(
    folder: Path, name: str = "cert", *, phrase: str | None = None
) -> tuple[Path, Path]:
    """Make a certificate and its key, which only its owner may read; with a pass phrase or none.

    Skips the test where there is no openssl.
    """
    openssl = shutil.which("openssl")
    if openssl is None:
        pytest.skip("openssl not found (apt-get install openssl)")
    cert, key = folder / f"{name}.pem", folder / f"{name}.key"
    command = [openssl, "req", "-x509", "-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:P-256"]
    command += ["-subj", "/CN=relume", "-days", "100", "-out", str(cert), "-keyout", str(key)]
    command += ["-nodes"] if phrase is None else ["-passout", f"pass:{phrase}"]
    subprocess.run(command, check=True, capture_output=True)
    key.chmod(0o600)
    return cert, key
