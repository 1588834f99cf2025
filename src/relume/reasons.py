"""Why a verdict is what it is: a closed vocabulary of reasons, each with the lines it is about.

Programs read `Reason.code` and `Reason.lines`; people read `Reason.sentence`, which is made of
them. `docs/diagnosis.md` explains every code.
"""

from __future__ import annotations

from dataclasses import dataclass
from enum import StrEnum

MAX_LINES = 8
"""Lines that one reason shows; `count` counts them all."""


class ReasonCode(StrEnum):
    """What kind of reason it is. Codes are never renamed; new ones may be added."""

    # what was left out before anything was judged
    FOREIGN_NODE = "foreign_node"
    EARLIER_ATTEMPT = "earlier_attempt"
    BEFORE_START = "before_start"
    AFTER_GOOD_END = "after_good_end"
    AFTER_END = "after_end"
    CLOCK_OFFSET = "clock_offset"
    # what was set aside: no failure of this attempt
    GOT_OVER = "got_over"
    FORGED = "forged"
    NEW_STEPS = "new_steps"
    # what was ruled out as the first cause: something else explains it
    SCHEDULER_ENDED_IT = "scheduler_ended_it"
    TOLD_TO_STOP = "told_to_stop"
    FAILED_BEFORE_THE_LIMIT = "failed_before_the_limit"
    APPLICATION_FAULT_FIRST = "application_fault_first"
    REPORTED_LATER = "reported_later"
    LINK_DOWN_FIRST = "link_down_first"
    STALL_FIRST = "stall_first"
    WAITED_FOR_THE_DEAD = "waited_for_the_dead"
    ABORT_AFTER_TIMEOUT = "abort_after_timeout"
    UNSPECIFIC_AFTER_KNOWN = "unspecific_after_known"
    # how the root line was chosen
    ONLY_VICTIMS = "only_victims"
    STRONGEST_TIER = "strongest_tier"
    CONFIRMED = "confirmed"
    KILL_WITNESSED = "kill_witnessed"
    KILL_UNWITNESSED = "kill_unwitnessed"
    SOME_NODES_ONLY = "some_nodes_only"
    ALL_NODES_ALIKE = "all_nodes_alike"
    # who is to blame
    FIRST_FAILURE = "first_failure"
    LAST_TO_COME = "last_to_come"
    SHORT_QUEUE = "short_queue"
    EARLIER_COLLECTIVE = "earlier_collective"
    SAID_NOTHING = "said_nothing"
    VICTIM = "victim"
    SHARED_ERROR = "shared_error"
    ONE_NODE = "one_node"
    NAMED_BY_PEERS = "named_by_peers"
    NOT_OF_THE_ATTEMPT = "not_of_the_attempt"
    PLACED = "placed"
    PLACES_CONTRADICT = "places_contradict"
    # what dumps show
    DUMPS = "dumps"
    DUMPS_AGREE = "dumps_agree"
    DUMPS_DIFFER = "dumps_differ"
    DUMPS_OLD = "dumps_old"
    DUMP_REFUSED = "dump_refused"
    STACKS = "stacks"
    RAS = "ras"
    # what no line of failure shows
    UNKNOWN_TROUBLE_FIRST = "unknown_trouble_first"
    SCHEDULER_STATE = "scheduler_state"
    NO_JOB_LOG = "no_job_log"
    PROGRESS = "progress"
    SILENCE = "silence"
    NOT_FINITE = "not_finite"
    # how sure it is, and what speaks against it
    WEIGHED = "weighed"
    DOUBT = "doubt"
    ABSTAINED = "abstained"


