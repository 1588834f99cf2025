"""How sure a verdict is that the kind is right: a table of weights, fitted on labelled attempts.

What makes a failure line good evidence is named by marks (`marks_of`): who can have printed it, how
specific it is, what stands beside it. Each mark has a weight in log-odds; their sum is the
confidence. No mark of strength lowers it and no mark of weakness raises it, since the fit keeps
their signs and the order of the tiers. `confidence.toml` holds the weights and says what they were
fitted on; bench `calibration` makes it. Nothing is computed here but a sum.
"""

from __future__ import annotations

import math
import tomllib
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, replace
from functools import cache
from importlib.resources import files

from relume.models.diagnosis.consequences import CAUSES, is_generic, is_system_log
from relume.models.diagnosis.episode import Episode
from relume.models.diagnosis.finding import Finding
from relume.models.diagnosis.order import Root
from relume.models.diagnosis.scheduler import FAILED_STATES
from relume.models.signatures.hit import Hit
from relume.models.signatures.rule import Role, Tier
from relume.reasons import Reason, ReasonCode
from relume.verdict import Kind

TIER_MARKS = tuple(f"tier_{tier}" for tier in Tier)
"""Each root has one of them; the strongest first."""
STRENGTHS = ("several_printers", "system_agrees")
WEAKNESSES = ("victims_words", "unspecific", "disputed", "no_clock", "far_from_end")
STATED = "no failure line, its rule states "
"""Begins the words for a finding that no line shows; a number follows."""
FAR_FROM_END_LINES = 500
"""A job that prints so much after its failure line may have got over it."""


@dataclass(frozen=True, slots=True)
class Table:
    """Weights of marks in log-odds (`base` for all), and what findings without a line gain.

    `seen` has for a kind the least confidence (0-1) that was stated of any labelled one, and what
    is to be added, in log-odds. `most` is claimed at most (0-1): labelled attempts can't show more.
    """

    base: float
    marks: Mapping[str, float]
    seen: Mapping[str, tuple[float, float]]
    most: float = 1.0

    def of_line(self, marks: Iterable[str]) -> float:
        """Return the confidence (0-1) of a failure line with these marks.

        Examples
        --------
        >>> round(Table(2.0, {"unspecific": -1.0}, {}).of_line(["unspecific"]), 3)
        0.731
        """
        odds = self.base + math.fsum(self.marks.get(mark, 0.0) for mark in marks)
        return self.most * _share(odds)

    def of_finding(self, kind: Kind, stated: float) -> float:
        """Return the confidence of a finding that no line shows, stated by its own rule (0-1).

        Stated weaker than any labelled one it gains nothing.

        Examples
        --------
        >>> table = Table(0.0, {}, {"benign": (0.5, 1.0)})
        >>> round(table.of_finding(Kind.BENIGN, 0.5), 3), table.of_finding(Kind.BENIGN, 0.4)
        (0.731, 0.4)
        """
        least, gain = self.seen.get(kind, (0.0, 0.0))
        if not gain or not 0.0 < stated < 1.0 or (gain > 0.0 and stated < least):
            return min(self.most, stated)
        return min(self.most, _share(math.log(stated / (1.0 - stated)) + gain))


@cache
def packaged() -> Table:
    """Return the table that Relume comes with."""
    text = files("relume.models.diagnosis").joinpath("confidence.toml").read_text("utf-8")
    document = tomllib.loads(text)
    seen = {kind: (least, gain) for kind, (least, gain) in document["seen"].items()}
    return Table(document["base"], document["marks"], seen, document["most"])


def weighed(episode: Episode, root: Root | None, finding: Finding) -> Finding:
    """Return `finding` with its confidence, and the reason that names the marks it rests on."""
    table = packaged()
    if root is None:
        confidence = table.of_finding(finding.kind, finding.confidence)
        detail = f"{STATED}{finding.confidence}"
    else:
        marks = marks_of(episode, root)
        confidence, detail = table.of_line(marks), ", ".join(marks).replace("_", " ")
    reason = Reason(ReasonCode.WEIGHED, detail=detail)
    return replace(finding, confidence=confidence, reasons=(*finding.reasons, reason))


def marks_of(episode: Episode, root: Root) -> tuple[str, ...]:
    """Return the marks of the evidence for `root`, its tier first."""
    hit = root.hit
    signature, line = hit.signature, hit.line
    group = episode.hits.get(signature.id)
    end = episode.ends.get(line.file)
    told = {
        "several_printers": group is not None and len(group.printers) > 1,
        "system_agrees": _system_agrees(episode, root),
        "victims_words": signature.role is Role.CASCADE,
        "unspecific": is_generic(hit),
        "disputed": any(_disputes(other, hit) for other in root.contenders),
        "no_clock": line.event_time is None,
        "far_from_end": end is not None
        and bool(end.lines)
        and end.lines[-1][0] - line.line > FAR_FROM_END_LINES,
    }
    return (f"tier_{signature.tier}", *(mark for mark, holds in told.items() if holds))


def _system_agrees(episode: Episode, root: Root) -> bool:
    """Whether the kernel, a controller or accounting tells of a failure as well, or themselves."""
    if episode.scheduler.state in FAILED_STATES:
        return True
    return any(is_system_log(hit) for hit in (root.hit, *root.contenders))


def _disputes(other: Hit, root: Hit) -> bool:
    """Whether a line that could have been the root means another kind of failure."""
    signature = other.signature
    is_cause = signature.role in CAUSES and not is_generic(other)
    return is_cause and signature.kind is not root.signature.kind


def _share(odds: float) -> float:
    return 0.5 + 0.5 * math.tanh(odds / 2.0)  # the logistic function, without overflow
