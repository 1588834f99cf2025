"""Which attempt of which job: names that survive requeues and reused job ids.

Slurm gives a job id out again after a hard crash, and a job's submit time changes at every requeue.
So a job is known by (cluster, job id, *first* submit time), an attempt by that and its restart
count, and a run, all attempts of one piece of training, by the name in the job's comment.
See `docs/formats/identity.md`.
"""

from __future__ import annotations

import json
import re
from dataclasses import dataclass
from typing import TYPE_CHECKING

from relume.errors import InputError

if TYPE_CHECKING:
    from collections.abc import Iterable

CHAINING_STATES = frozenset({"REQUEUED", "NODE_FAIL", "PREEMPTED"})
"""What accounting calls an attempt that another one of the same job follows."""
MAX_COMPLETING_SECONDS = 600
"""How long after the end of an attempt the next one of the job may be submitted, in accounting.

Slurm dates the requeue when the job is PENDING again, which is after its processes, the epilog and
EpilogSlurmctld are gone; a process that can't be killed gets UnkillableStepTimeout (60 s by
default, sites raise it to minutes). Job ids come back only after slurmctld was killed, and then for
jobs of its last seconds: hardly one of them was requeued already, so that a wide window costs
nothing, and a narrow one tears slow jobs apart."""
APS_MODES = frozenset({"requeue", "singleton_dependency"})
MAX_CLUSTER_NAME = 100
"""Characters; Slurm takes 40. Attempts are keys of tables whose length a database limits."""
MAX_RUN_NAME = 200
"""Characters; run names end up in keys, paths and metric labels."""
# Not that of `relume.clock`: pure parts use this module, and clock reads the time.
_MICROSECONDS_PER_SECOND = 1_000_000

_JOB_ID = r"(?:0|[1-9][0-9]{0,9})(?:[_+](?:0|[1-9][0-9]{0,9}))?"
_COUNT = "0|[1-9][0-9]{0,8}"
_CLUSTER = rf"[^/@\s]{{1,{MAX_CLUSTER_NAME}}}"
_JOB_KEY = rf"(?P<cluster>{_CLUSTER})/(?P<job_id>{_JOB_ID})@(?P<epoch>0|[1-9][0-9]{{0,11}})"
_IS_JOB_KEY = re.compile(_JOB_KEY)
_IS_ATTEMPT = re.compile(rf"{_JOB_KEY}\.(?P<restart_count>{_COUNT})")
_IS_SHORT = re.compile(rf"(?P<job_id>{_JOB_ID})-(?P<restart_count>{_COUNT})")


@dataclass(frozen=True, slots=True, order=True)
class JobKey:
    """One job, whatever happens to its job id.

    Attributes
    ----------
    cluster
        Slurm's ClusterName.
    job_id
        As Slurm writes it: ``123``, ``123_4`` for a task of an array, ``123+1`` for a component of
        a heterogeneous job. Each of these is a job of its own.
    first_submit_time
        Submit time of the first attempt, UTC microseconds; whole seconds, since Slurm counts those.

    Raises
    ------
    InputError
        When a part can't be written in the text form and read back.

    Examples
    --------
    >>> str(JobKey("lab", "123_4", 1767323045000000))
    'lab/123_4@1767323045'
    """

    cluster: str
    job_id: str
    first_submit_time: int

    def __post_init__(self) -> None:
        seconds, rest = divmod(self.first_submit_time, _MICROSECONDS_PER_SECOND)
        if rest or _IS_JOB_KEY.fullmatch(f"{self.cluster}/{self.job_id}@{seconds}") is None:
            raise _bad_identity(repr(self), "cluster/job_id@first_submit_epoch in whole seconds")

    def __str__(self) -> str:
        return f"{self.cluster}/{self.job_id}@{self.first_submit_time // _MICROSECONDS_PER_SECOND}"

    @property
    def parent(self) -> str | None:
        """Job id of the array or of the heterogeneous job's leader; null for an ordinary job."""
        parent, *rest = re.split("[_+]", self.job_id)
        return parent if rest else None

    @classmethod
    def parse(cls, text: str) -> JobKey:
        """Read the text form.

        Raises
        ------
        InputError
            For any other text.
        """
        match = _IS_JOB_KEY.fullmatch(text)
        if match is None:
            raise _bad_identity(repr(text[:120]), "cluster/job_id@first_submit_epoch")
        return _job_key(match)