_SENTENCES: dict[ReasonCode, str] = {
    ReasonCode.FOREIGN_NODE: "set aside {count}: on nodes that the attempt did not run on",
    ReasonCode.EARLIER_ATTEMPT: "set aside {count}: from before the ranks were started anew",
    ReasonCode.BEFORE_START: "set aside {count}: before the attempt started",
    ReasonCode.AFTER_GOOD_END: (
        "set aside {count}: told by the system of an attempt that ended well ({detail})"
    ),
    ReasonCode.AFTER_END: "set aside {count}: after the attempt had ended",
    ReasonCode.CLOCK_OFFSET: "the clock of {detail}",
    ReasonCode.GOT_OVER: "set aside {count}: the job got over what these lines tell",
    ReasonCode.FORGED: "set aside {count}: a rank says what only the system may say",
    ReasonCode.NEW_STEPS: "set aside: the job made new steps after it",
    ReasonCode.SCHEDULER_ENDED_IT: "ruled out {count}: the scheduler had ended the job before them",
    ReasonCode.TOLD_TO_STOP: "ruled out {count}: told to stop; Slurm says by whom",
    ReasonCode.FAILED_BEFORE_THE_LIMIT: (
        "ruled out {count}: the job had already failed when the scheduler ended it"
    ),
    ReasonCode.APPLICATION_FAULT_FIRST: (
        "ruled out {count}: device errors that follow an application fault on the same GPU"
    ),
    ReasonCode.REPORTED_LATER: (
        "ruled out {count}: CUDA reports late what the kernel logged of the same node"
    ),
    ReasonCode.LINK_DOWN_FIRST: (
        "ruled out {count}: connections that were lost after a link had gone down"
    ),
    ReasonCode.STALL_FIRST: (
        "ruled out {count}: collectives that timed out while storage or a driver did not answer"
    ),
    ReasonCode.WAITED_FOR_THE_DEAD: (
        "ruled out {count}: time-outs of those who waited for a process that had died"
    ),
    ReasonCode.ABORT_AFTER_TIMEOUT: (
        "ruled out {count}: exceptions raised by the abort after a collective timed out"
    ),
    ReasonCode.UNSPECIFIC_AFTER_KNOWN: (
        "ruled out {count}: unspecific exceptions after a known failure"
    ),
    ReasonCode.ONLY_VICTIMS: "only lines that victims print: no first cause is visible",
    ReasonCode.STRONGEST_TIER: "rule {rule}: {detail}",
    ReasonCode.CONFIRMED: "{by} confirms {rule} on the same GPU",
    ReasonCode.KILL_WITNESSED: "{by} says who killed it",
    ReasonCode.KILL_UNWITNESSED: "killed, and no line says by whom: it may be any of several",
    ReasonCode.SOME_NODES_ONLY: "only {detail} of the job fail so: it is theirs, not the job's",
    ReasonCode.ALL_NODES_ALIKE: "all {count} nodes fail alike: it is the job's, not a node's",
    ReasonCode.FIRST_FAILURE: "the launcher's first observed failure; later ones are its teardown",
    ReasonCode.LAST_TO_COME: "{detail}",
    ReasonCode.SHORT_QUEUE: "{detail}",
    ReasonCode.EARLIER_COLLECTIVE: "{detail}",
    ReasonCode.SAID_NOTHING: "{detail}",
    ReasonCode.VICTIM: "the launcher names {detail} first, which tells only that others were gone",
    ReasonCode.SHARED_ERROR: "{count} processes print the same error: nobody is to blame alone",
    ReasonCode.ONE_NODE: "all {count} who print it are on {detail}",
    ReasonCode.NAMED_BY_PEERS: "{detail} is in nearly all {count} pairs that lost each other",
    ReasonCode.NOT_OF_THE_ATTEMPT: "{detail} is no node of the attempt: it is not blamed",
    ReasonCode.PLACED: "{detail}",
    ReasonCode.PLACES_CONTRADICT: "{detail}",
    ReasonCode.UNKNOWN_TROUBLE_FIRST: (
        "before all that rules know, one place alone said what no rule knows: {detail}"
    ),
    ReasonCode.DUMPS: "dumps: {detail}",
    ReasonCode.DUMPS_AGREE: "dumps and log name the same",
    ReasonCode.DUMPS_DIFFER: "dumps and log disagree: the dumps point to {detail}",
    ReasonCode.DUMPS_OLD: "the dumps are older: the job went on after them, or ended well",
    ReasonCode.DUMP_REFUSED: "{detail}",
    ReasonCode.STACKS: "{detail}",
    ReasonCode.RAS: "{detail}",
    ReasonCode.SCHEDULER_STATE: "the scheduler's record says {detail}",
    ReasonCode.NO_JOB_LOG: "there is no log of the job",
    ReasonCode.PROGRESS: "{detail}",
    ReasonCode.SILENCE: "{detail}",
    ReasonCode.NOT_FINITE: "{detail}",
    ReasonCode.WEIGHED: "how sure: {detail}",
    ReasonCode.DOUBT: "less sure: {detail}",
    ReasonCode.ABSTAINED: "abstained: {detail}",
}


@dataclass(frozen=True, slots=True)
class Cited:
    """A line that a reason is about: its rule (null where none knows it), 0-based in its file.

    `by` is the line that rules it out, null where none single line does.
    """

    rule: str | None
    file: str
    line: int
    by: Cited | None = None


@dataclass(frozen=True, slots=True)
class Reason:
    """One reason. `count` is of all lines it is about, of which `lines` shows the first few.

    `detail` holds words that the code leaves open: numbers, a state, names.

    Examples
    --------
    >>> late = Cited("loss_nan", "a.log", 9, by=Cited("xid_79", "b.log", 3))
    >>> Reason(ReasonCode.SCHEDULER_ENDED_IT, (late,)).sentence
    'ruled out 1: the scheduler had ended the job before them'
    """

    code: ReasonCode
    lines: tuple[Cited, ...] = ()
    count: int = 0
    detail: str | None = None

    @property
    def sentence(self) -> str:
        """The reason in words."""
        first = self.lines[0] if self.lines else None
        by = first.by if first is not None else None
        return _SENTENCES[self.code].format(
            count=self.count or len(self.lines),
            rule=first.rule if first else None,
            by=by.rule if by else None,
            detail=self.detail,
        )
