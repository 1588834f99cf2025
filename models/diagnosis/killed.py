"""`Killed` proves nothing: a process that was killed by signal 9 needs a witness for its cause.

The kernel's OOM killer, a cgroup's limit, Slurm (`--kill-on-bad-exit`, a time limit) and a person
all send the same signal (signature reference, fact 8).
"""

from __future__ import annotations

from relume.models.diagnosis.episode import Episode
from relume.models.signatures.hit import Hit
from relume.models.signatures.rule import Role
from relume.verdict import Domain

KILLED_CAUSE = "killed_unexplained"
MEMORY_CAUSE = "host_out_of_memory"
_CODES = frozenset({"-9", "137", "9"})
_WORDS = frozenset({"9", "-9", "SIGKILL", "KILL", "Killed"})


def is_kill(hit: Hit) -> bool:
    """Whether a line tells of a death by signal 9, and nothing of who sent it."""
    captures = hit.captures
    if hit.signature.cause in {KILLED_CAUSE, "process_killed"}:
        return captures.get("exit_code") not in {"130", "143"}
    return captures.get("exit_code") in _CODES or captures.get("signal") in _WORDS


def witness_of(episode: Episode, kill: Hit) -> Hit | None:
    """Return the line that says who killed it: the kernel, a limit of memory, Slurm or a person."""
    told = [h for h in episode.all_hits() if h is not kill and _is_witness(h)]
    return min(told, key=episode.position, default=None)


def _is_witness(hit: Hit) -> bool:
    signature = hit.signature
    if signature.cause == MEMORY_CAUSE:
        return signature.role in {Role.CONFIRMATION, Role.ROOT} and signature.category != "python"
    return signature.domain is Domain.SCHEDULER and signature.category == "slurm"
