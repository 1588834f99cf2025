"""Unknown failures of many attempts, put into families: how they end, where, and how often."""

from __future__ import annotations

import tomllib
from collections import Counter, defaultdict
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass

from relume.errors import RelumeError, counted
from relume.identity import AttemptId
from relume.ingest.loglines import LineParser
from relume.models.diagnosis.unexplained import is_unexplained
from relume.models.signatures.checks import check_catalogue
from relume.models.signatures.fields import read_signature
from relume.models.signatures.ruleset import Catalogue
from relume.models.signatures.site import as_site_rule
from relume.models.templates.clusters import cluster, ending_words
from relume.models.templates.masking import Masker
from relume.models.templates.skeleton import CATEGORY, Skeleton, skeleton
from relume.serve.scan.scanned import Scanned
from relume.verdict import Unrecognised


@dataclass(frozen=True, slots=True)
class SharedLine:
    """A line that a family ends with, as one attempt printed it; `attempts` print one like it."""

    text: str
    attempt: str
    file: str
    line: int
    attempts: int


@dataclass(frozen=True, slots=True)
class UnknownFamily:
    """Failures that end alike.

    Attributes
    ----------
    attempts
        Oldest first.
    lines
        What the attempt shows that has most in common with the others, the most telling first.
    rule
        What a rule for them could begin with; null where no line tells them from others.
    """

    attempts: tuple[Scanned, ...]
    lines: tuple[SharedLine, ...]
    rule: Skeleton | None

    @property
    def jobs(self) -> int:
        """How many jobs the attempts are of."""
        return len({AttemptId.parse(one.entry.attempt).job_key for one in self.attempts})

    @property
    def users(self) -> list[str]:
        """Whose they are, as far as is known."""
        return sorted({one.entry.user for one in self.attempts if one.entry.user is not None})

    @property
    def nodes(self) -> list[tuple[str, int]]:
        """Where they ran: each node with how many of them, the most frequent first."""
        counts = Counter(node for one in self.attempts for node in set(one.entry.nodes))
        return sorted(counts.items(), key=lambda item: (-item[1], item[0]))

    @property
    def seen(self) -> tuple[int, int] | tuple[None, None]:
        """When the first and the last of them ended (UTC microseconds); nulls without any clock."""
        times = [time for one in self.attempts if (time := _when(one)) is not None]
        return (min(times), max(times)) if times else (None, None)


@dataclass(frozen=True, slots=True)
class UnknownFailures:
    """All unknown failures among the attempts that were looked at.

    `without_lines` left nothing that could be shown: no log, or nothing unusual in it.
    """

    looked_at: int
    failed: int
    families: tuple[UnknownFamily, ...]
    without_lines: tuple[Scanned, ...]

    @property
    def unknown(self) -> int:
        """How many failures nobody knows the cause of."""
        return sum(len(one.attempts) for one in self.families) + len(self.without_lines)


def unknown_failures(scanned: Iterable[Scanned], catalogue: Catalogue) -> UnknownFailures:
    """Put the failures without a known cause into families, the largest first.

    Deterministic. Loads scikit-learn.
    """
    attempts = list(scanned)
    failed = [one for one in attempts if one.is_finding]
    unknown = sorted((one for one in failed if _is_unknown(one, catalogue)), key=_age)
    told = [one for one in unknown if _lines(one)]
    numbers = cluster([ending_words([line.text for line in _lines(one)]) for one in told])
    groups: defaultdict[int, list[Scanned]] = defaultdict(list)
    for one, number in zip(told, numbers, strict=True):
        groups[number].append(one)
    ordered = sorted(groups.values(), key=lambda members: -len(members))
    return UnknownFailures(
        looked_at=len(attempts),
        failed=len(failed),
        families=tuple(_families(ordered, catalogue)),
        without_lines=tuple(one for one in unknown if not _lines(one)),
    )


def _families(groups: Sequence[list[Scanned]], catalogue: Catalogue) -> Iterator[UnknownFamily]:
    taken = set(catalogue.by_id)
    all_lines = [[line.text for one in members for line in _lines(one)] for members in groups]
    for number, members in enumerate(groups):
        others = [text for n, texts in enumerate(all_lines) if n != number for text in texts]
        family = _family(members, others, taken)
        if family.rule is not None:
            taken.add(family.rule.id)
        yield family


def _family(members: list[Scanned], others: list[str], taken: Iterable[str]) -> UnknownFamily:
    masker = Masker()
    by_kind: defaultdict[tuple[bytes, ...], dict[str, str]] = defaultdict(dict)
    kinds = {}
    for one in members:
        for line in _lines(one):
            kinds[line.text] = kind = masker.words(line.text.encode("utf-8", "replace"))
            by_kind[kind].setdefault(one.entry.attempt, line.text)
    typical = max(members, key=lambda one: _mean(len(by_kind[kinds[u.text]]) for u in _lines(one)))
    lines = tuple(
        SharedLine(u.text, typical.entry.attempt, u.file, u.line, len(by_kind[kinds[u.text]]))
        for u in _lines(typical)
    )
    main = max(lines, key=lambda line: line.attempts)
    like = [main.text, *by_kind[kinds[main.text]].values()]
    own = [text for text, kind in kinds.items() if kind != kinds[main.text]]
    rule = skeleton(like, [*own, *others], seen=_summary(members), taken=taken)
    return UnknownFamily(tuple(members), lines, rule if rule and _holds(rule) else None)


def _holds(rule: Skeleton) -> bool:
    """Whether the rule would pass `relume rules test`."""
    parser = LineParser("sample")
    try:
        [entry] = tomllib.loads(rule.toml())["signature"]
        catalogue = Catalogue.of([as_site_rule(read_signature(entry, CATEGORY))])
        report = check_catalogue(catalogue, lambda text: parser.parse(text, 0, 0), prefer="re2")
    except (RelumeError, ValueError):
        return False
    return not report.failures


def _summary(members: Sequence[Scanned]) -> str:
    jobs = len({AttemptId.parse(one.entry.attempt).job_key for one in members})
    attempts = counted(len(members), "failed attempt")
    return f"Seen at the end of {attempts} of {counted(jobs, 'job')}."


def _is_unknown(one: Scanned, catalogue: Catalogue) -> bool:
    verdict = one.verdict
    return verdict is None or is_unexplained(verdict, catalogue.by_id.get(verdict.rule or ""))


def _lines(one: Scanned) -> tuple[Unrecognised, ...]:
    return () if one.verdict is None else one.verdict.unrecognised


def _when(one: Scanned) -> int | None:
    return one.start if one.end is None else one.end


def _age(one: Scanned) -> tuple[int, str]:
    return _when(one) or 0, one.entry.attempt


def _mean(counts: Iterable[int]) -> float:
    values = list(counts)
    return sum(values) / len(values)
