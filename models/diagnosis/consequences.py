"""What follows from what: lines that an earlier line explains are no first causes."""

from __future__ import annotations

import re
from collections.abc import Callable

from relume.models.diagnosis.episode import Episode, number_of
from relume.models.diagnosis.reported import reports_device, reports_link, reports_stall
from relume.models.signatures.hit import Hit
from relume.models.signatures.rule import Role, Tier
from relume.reasons import ReasonCode
from relume.slurm.paths import is_job_output
from relume.verdict import JOB_STREAMS, Domain, Kind

GENERIC_SPECIFICITY = 20
"""Rules at or below this say only 'some exception', 'some fatal line'."""
WEAK_HARDWARE_SPECIFICITY = 49
"""Device errors below the normal 50 also follow an application fault (Xid 109 after 13)."""
CLOCK_SLACK_MICROSECONDS = 1_000_000
"""Clocks of one file this close do not prove an order."""

FATAL_SIGNALS = frozenset({"4", "7", "8", "9", "11"})
"""SIGILL, SIGBUS, SIGFPE, SIGKILL, SIGSEGV. Aborts (6) and terminations (15) end victims too."""
FATAL_EXIT_CODES = frozenset(
    code for number in FATAL_SIGNALS for code in (f"-{number}", str(128 + int(number)))
)
COLLECTIVE_CATEGORIES = frozenset({"torch_nccl", "nccl", "rendezvous"})
"""Families whose time-outs are those of collectives: a storage stall aborts nothing by itself."""
PEER_CATEGORIES = COLLECTIVE_CATEGORIES | {"container", "launcher"}
"""Families of lines about other processes of the job, and not about a server of files, say."""
SYSTEM_CATEGORIES = frozenset({"slurm", "gpu_driver", "host", "telemetry"})
"""Families whose lines the kernel, Slurm or a monitor prints, never a rank."""
KERNEL_CATEGORIES = frozenset({"gpu_driver", "host"})
"""Families whose lines the kernel prints."""
_KERNEL_PREFIX = re.compile(
    r"\bkernel:|\[ *\d+\.\d+\]|^<\d+>|\[\w{3} \w{3} +\d+ [\d:]{8} \d{4}\]|^kern +:|;$"
)
"""What stands before a line that was read from a kernel: its tag, its clock or its priority."""
_SLURM_TAG = re.compile(r"\b(?:srun|salloc|sbatch|slurmstepd|slurmd|slurmctld)(?:\[\d+\])?: ")
"""How messages of Slurm begin; within a message they are somebody's quotation."""
_SLURM_BEFORE = re.compile(r"\W{0,20}|[\w.-]{1,80}: |[A-Z][a-z]{2} +\d+ [\d:]{8} \S{1,80} ")
"""What may stand there: quotes, a host, a date and a host."""
_KERNEL_TAG = re.compile(
    r"NVRM: |SXid|\bkernel: |mlx\d_core |EDAC |rcu: |watchdog: |INFO: task |Kernel panic|oom-kill:"
    r"|Out of memory: |pcieport |EXT4-fs |XFS \(|blk_update_request"
)
"""How its messages begin; within a message they are somebody's quotation."""
ANCHORS = frozenset({Role.ROOT, Role.CONFIRMATION, Role.CASCADE, Role.POINTER})
"""Roles of lines that tell of a failure."""
CAUSES = frozenset({Role.ROOT, Role.CONFIRMATION})
"""Roles of lines that can be a first cause."""


def is_generic(hit: Hit) -> bool:
    """Whether the rule says no more than that something failed."""
    return hit.signature.specificity <= GENERIC_SPECIFICITY


_OF_THE_STEP = re.compile(r"\W{0,8}(?:srun|slurmstepd|sbatch|salloc|mpirun)\b")
"""Who of Slurm writes into the output of a job."""


def precedes(episode: Episode, first: Hit, second: Hit) -> bool:
    """Whether `first` is known to come before `second`.

    Inside one file the reading order decides unless both clocks contradict it; between files only
    the clocks can.
    """
    times = (episode.time(first), episode.time(second))
    if first.line.file == second.line.file:
        if None not in times and abs(times[0] - times[1]) > CLOCK_SLACK_MICROSECONDS:  # type: ignore[operator]
            return times[0] < times[1]  # type: ignore[operator]
        return episode.position(first) < episode.position(second)
    return None not in times and times[0] + CLOCK_SLACK_MICROSECONDS < times[1]  # type: ignore[operator]