@dataclass(frozen=True, slots=True, order=True)
class AttemptId:
    """One execution of a job. The first one has restart count 0.

    Raises
    ------
    InputError
        For a restart count that isn't a count.

    Examples
    --------
    >>> attempt = AttemptId.parse("lab/123@1767323045.2")
    >>> attempt.job_key.first_submit_time, attempt.restart_count, attempt.short
    (1767323045000000, 2, '123-2')
    """

    job_key: JobKey
    restart_count: int

    def __post_init__(self) -> None:
        if _IS_ATTEMPT.fullmatch(str(self)) is None:
            raise _bad_identity(repr(self), "a restart count from 0 to 999999999")

    def __str__(self) -> str:
        return f"{self.job_key}.{self.restart_count}"

    @property
    def age(self) -> tuple[int, str, int]:
        """What sorts attempts of several jobs of one cluster, the oldest first."""
        return self.job_key.first_submit_time, self.job_key.job_id, self.restart_count

    @property
    def short(self) -> str:
        """``job_id-restart_count``: for people; means the newest job with that id."""
        return f"{self.job_key.job_id}-{self.restart_count}"

    @classmethod
    def parse(cls, text: str) -> AttemptId:
        """Read the text form ``cluster/job_id@first_submit_epoch.restart_count``.

        Raises
        ------
        InputError
            For any other text.
        """
        match = _IS_ATTEMPT.fullmatch(text)
        if match is None:
            raise _bad_identity(repr(text[:120]), "cluster/job_id@first_submit_epoch.restart_count")
        return cls(_job_key(match), int(match["restart_count"]))


def parse_short(text: str) -> tuple[str, int]:
    """Read the short form into job id and restart count.

    Raises
    ------
    InputError
        For any other text.

    Examples
    --------
    >>> parse_short("123_4-2")
    ('123_4', 2)
    """
    match = _IS_SHORT.fullmatch(text)
    if match is None:
        raise _bad_identity(repr(text[:120]), "job_id-restart_count")
    return match["job_id"], int(match["restart_count"])


@dataclass(frozen=True, slots=True)
class AccountingRow:
    """What `sacct --duplicates` says of one attempt, as far as it identifies it.

    Times are UTC microseconds. `end_time` is null while the attempt is not over. `state` is as
    printed, ``CANCELLED by 0`` included.
    """

    job_id: str
    submit_time: int
    end_time: int | None
    state: str


class AttemptChains:
    """Says which attempt each row is as the rows come, one by one, those of a job by submit time.

    The rule is that of `chain_attempts`. Holds one end for each job that may still be continued.

    Examples
    --------
    >>> chains = AttemptChains("lab")
    >>> [
    ...     str(chains.add(AccountingRow("7", submit, submit + 2_000_000, "REQUEUED")))
    ...     for submit in (1_000_000, 3_000_000)
    ... ]
    ['lab/7@1.0', 'lab/7@1.1']
    """

    def __init__(self, cluster: str) -> None:
        self._cluster = cluster
        self._before: dict[str, tuple[int, AttemptId]] = {}

    def add(self, row: AccountingRow) -> AttemptId:
        """Return the attempt of the next row.

        Raises
        ------
        InputError
            For a job id or a time that can't be part of an identity.
        """
        before = self._before.pop(row.job_id, None)
        if before is not None and _follows(row.submit_time, before[0]):
            attempt = AttemptId(before[1].job_key, before[1].restart_count + 1)
        else:
            attempt = AttemptId(JobKey(self._cluster, row.job_id, row.submit_time), 0)
        if row.end_time is not None and _chains(row.state):
            self._before[row.job_id] = row.end_time, attempt
        return attempt


def requeued_at_once(state: str, submit_time: int, end_time: int | None) -> bool:
    """Whether an attempt was over, and its job queued again, in the second of its submission.

    Then the next attempt of the job may have the same submit time.

    >>> requeued_at_once("REQUEUED", 5_000_000, 5_000_000), requeued_at_once("FAILED", 5, 5)
    (True, False)
    """
    return end_time == submit_time and _chains(state)


