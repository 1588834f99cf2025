"""What happened to Advice and to attempts: incidents, outcomes, labels, and who did what.

Times are UTC microseconds.
"""

from __future__ import annotations

from dataclasses import dataclass

from relume.advice import Operation, Scope
from relume.errors import InputError
from relume.models.worth.outcomes import Label
from relume.verdict import Domain, Kind

MAX_NAME = 200
MAX_WORDS = 10_000


def is_text(words: str) -> bool:
    r"""Whether it can be written as UTF-8: what comes from a command line may be any bytes.

    >>> is_text("ü"), is_text("\udcff")
    (True, False)
    """
    try:
        words.encode()
    except UnicodeEncodeError:
        return False
    return True


@dataclass(frozen=True, slots=True, kw_only=True)
class IncidentRecord:
    """One episode of an attempt or a node, or one thing that struck many jobs.

    Kind, domain, cause, rule, operation and nodes are those of its newest Advice.

    Attributes
    ----------
    incident_id
        A UUIDv5 of subject and number: the same in every run and replay.
    subject
        `Advice.subject`; of one subject one incident goes on at a time.
    number
        1 for the first of its subject.
    nodes
        Nodes that the Advice leaves out, or keeps from jobs.
    opened_at, updated_at
        When its first and its newest Advice were made.
    closed_at, ending
        When it was over, and how that is known; null while it goes on.
    part_of
        The incident of the cluster that struck the attempt; null for none.
    advice
        The Advice that belongs to it, oldest first.
    """

    incident_id: str
    subject: str
    number: int
    scope: Scope
    attempt: str
    cluster: str
    kind: Kind
    domain: Domain
    cause: str | None
    rule: str | None
    operation: Operation
    nodes: tuple[str, ...] = ()
    opened_at: int
    updated_at: int
    closed_at: int | None = None
    ending: str | None = None
    part_of: str | None = None
    advice: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True, kw_only=True)
class Closing:
    """The incident to which an Advice belongs is over: since when, and how that is known."""

    advice_id: str
    at: int
    ending: str


@dataclass(frozen=True, slots=True, kw_only=True)
class Struck:
    """An Advice is about an attempt that an incident of its cluster struck.

    `subject` is that of the incident.
    """

    advice_id: str
    subject: str


@dataclass(frozen=True, slots=True, kw_only=True)
class OutcomeRecord:
    """What became of an alarm about a hang, by itself (`relume.models.worth.outcomes`).

    Attributes
    ----------
    rule
        That raised the alarm.
    reason
        How the label is known, or why there is none.
    alarm_at, known_at
        When the alarm was raised, and when its label was known.
    silent_seconds
        How long the silence was in the end, from the last step before the alarm to the first one
        after it; null where none came, and where nobody could look all the time.
    """

    advice_id: str
    attempt: str
    rule: str | None
    label: Label
    reason: str
    alarm_at: int
    known_at: int
    silent_seconds: float | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class LabelRecord:
    """What a person says of an Advice. It wins over what became of the alarm by itself.

    Attributes
    ----------
    right
        Whether the Advice was right.
    cause
        What it really was; null where nothing is said.
    who
        A role or a name, as given.
    why
        In words; null for none.
    at
        When it was said.

    Raises
    ------
    InputError
        For a name that is empty, too long or not printable, and for too many words.
    """

    advice_id: str
    right: bool
    cause: str | None = None
    who: str
    why: str | None = None
    at: int

    def __post_init__(self) -> None:
        for name, text in (("who", self.who), ("cause", self.cause)):
            if text is not None and not (0 < len(text) <= MAX_NAME and text.isprintable()):
                raise InputError(
                    f"{name} of a label",
                    found=repr(text[:MAX_NAME]),
                    expected=f"1 to {MAX_NAME} printable characters",
                )
        why = self.why or ""
        if len(why) > MAX_WORDS or not is_text(why):
            raise InputError(
                "reason of a label",
                found=f"{len(why)} characters{'' if is_text(why) else ', not all of them text'}",
                expected=f"{MAX_WORDS} at most, in UTF-8",
            )


@dataclass(frozen=True, slots=True, kw_only=True)
class Standing:
    """Whether an Advice was right, as far as anybody knows.

    Attributes
    ----------
    label
        The newest label of a person, else what became of it by itself; null while neither is there.
    by
        Who or what says so; null with it.
    outcome
        What became of it by itself, null while that is not known, and for what is no alarm about a
        hang.
    labels
        What people said, oldest first.
    """

    label: Label | None
    by: str | None
    outcome: OutcomeRecord | None
    labels: tuple[LabelRecord, ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class AuditRecord:
    """Who did what.

    Attributes
    ----------
    number
        1 for the first, without gaps.
    what
        An answer (`approved`, `rejected`, `expired`), `label`, `reconciliation` or `lease`.
    about
        An `advice_id`, or the cluster of a lease.
    document
        What was done, as JSON.
    previous
        Hash of the row before, 64 zeros for the first.
    hash
        SHA-256 of all of it, `previous` included.
    """

    number: int
    at: int
    who: str
    what: str
    about: str
    document: str
    previous: str
    hash: str