def died_by_signal(hit: Hit) -> bool:
    """Whether a pointer tells of a death by a signal that victims of a teardown don't die by."""
    if hit.signature.tier is not Tier.POINTER:
        return False
    code, signal = hit.captures.get("exit_code", ""), hit.captures.get("signal", "")
    return code in FATAL_EXIT_CODES or signal.removeprefix("-") in FATAL_SIGNALS


def is_forgeable(hit: Hit) -> bool:
    """Whether a process of the job printed a line that is the kernel's or Slurm's to print."""
    category = hit.signature.category
    if is_quoted(hit) or (_printed_by_rank(hit) and category in SYSTEM_CATEGORIES):
        return True
    if category not in SYSTEM_CATEGORIES or not is_job_output(hit.line.file):
        return False
    return category != "slurm" or not _OF_THE_STEP.match(hit.line.message)


def is_system_log(hit: Hit) -> bool:
    """Whether the line stands in a log of the kernel or of a controller."""
    return hit.line.stream not in JOB_STREAMS


def is_undated(hit: Hit) -> bool:
    """Whether a system's log doesn't tell when this was: perhaps another day, under another job."""
    return is_system_log(hit) and hit.line.event_time is None


def is_quoted(hit: Hit) -> bool:
    """Whether a process of the job repeats what a kernel or Slurm says, as monitors do.

    A kernel's own line, in a log that was put together from several, has the kernel's tag or clock
    before it, or nothing but a date.
    """
    line, prefix = hit.line, hit.line.text[: hit.line.message_start].strip()
    if line.stream not in JOB_STREAMS:
        return False
    if hit.signature.category == "slurm":
        tag = _SLURM_TAG.search(line.message)
        return tag is not None and not _SLURM_BEFORE.fullmatch(line.message, 0, tag.start())
    if hit.signature.category not in KERNEL_CATEGORIES:
        return hit.signature.tier is Tier.HARDWARE and line.message.startswith("NCCL INFO")
    if _printed_by_rank(hit):
        return True
    if not prefix or _KERNEL_PREFIX.search(prefix):
        return False
    tag = _KERNEL_TAG.search(line.message)
    return line.node is not None or (tag is not None and tag.start() > 0)


def _printed_by_rank(hit: Hit) -> bool:
    line = hit.line
    return not (line.rank is None and line.local_rank is None and line.task is None)


def follows(episode: Episode, hit: Hit, earlier: Hit) -> bool:
    """Whether `hit` is known to come after `earlier` *and* can be its effect.

    One rank's lines keep their order; lines of different ranks are merged into one file in any
    order, so between two known ranks only clocks count.
    """
    ranks = (number_of(hit.line), number_of(earlier.line))
    if None in ranks or ranks[0] == ranks[1]:
        return precedes(episode, earlier, hit)
    before, after = episode.time(earlier), episode.time(hit)
    return None not in (before, after) and before + CLOCK_SLACK_MICROSECONDS < after  # type: ignore[operator]


def _generic_after_known(episode: Episode, hit: Hit, earlier: Hit) -> bool:
    """An unspecific exception after a known failure is how that failure surfaced."""
    return (
        is_generic(hit)
        and hit.signature.tier is Tier.EXCEPTION
        and not is_generic(earlier)
        and earlier.signature.tier in {Tier.FABRIC, Tier.TIMEOUT, Tier.EXCEPTION}
        and not _of_another_victim(hit, earlier)
        and follows(episode, hit, earlier)
    )


def _of_another_victim(hit: Hit, earlier: Hit) -> bool:
    """Whether another rank's words of a victim would explain the exception: they explain nothing.

    Whoever waits for a process that raised an exception may print before it, by its clock.
    """
    ranks = (number_of(hit.line), number_of(earlier.line))
    return None not in ranks and ranks[0] != ranks[1] and earlier.signature.role is Role.CASCADE


def _exception_after_timeout(episode: Episode, hit: Hit, earlier: Hit) -> bool:
    """After a collective timed out the abort itself raises exceptions on every rank."""
    return (
        hit.signature.tier in {Tier.EXCEPTION, Tier.FABRIC}
        and earlier.signature.tier is Tier.TIMEOUT
        and earlier.signature.role is Role.ROOT
        and earlier.signature.category in COLLECTIVE_CATEGORIES
        and _waited(episode, hit)
        and follows(episode, hit, earlier)
    )


