"""Runs checks side by side, each with a time of its own: a stale mount must not stop the others."""

from __future__ import annotations

import threading
from collections.abc import Iterable, Mapping
from time import monotonic

from relume.errors import RelumeError, UnreachableError
from relume.serve.doctor.finding import (
    Check,
    Finding,
    Status,
    failing,
    unknown,
    unreachable,
)

PATIENCE_SECONDS = 15.0
"""For each check; all of them begin at once."""
EXIT_FINE, EXIT_FINDING, EXIT_UNREACHABLE = 0, 1, 3


def run_checks(
    checks: Mapping[str, Check], patience_seconds: float = PATIENCE_SECONDS
) -> list[Finding]:
    """Run checks and return what they found, in their order.

    One that takes too long is *unknown*, one that breaks as well; none is waited for twice.
    """
    found: dict[str, list[Finding]] = {}
    threads = {name: _start(name, check, found) for name, check in checks.items()}
    deadline = monotonic() + patience_seconds
    findings: list[Finding] = []
    for name, thread in threads.items():
        thread.join(max(0.0, deadline - monotonic()))
        late = unknown(name, f"it took more than {patience_seconds:.0f} s", "is a mount stale?")
        findings += found.get(name, [late])
    return findings


def exit_code(findings: Iterable[Finding]) -> int:
    """Return 3 when something doesn't answer, 1 when something else fails, else 0."""
    bad = [one for one in findings if one.status is Status.FAILING]
    if any(one.is_unreachable for one in bad):
        return EXIT_UNREACHABLE
    return EXIT_FINDING if bad else EXIT_FINE


def _start(name: str, check: Check, found: dict[str, list[Finding]]) -> threading.Thread:
    def work() -> None:
        try:
            found[name] = list(check())
        except UnreachableError as error:
            found[name] = [unreachable(name, _said(error), error.hint or "see docs/doctor.md")]
        except RelumeError as error:
            found[name] = [failing(name, _said(error), error.hint or "see docs/configuration.md")]
        except Exception as error:  # noqa: BLE001 - a defect of one check is not the end
            found[name] = [unknown(name, f"{type(error).__name__}: {error}")]

    # A daemon: a thread that hangs in the kernel can't be ended, and must not keep the command.
    thread = threading.Thread(target=work, name=f"doctor {name}", daemon=True)
    thread.start()
    return thread


def _said(error: RelumeError) -> str:
    expected = None if error.expected is None else f"expected {error.expected}"
    return "; ".join(filter(None, (error.what, error.found, expected)))
