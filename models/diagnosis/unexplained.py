"""Whether nobody can say why an attempt failed, or whether it did."""

from __future__ import annotations

from relume.models.diagnosis.consequences import GENERIC_SPECIFICITY
from relume.models.diagnosis.episode import Episode
from relume.models.diagnosis.scheduler import COMPLETED
from relume.models.signatures.rule import Role, Signature, Tier
from relume.verdict import Domain, Kind, Verdict

_ENDS = frozenset({Tier.POINTER, Tier.TEARDOWN})
"""Tiers of lines that tell that something ended, and where, but not why."""


def is_unexplained(verdict: Verdict, rule: Signature | None) -> bool:
    """Whether `verdict` leaves open what happened, given its rule (null for none).

    So does one that rests on what victims print, on an exit code, or on a rule that says only that
    something failed. A slow or a numerically sick job is explained, and so is what the scheduler
    decided.
    """
    if verdict.kind is Kind.UNKNOWN:
        return True
    if verdict.kind not in {Kind.CRASH, Kind.HANG} or verdict.domain is Domain.SCHEDULER:
        return False
    if rule is None:
        return verdict.domain is Domain.UNKNOWN
    if rule.role is Role.CASCADE or rule.tier in _ENDS:
        return True
    return rule.specificity <= GENERIC_SPECIFICITY and rule.domain is Domain.UNKNOWN


def has_open_end(verdict: Verdict, episode: Episode) -> bool:
    """Whether an attempt passes for healthy by its steps alone: nobody said that it ended well.

    What came after its last step may be what ended it.
    """
    is_told = episode.clean_end is not None or episode.scheduler.state == COMPLETED
    return verdict.kind is Kind.BENIGN and not is_told