def _waited(episode: Episode, hit: Hit) -> bool:
    """Whether the rank of a line timed out itself, or nobody knows: who died did not wait."""
    number = number_of(hit.line)
    if number is None:
        return True
    return any(
        group.first[0].signature.tier is Tier.TIMEOUT and group.is_printed_by(number)
        for group in episode.hits.values()
    )


def _timeout_after_death(episode: Episode, hit: Hit, earlier: Hit) -> bool:
    """After a process has died, those that wait for it time out."""
    is_death = died_by_signal(earlier) or (
        earlier.signature.tier is Tier.POINTER and earlier.signature.role is Role.ROOT
    )
    return (
        hit.signature.tier is Tier.TIMEOUT
        and hit.signature.kind is Kind.HANG
        and is_death
        and not _same_process(episode, hit, earlier)
        and precedes(episode, earlier, hit)
    )


def _same_process(episode: Episode, hit: Hit, death: Hit) -> bool:
    """Whether a line was printed by the very process whose death is told: it was before."""
    ranks, line = episode.ranks, hit.line
    number = death.captures.get("rank") or death.captures.get("task", "")
    if not number.isdigit():
        return False
    if "rank" in death.captures or ranks.tasks_are_ranks is not False:
        return int(number) in {line.rank, number_of(line)}
    return line.task == int(number)


def _limit_after_failure(episode: Episode, hit: Hit, earlier: Hit) -> bool:
    """A job that had already failed or stood still then ran into its limit or was cancelled."""
    told_why = earlier.signature.role in CAUSES
    told_where = earlier.signature.role is Role.POINTER and is_generic(hit)
    return (
        hit.signature.domain is Domain.SCHEDULER
        and hit.signature.tier is Tier.EXCEPTION
        and (told_why or told_where)
        and earlier.signature.domain is not Domain.SCHEDULER
        and precedes(episode, earlier, hit)
    )


def _after_scheduler_end(episode: Episode, hit: Hit, earlier: Hit) -> bool:
    """What processes print while the scheduler ends them is teardown."""
    return (
        earlier.signature.domain is Domain.SCHEDULER
        and earlier.signature.role is Role.ROOT
        and earlier.signature.tier is Tier.EXCEPTION
        and not is_generic(earlier)
        and hit.signature.tier in {Tier.EXCEPTION, Tier.FABRIC, Tier.TIMEOUT}
        and hit.signature.domain is not Domain.SCHEDULER
        and precedes(episode, earlier, hit)
    )


def _device_after_application(episode: Episode, hit: Hit, earlier: Hit) -> bool:
    """A context-switch time-out on the GPU that just had an application fault follows from it."""
    return (
        hit.signature.tier is Tier.HARDWARE
        and hit.signature.specificity <= WEAK_HARDWARE_SPECIFICITY
        and earlier.signature.category == hit.signature.category
        and earlier.signature.tier is Tier.EXCEPTION
        and earlier.captures.get("gpu") == hit.captures.get("gpu")
        and precedes(episode, earlier, hit)
    )


def _told_to_stop(_: Episode, hit: Hit, earlier: Hit) -> bool:
    """A launcher that was told to stop doesn't say by whom: Slurm's line does."""
    return (
        hit.signature.cause == "terminated_from_outside"
        and earlier.signature.category == "slurm"
        and earlier.signature.domain is Domain.SCHEDULER
        and earlier.signature.id != hit.signature.id
        and hit.signature.category != "slurm"
        and hit.line.file == earlier.line.file
    )


_Consequence = Callable[[Episode, Hit, Hit], bool]
CONSEQUENCES: tuple[tuple[ReasonCode, _Consequence], ...] = (
    (ReasonCode.SCHEDULER_ENDED_IT, _after_scheduler_end),
    (ReasonCode.TOLD_TO_STOP, _told_to_stop),
    (ReasonCode.FAILED_BEFORE_THE_LIMIT, _limit_after_failure),
    (ReasonCode.APPLICATION_FAULT_FIRST, _device_after_application),
    (ReasonCode.REPORTED_LATER, reports_device),
    (ReasonCode.LINK_DOWN_FIRST, reports_link),
    (ReasonCode.STALL_FIRST, reports_stall),
    (ReasonCode.WAITED_FOR_THE_DEAD, _timeout_after_death),
    (ReasonCode.ABORT_AFTER_TIMEOUT, _exception_after_timeout),
    (ReasonCode.UNSPECIFIC_AFTER_KNOWN, _generic_after_known),
)
"""What an earlier line may explain, in the order in which it is tried."""
