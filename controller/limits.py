"""What the controller refuses or puts off by itself, whatever the Advice says."""

from __future__ import annotations

from relume.clock import MICROSECONDS_PER_SECOND
from relume.controller.facts import Facts, wish
from relume.errors import counted
from relume.identity import JobKey, read_comment
from relume.settings import ControllerSettings
from relume.slurm.job import SlurmJob, SlurmNode

RETRY_SECONDS = 30
"""Before a command is repeated whose effect doesn't show. Slurm's clients give up after 10 to 20 s:
until then a command that outlived us may still come into force."""
_CLOCK = 5 * MICROSECONDS_PER_SECOND
"""How far the clocks of two processes may seem to differ."""
HOUR = 3600 * MICROSECONDS_PER_SECOND
DAY = 24 * HOUR
ANY_PARTITION = "*"
_SILENT = ("NOT_RESPONDING", "NO_RESPOND")
_OUT_OF_USE = ("DOWN", "DRAIN", "FAIL", "FUTURE", "UNKNOWN", *_SILENT)


def not_ours(job: SlurmJob, settings: ControllerSettings) -> str | None:
    """Say why the job must not be touched at all, null if it may be."""
    opt_in = read_comment(job.comment)
    if not opt_in.opted_in:
        return f"the job did not opt in: {opt_in.reason}"
    if not allowed_partition(job.partition, settings):
        return f"partition {job.partition} is not allowed (controller.partitions)"
    if "+" in job.job_id:
        return "components of heterogeneous jobs are not handled"
    return None


def allowed_partition(partition: str, settings: ControllerSettings) -> bool:
    """Whether each partition of a job (``a,b`` while it waits) is in the list."""
    allowed = set(settings.partitions)
    return ANY_PARTITION in allowed or (bool(partition) and set(partition.split(",")) <= allowed)


def lately(moment: int, now: int) -> bool:
    """Whether a command that was given at `moment` may still come into force.

    One of the future was given before the clock was put back: that it was just now is not known.
    """
    return -_CLOCK <= now - moment < RETRY_SECONDS * MICROSECONDS_PER_SECOND


def throttled(
    attempt: str, key: JobKey, facts: Facts, settings: ControllerSettings, now: int
) -> str | None:
    """Say why this attempt has to wait for its turn, null if it hasn't.

    An attempt that was begun is brought to its end. Times of the future count: a clock that was
    put back opens no gap.
    """
    tried = facts.memory.tried
    if attempt in tried:
        return None
    recent = sum(moment > now - HOUR for moment in tried.values())
    if recent >= settings.max_actions_per_hour:
        return f"{counted(recent, 'attempt')} within an hour (controller.max_actions_per_hour)"
    return worn_out(key, facts, settings, now)


def worn_out(key: JobKey, facts: Facts, settings: ControllerSettings, now: int) -> str | None:
    """Say that the job was let go again too often within a day, null if it wasn't."""
    times = facts.memory.restarts.get(str(key), ())
    recent = sum(moment > now - DAY for moment in times)
    if recent < settings.max_restarts_per_day:
        return None
    return f"{recent} restarts within a day (controller.max_restarts_per_day)"


def refused_exclusion(
    job: SlurmJob, nodes: tuple[str, ...], key: JobKey, facts: Facts, settings: ControllerSettings
) -> str | None:
    """Say why `nodes` must not be excluded for `job`, null if they may be.

    Only nodes that the run used, not more than the cap over all restarts, none that the job itself
    asks for, and enough must be left to place the job.
    """
    used = facts.memory.run_nodes.get(key, frozenset())
    strangers = sorted(set(nodes) - used)
    if strangers:
        return f"the run was never seen on {', '.join(strangers)}"
    ours = set(nodes) | facts.memory.excluded(key)
    if len(ours) > settings.max_excluded_nodes:
        return f"{counted(len(ours), 'excluded node')} (controller.max_excluded_nodes)"
    required = sorted(set(nodes) & set(job.required_nodes))
    if required:
        return f"the job itself asks for {', '.join(required)}"
    excluded = set(nodes) | set(job.exclude_nodes)
    left = [one for one in _usable(facts.nodes, job.partition) if one not in excluded]
    if len(left) < max(1, job.num_nodes or 1):
        return f"only {counted(len(left), 'node')} of {job.partition} would be left"
    return None


def silent_nodes(nodes: tuple[str, ...], facts: Facts) -> list[str]:
    """Return those of `nodes` that don't answer slurmctld: what ran there may still be writing."""
    names = set(nodes)
    return sorted(
        one.node
        for one in facts.nodes
        if one.node in names and (one.state.endswith("*") or _has(one, _SILENT))
    )


def fenced(job: SlurmJob) -> bool:
    """Whether the comment says that a left-over process can't spoil the checkpoint."""
    return wish(job.comment, "fenced_checkpoints")


def _usable(nodes: tuple[SlurmNode, ...], partition: str) -> list[str]:
    wanted = set(partition.split(","))
    in_it = (one for one in nodes if wanted & set(one.partitions))
    return [one.node for one in in_it if not _has(one, _OUT_OF_USE)]


def _has(node: SlurmNode, words: tuple[str, ...]) -> bool:
    return any(word in node.state.upper() for word in words)