def chain_attempts(cluster: str, rows: Iterable[AccountingRow]) -> list[AttemptId]:
    """Say which attempt each row of `sacct -D` is, in the order of `rows`.

    Row n+1 of a job id continues row n when it was submitted at the end of row n or within
    `MAX_COMPLETING_SECONDS` of it, and row n says REQUEUED, NODE_FAIL or PREEMPTED. A row that
    doesn't chain is another job under a reused id. Rows of one job id and submit time are the same
    attempt, asked for twice, but for one that was requeued at once. The whole history of a job id
    is needed: without its first row the chain begins too late.

    Takes O(n log n) time.

    Raises
    ------
    InputError
        For a job id or a time that can't be part of an identity.

    Examples
    --------
    >>> first = AccountingRow("7", 1_000_000, 5_000_000, "NODE_FAIL")
    >>> second = AccountingRow("7", 8_000_000, 9_000_000, "COMPLETED")
    >>> reused = AccountingRow("7", 20_000_000, None, "RUNNING")
    >>> [str(attempt) for attempt in chain_attempts("lab", [second, first, reused])]
    ['lab/7@1.1', 'lab/7@1.0', 'lab/7@20.0']
    """
    rows = list(rows)
    distinct: dict[tuple[str, int, bool], AccountingRow] = {}
    for row in rows:
        known = distinct.setdefault(_attempt_key(row), row)
        if (row.end_time or 0) > (known.end_time or 0):
            distinct[_attempt_key(row)] = row
    chains = AttemptChains(cluster)
    ordered = sorted(distinct)  # by job id, then by submit time, then what was requeued at once
    attempts = {key: chains.add(distinct[key]) for key in ordered}
    return [attempts[_attempt_key(row)] for row in rows]


@dataclass(frozen=True, slots=True)
class JobOptIn:
    """What a job's comment says about being looked after.

    Attributes
    ----------
    opted_in
        Whether Relume may act on the job.
    run
        Name of the run, null if the comment names none.
    reason
        Why the job did not opt in; null when it did.
    """

    opted_in: bool
    run: str | None = None
    reason: str | None = None


def read_comment(comment: str | None) -> JobOptIn:
    """Read the opt-in of a job's comment; it never raises.

    Understood are ``{"relume": {"run": …}}`` and ``{"APS": {"auto_resume_mode": …}}``; where both
    are there the first one counts. Other keys belong to others and are ignored. What is malformed
    doesn't opt in.

    Examples
    --------
    >>> read_comment('{"relume": {"run": "opus"}, "owner": "x"}')
    JobOptIn(opted_in=True, run='opus', reason=None)
    >>> read_comment("debug run").reason
    'the comment is not JSON'
    """
    if comment is None or not comment.strip():
        return _not_opted_in("the job has no comment")
    try:
        document = json.loads(comment)
    except (ValueError, RecursionError):  # a job may nest brackets as deep as it likes
        return _not_opted_in("the comment is not JSON")
    if not isinstance(document, dict):
        return _not_opted_in("the comment is JSON, but not an object")
    if "relume" in document:
        return _read_relume(document["relume"])
    if "APS" in document:
        return _read_aps(document["APS"])
    return _not_opted_in("the comment has neither a relume nor an APS key")


def run_name(opt_in: JobOptIn, job_key: JobKey) -> str:
    """Return the run that a job belongs to: the name in its comment, else its own key."""
    return str(job_key) if opt_in.run is None else opt_in.run


def _read_relume(section: object) -> JobOptIn:
    if not isinstance(section, dict):
        return _not_opted_in("relume in the comment is not an object")
    run = section.get("run")
    if run is None:
        return JobOptIn(opted_in=True)
    if not isinstance(run, str) or not 0 < len(run) <= MAX_RUN_NAME or not run.isprintable():
        return _not_opted_in(
            f"relume.run in the comment is not a printable text of 1 to {MAX_RUN_NAME} characters"
        )
    return JobOptIn(opted_in=True, run=run)


def _read_aps(section: object) -> JobOptIn:
    mode = section.get("auto_resume_mode") if isinstance(section, dict) else None
    if not isinstance(mode, str) or mode not in APS_MODES:
        return _not_opted_in(f"APS.auto_resume_mode in the comment is none of {sorted(APS_MODES)}")
    return JobOptIn(opted_in=True)


def _not_opted_in(reason: str) -> JobOptIn:
    return JobOptIn(opted_in=False, reason=reason)


def _attempt_key(row: AccountingRow) -> tuple[str, int, bool]:
    at_once = requeued_at_once(row.state, row.submit_time, row.end_time)
    return row.job_id, row.submit_time, not at_once


def _chains(state: str) -> bool:
    return state.partition(" ")[0] in CHAINING_STATES


def _follows(submit_time: int, end_before: int) -> bool:
    completing = submit_time - end_before
    return 0 <= completing <= MAX_COMPLETING_SECONDS * _MICROSECONDS_PER_SECOND


def _job_key(match: re.Match[str]) -> JobKey:
    submitted = int(match["epoch"]) * _MICROSECONDS_PER_SECOND
    return JobKey(match["cluster"], match["job_id"], submitted)


def _bad_identity(found: str, expected: str) -> InputError:
    return InputError(
        "identity",
        found=found,
        expected=expected,
        hint="copy it from `relume advice list`, or use the short form job_id-restart_count",
    )
