"""A line of trouble that no rule knows, where all that rules know came after it, on many processes.

A cause need not be known to be found: when one process says that something is wrong, and then all
the others lose it, its line is the root. What the cause is stays open.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import replace

from relume.models.diagnosis.consequences import GENERIC_SPECIFICITY
from relume.models.diagnosis.episode import Episode
from relume.models.diagnosis.locating import host_words, placed, printed_at
from relume.models.diagnosis.outlook import operation
from relume.models.diagnosis.own import own_nodes
from relume.models.diagnosis.unexplained import is_unexplained
from relume.models.signatures.hit import Hit
from relume.models.signatures.rule import Role, Signature, Tier
from relume.reasons import Reason, ReasonCode
from relume.slurm.nodes import short_name
from relume.verdict import Domain, Kind, Locator, Retry, Unrecognised, Verdict

_INDENTED = re.compile(r"\s|[^\n]{0,200}?(?:[|>:\]-]|\bERROR) {3,}[^\s|]")
"""A line of a stack, also behind a prefix."""
_WARNS = re.compile(r"\bWARN(?:ING)?\b|\bwarning\b|\bdeprecat", re.IGNORECASE)
_SAYS = re.compile(
    r"(?<!\bno )(?<!\b0 )\b"
    r"(?:cannot|can't|could not|couldn't|unable|refus\w+|denied|lost|unreachable|abort\w*|missing"
    r"|no longer|is full|disk full|mismatch\w*|differ|unavailable|timed out|expired|unrecoverable"
    r"|(?:does|did|do|is|are|was|has|have) (?:not|never)|not found|non-?finite|corrupt\w*"
    r"|no (?:such|device|provider|space|memory|response|answer)|out of memory|gave up|giving up"
    r"|(?:failed|failure) (?:to|on|in|at|for|with)|has failed|failed[:,;](?! ?\d)|got SIG[A-Z]+"
    r"|fatal|error(?!_|s\b)|in use|exceed\w*|stuck|hung|(?:is|was) killed|rejected|invalid|illegal"
    r"|undefined|unusable|unhealthy|broken|not (?:enough|supported|allowed|permitted))"
    r"(?!\w)(?! ?[:=]? ?\d+\b)",
    re.IGNORECASE,
)
"""Says what went wrong; counts of failures, and words such as *killed* of idle workers, don't."""
_ENDED = re.compile(
    r"\b(?:exit(?:s|ed|ing)?|exit[- _]?(?:code|status)|terminat\w+|abort\w*|killed|FAILED)\b"
)
"""Says that something ended, as launchers do: no word on why."""
_LACKING = re.compile(
    r"\brank[ =:#]{0,2}(\d{1,7}) (?:(?:has|have|had|did|is|was|does) )?"
    r"(?:not|never|only|missing|behind|gone|lost|dead|stuck|unreachable)\b"
    r"|\b(?:missing|absent|lagging|behind|lost|waiting (?:for|on)"
    r"|not (?:reached|responded|joined|arrived))\b[^\n]{0,40}?\brank[ =:#]{0,2}(\d{1,7})\b",
    re.IGNORECASE,
)
MIN_PRINTERS = 3
"""So many processes that print one line of failure are its victims, if one came before them."""
SLACK_MICROSECONDS = 1_000_000
"""Clocks of lines that are closer don't tell which came first."""
SKEW_MICROSECONDS = 30_000_000
"""... nor do those of nodes, where nobody knows how far their clocks are off."""
SAME_REPORT_LINES = 8
"""Lines of one report: of two that say what is wrong, the one before is the reason."""
MAX_COMPARED = 40
"""Unrecognised lines among which the first is looked for; fewer are shown."""
CONFIDENCE = 0.6
"""How sure a root is that no rule knows; the kind was known before."""


def is_weak(episode: Episode, verdict: Verdict, rule: Signature | None) -> bool:
    """Whether a line that no rule knows may be the cause of what `verdict` rests on.

    So it is where nobody can say why the attempt failed, where many processes print the same
    unspecific error, and where all wait and nobody knows for whom.
    """
    if is_unexplained(verdict, rule):
        return True
    if rule is None:
        return False
    if verdict.kind is Kind.HANG:
        is_open = verdict.domain is Domain.UNKNOWN and verdict.culprit == Locator()
        return is_open and rule.tier is Tier.TIMEOUT
    if verdict.kind is not Kind.CRASH:
        return False
    is_unspecific = verdict.domain is Domain.UNKNOWN or rule.specificity <= GENERIC_SPECIFICITY
    return is_unspecific and episode.hits[rule.id].count >= MIN_PRINTERS


def with_foremost(episode: Episode, verdict: Verdict) -> Verdict:
    """Return `verdict`, whose root is the first unrecognised line if that explains the rest."""
    if verdict.kind not in {Kind.CRASH, Kind.HANG}:
        return verdict
    lines = [line for line in verdict.unrecognised if _explains(episode, verdict, line)]
    if not lines:
        return verdict
    first = _first(episode, lines)
    where = placed(episode, accused(episode, first) or first.where)
    if not where and first.count < MIN_PRINTERS:
        where = verdict.culprit  # who printed it is not told, who ended first may be
    domain, retry = Domain.UNKNOWN, Retry.UNCLEAR
    return replace(
        verdict,
        cause=None,
        domain=domain,
        root_line=first.line,
        root_file=first.file,
        raised_in=None,
        culprit=where,
        retry=retry,
        operation=operation(verdict.kind, domain, retry, excludes=False, named=bool(where)),
        confidence=min(verdict.confidence, CONFIDENCE),
        rule=None,
        exclude_nodes=(),
        reasons=(*verdict.reasons, Reason(ReasonCode.UNKNOWN_TROUBLE_FIRST, detail=first.text)),
    )


