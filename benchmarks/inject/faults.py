"""The faults that can be put into telemetry: how they show, and what they are labelled."""

from __future__ import annotations

from dataclasses import dataclass

from relume.benchmarks.episodes.staging import stories
from relume.benchmarks.episodes.stories import Story
from relume.benchmarks.simulator.telemetry.causes import stories_of
from relume.errors import InputError, did_you_mean
from relume.verdict import Domain, Kind


@dataclass(frozen=True, slots=True, kw_only=True)
class Fault:
    """One kind of fault.

    Attributes
    ----------
    name, summary
        What it is called, and what it does.
    kind, domain
        Of its label; a null kind is none, since nothing is wrong with the job.
    of_node
        Whether one node is to blame.
    tells
        The stories of which one is told at the end of the log; empty where it says nothing.
    slows
        Whether the job goes on at a slower pace.
    cuts_pipe
        Whether the log breaks off while the job goes on.
    """

    name: str
    summary: str
    kind: Kind | None = None
    domain: Domain | None = None
    of_node: bool = False
    tells: tuple[Story, ...] = ()
    slows: bool = False
    cuts_pipe: bool = False


_MISTAKES = stories(
    "exception_everywhere", "cuda_oom_all_ranks", "bad_sample_on_one_rank", "device_side_assert"
)
"""Of the workload those that are a crash by anybody's word: ranks that differ may be a hang."""


def _crash(domain: Domain, summary: str, *, of_node: bool = False) -> Fault:
    return Fault(
        name=f"crash-{domain.value}",
        summary=summary,
        kind=None if domain is Domain.SCHEDULER else Kind.CRASH,
        domain=domain,
        of_node=of_node,
        tells=_MISTAKES if domain is Domain.WORKLOAD else stories_of("", domain, of_node=of_node),
    )


_ALL = (
    _crash(Domain.WORKLOAD, "the job's own mistake ends it"),
    _crash(Domain.PLATFORM, "one node has lost a mount or its agent", of_node=True),
    _crash(Domain.HARDWARE, "a GPU of one node fails, with the kernel's lines", of_node=True),
    _crash(Domain.NETWORK, "links of one node fail", of_node=True),
    _crash(Domain.FACILITY, "one node loses power or overheats", of_node=True),
    _crash(Domain.SCHEDULER, "time limit or preemption: no incident"),
    Fault(name="hang", summary="the log falls silent, and somebody ends the job", kind=Kind.HANG),
    Fault(
        name="slow",
        summary="all steps take longer",
        kind=Kind.STRAGGLER,
        domain=Domain.WORKLOAD,
        slows=True,
    ),
    Fault(
        name="slow-node",
        summary="all steps take longer, since one node is slow",
        kind=Kind.STRAGGLER,
        domain=Domain.HARDWARE,
        of_node=True,
        slows=True,
    ),
    Fault(
        name="node-lost",
        summary="one node is gone, with lines of kernel and scheduler",
        kind=Kind.CRASH,
        domain=Domain.HARDWARE,
        of_node=True,
        tells=stories("node_lost", "node_rebooted"),
    ),
    Fault(
        name="broken-pipe",
        summary="the log breaks off and the job goes on: no incident",
        cuts_pipe=True,
    ),
)
FAULTS = {fault.name: fault for fault in _ALL}


@dataclass(frozen=True, slots=True, kw_only=True)
class Injection:
    """What is put where.

    Attributes
    ----------
    fault
        Which one.
    attempt
        Identity or name of the attempt; null for all that are labelled as healthy.
    node
        To blame; null draws one of the attempt.
    at
        When, as a share of the time from the first clock of its log to the last.
    factor
        How many times longer slow steps take.
    silent_seconds
        How long a hang goes on until somebody ends it.
    seed
        Of the node, the story and its words.

    Raises
    ------
    InputError
        For a share, a factor or a time that is none.
    """

    fault: Fault
    attempt: str | None = None
    node: str | None = None
    at: float = 0.7
    factor: float = 2.0
    silent_seconds: float = 3600.0
    seed: int = 0

    def __post_init__(self) -> None:
        if not 0 < self.at < 1:
            raise InputError("share of the log", found=f"{self.at:g}", expected="between 0 and 1")
        if not 1 < self.factor <= 100:  # noqa: PLR2004 - a job that is slower stands still
            raise InputError("factor of slow steps", found=f"{self.factor:g}", expected="1 to 100")
        if not self.silent_seconds > 0:
            raise InputError("seconds of silence", found=f"{self.silent_seconds:g}", expected="> 0")


def find(name: str) -> Fault:
    """Return a fault by its name.

    Raises
    ------
    InputError
        For a name that is none.

    Examples
    --------
    >>> find("hang").kind.value
    'hang'
    """
    if name not in FAULTS:
        raise InputError(
            "fault", found=name, expected=", ".join(FAULTS), hint=did_you_mean(name, list(FAULTS))
        )
    return FAULTS[name]
