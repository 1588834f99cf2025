"""One attempt's failure as the rest of the cluster sees it, and which failures are one thing."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Collection, Mapping
from dataclasses import dataclass

from relume.verdict import Domain


@dataclass(frozen=True, slots=True, kw_only=True)
class Failure:
    """An attempt that failed, or hangs.

    Attributes
    ----------
    attempt, run
        Whose: text forms; `run` is the same for all attempts of one piece of training.
    user
        Null where the scheduler didn't say.
    at
        When it was first known, by the clock of the ticks (UTC microseconds).
    domain
        Of its verdict, as far as it is known by now.
    likeness
        Equal for failures that print the same, whoever's code met them; null where nothing says so.
    nodes
        Where the attempt ran.
    faulty
        Those of its nodes that evidence of hardware grade accuses.
    words
        Cause and rule, for people.
    """

    attempt: str
    run: str
    user: str | None
    at: int
    domain: Domain
    likeness: str | None = None
    nodes: tuple[str, ...] = ()
    faulty: tuple[str, ...] = ()
    words: str = ""


def parties(failures: Collection[Failure], silent: Mapping[str, str]) -> dict[str, str]:
    """Return what failed independently of each other: a name by attempt, equal for one thing.

    A run counts once, however often it is tried, and so does a node that evidence accuses, however
    many jobs meet it. A bug of a user's own code is nobody else's and is left out; where jobs of
    several users fail in the same way, it isn't theirs.

    Parameters
    ----------
    failures
        Of the time that is looked at.
    silent
        The run of each attempt that is suspiciously silent now.

    Examples
    --------
    >>> own = Failure(attempt="a", run="r", user="ada", at=0, domain=Domain.WORKLOAD, likeness="x")
    >>> parties([own], {"b": "s"})
    {'b': 'run s'}
    """
    users: defaultdict[str, set[str | None]] = defaultdict(set)
    for one in failures:
        if one.likeness is not None:
            users[one.likeness].add(one.user)
    told = {attempt: f"run {run}" for attempt, run in silent.items()}
    for one in failures:
        shared = one.likeness is not None and len(users[one.likeness]) > 1
        if one.domain is Domain.WORKLOAD and not shared:
            continue
        told[one.attempt] = f"node {','.join(one.faulty)}" if one.faulty else f"run {one.run}"
    return told
