"""What a scan says of its attempts together: failures that came again, and nodes. Pure."""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Iterable, Sequence
from dataclasses import dataclass

from relume.identity import AttemptId
from relume.models.policy.repeats import streaks
from relume.models.policy.view import PastAttempt
from relume.serve.live.history import RunKey
from relume.serve.scan.scanned import Scanned
from relume.verdict import Verdict


@dataclass(frozen=True, slots=True)
class Repeat:
    """One failure that came more than once.

    `verdict` is that of the last time; `streak` is how often it came in a row in one run without
    that run getting any further.
    """

    fingerprint: str
    verdict: Verdict
    attempts: tuple[str, ...]
    streak: int


@dataclass(frozen=True, slots=True)
class NodeRecord:
    """How often a node was blamed, and how many of the attempts that it ran failed."""

    node: str
    blamed: int
    failed: int
    ran: int


def repeats(scanned: Iterable[Scanned]) -> list[Repeat]:
    """Return the failures that came more than once, the most frequent first."""
    by_name: dict[str, list[Scanned]] = defaultdict(list)
    runs: dict[RunKey, list[Scanned]] = defaultdict(list)
    for one in scanned:
        runs[one.run].append(one)
        name = one.fingerprint
        if name is not None:
            by_name[name].append(one)
    longest: dict[str, int] = defaultdict(int)
    for attempts in runs.values():
        for streak in streaks(past_attempts(attempts)):
            longest[streak.fingerprint] = max(longest[streak.fingerprint], len(streak))
    found = [
        Repeat(name, ones[-1].verdict, tuple(one.entry.attempt for one in ones), longest[name])
        for name, ones in by_name.items()
        if len(ones) > 1 and ones[-1].verdict is not None
    ]
    return sorted(found, key=lambda repeat: (-len(repeat.attempts), repeat.fingerprint))


def by_age(attempts: Iterable[Scanned]) -> list[Scanned]:
    """Return the attempts of one run, the oldest first: by job, then by restart."""
    return sorted(attempts, key=lambda one: AttemptId.parse(one.entry.attempt).age)


def past_attempts(attempts: Iterable[Scanned]) -> list[PastAttempt]:
    """Return the attempts of one run as its history, numbered through by age."""
    return [
        PastAttempt(number, one.fingerprint, one.first_step, one.last_step)
        for number, one in enumerate(by_age(attempts))
    ]


def streak_numbers(attempts: Iterable[Scanned]) -> list[int | None]:
    """Return for each attempt of one run, by age, how often its failure has come in a row.

    1 for the first time, null for one that didn't fail.
    """
    past = past_attempts(attempts)
    numbers = {
        one.restart_count: count
        for streak in streaks(past)
        for count, one in enumerate(streak.attempts, 1)
    }
    return [numbers.get(one.restart_count) for one in past]


def suspicious_nodes(scanned: Sequence[Scanned]) -> list[NodeRecord]:
    """Return the nodes that a failure was blamed on, the most blamed first."""
    blamed: Counter[str] = Counter()
    failed: Counter[str] = Counter()
    ran: Counter[str] = Counter()
    for one in scanned:
        ran.update(set(one.entry.nodes))
        if not one.is_finding or one.verdict is None:
            continue
        failed.update(set(one.entry.nodes))
        culprit = one.verdict.culprit.node
        blamed.update({*one.verdict.exclude_nodes, *((culprit,) if culprit else ())})
    records = [NodeRecord(node, count, failed[node], ran[node]) for node, count in blamed.items()]
    return sorted(records, key=lambda record: (-record.blamed, -record.failed, record.node))