def _first(episode: Episode, lines: Sequence[Unrecognised]) -> Unrecognised:
    """The line that names somebody, else the most telling; the first one of its report."""
    chosen = min(lines, key=lambda line: (not accused(episode, line), not line.where))
    report = (
        line
        for line in lines
        if line.file == chosen.file and 0 <= chosen.line - line.line <= SAME_REPORT_LINES
    )
    return min(report, key=lambda line: line.line)


def accused(episode: Episode, line: Unrecognised) -> Locator:
    """Return the one node or rank of the attempt that a line says is missing; empty for none.

    A node is accused by any line of trouble of another place that names it and no other; a rank
    only in words that say what it hasn't done: who asks and who is waited for are ranks, too.
    """
    node = placed(episode, line.where).node
    named = host_words(line.text) & own_nodes(episode)
    named -= {short_name(node)} if node else set()
    if len(named) == 1:
        return Locator(node=named.pop())
    ranks = {int(found[1] or found[2]) for found in _LACKING.finditer(line.text)}
    return Locator(rank=ranks.pop()) if len(ranks) == 1 else Locator()


def _explains(episode: Episode, verdict: Verdict, line: Unrecognised) -> bool:
    """Whether a line of trouble is one process's, or one node's, and came before the root."""
    if not line.is_trouble or _INDENTED.match(line.text):
        return False
    if verdict.kind is Kind.HANG and not _is_apart(episode, verdict, line):
        return False
    if not accused(episode, line):
        is_said = _SAYS.search(line.text) and not _WARNS.search(line.text)
        if not is_said or (not line.where and _ENDED.search(line.text)):
            return False
    return _comes_first(episode, verdict, line)


def _comes_first(episode: Episode, verdict: Verdict, line: Unrecognised) -> bool:
    if verdict.root_file is None or verdict.root_line is None:
        return True
    time, root_time = _time(episode, line), _root_time(episode, verdict)
    if line.file == verdict.root_file:
        is_near = None in (time, root_time) or time - root_time <= SKEW_MICROSECONDS  # type: ignore[operator]
        is_victims = _is_among_victims(episode, verdict, line) or (
            is_near and _is_apart(episode, verdict, line)
        )
        return line.line < verdict.root_line or is_victims
    if time is not None and root_time is not None:
        slack = SKEW_MICROSECONDS if _is_apart(episode, verdict, line) else SLACK_MICROSECONDS
        return time <= root_time + slack
    # Without clocks: a launcher that names a node, or the first that its own log says of trouble.
    is_after = any(
        hit.line.file == line.file and hit.line.line < line.line
        for hit in _hits_of(episode, verdict)
    )
    return not line.where or not is_after or _is_apart(episode, verdict, line)


def _is_among_victims(episode: Episode, verdict: Verdict, line: Unrecognised) -> bool:
    """Whether only words of victims are known, and more of them come after the line."""
    hits = [hit for hit in _hits_of(episode, verdict) if hit.line.file == line.file]
    is_cascade = bool(hits) and hits[0].signature.role is Role.CASCADE
    return is_cascade and any(hit.line.line > line.line for hit in hits)


def _is_apart(episode: Episode, verdict: Verdict, line: Unrecognised) -> bool:
    """Whether the verdict rests on what many print that wait, or are victims, and others than it.

    Merged logs, and clocks that nobody compared, put lines of several processes in any order.
    """
    where, hits = placed(episode, line.where), _hits_of(episode, verdict)
    printers = [printed_at(episode, hit) for hit in hits]
    waits = bool(hits) and (
        hits[0].signature.role is Role.CASCADE or hits[0].signature.tier is Tier.TIMEOUT
    )
    if not waits or len(hits) < MIN_PRINTERS:
        return False
    if where.rank is not None:
        known = [place.rank for place in printers]
        return None not in known and where.rank not in known
    nodes = [None if place.node is None else short_name(place.node) for place in printers]
    return where.node is not None and None not in nodes and short_name(where.node) not in nodes


def _time(episode: Episode, line: Unrecognised) -> int | None:
    if line.event_time is None:
        return None
    node = placed(episode, line.where).node
    return line.event_time - episode.clocks.of(node)


def _root_time(episode: Episode, verdict: Verdict) -> int | None:
    place = verdict.root_file, verdict.root_line
    hits = _hits_of(episode, verdict)
    root = next((hit for hit in hits if (hit.line.file, hit.line.line) == place), None)
    return None if root is None else episode.time(root)


def _hits_of(episode: Episode, verdict: Verdict) -> tuple[Hit, ...]:
    group = episode.hits.get(verdict.rule or "")
    return () if group is None else group.kept()
