"""How long a silence may be: from what the attempt showed of itself, and what its family knows."""

from __future__ import annotations

from dataclasses import dataclass, replace
from enum import StrEnum
from typing import Final

from relume.models.family.gaps import PhaseGaps
from relume.models.family.prior import Family, Prior
from relume.models.hang.known import TRAIN, Known
from relume.models.hang.settings import HangSettings

_NEVER: Final = float("inf")
_LONG: Final = 1e12
"""Longer than any silence, in seconds."""
_DAY_SECONDS: Final = 86_400.0


class Basis(StrEnum):
    """What a threshold rests on."""

    FEW = "few"
    """Too few gaps to know the job's pace."""
    LUMPS = "lumps"
    """Many steps in few gaps: they come in lumps, or were there at the first look."""
    UNKNOWN = "unknown"
    """The pace is known, the pauses are not."""
    FAMILY = "family"
    """Attempts of the same job, framework and size, which trained for as long."""
    OWN = "own"
    """A whole day of its own."""
    PHASE = "phase"
    """An evaluation, a checkpoint or an end that the job announced."""


PAUSES_KNOWN: Final = frozenset({Basis.FAMILY, Basis.OWN})
"""Thresholds that rest on pauses that were seen."""


@dataclass(frozen=True, slots=True)
class Thresholds:
    """How many seconds without a step are suspicious and actionable, and why."""

    suspicion_seconds: float
    actionable_seconds: float
    basis: Basis


def thresholds(known: Known, family: Family, settings: HangSettings, refuted: int) -> Thresholds:
    """Return how long the present silence may last; `refuted` suspicions have come to nothing.

    Examples
    --------
    >>> from relume.models.hang.settings import HangSettings
    >>> thresholds(Known(started_at=0), Family(), HangSettings(), 0).suspicion_seconds
    1800.0
    """
    if known.last_progress is None:
        return _of_startup(known, family, settings)
    prior = family.prior(known.kin(settings.few_gaps))
    gaps = _gaps(known, prior, known.phase)
    least, basis = _least(known, gaps, prior, settings)
    # What was silent without a word before may be so within an announced phase, or right after it.
    legal = [_legal(gaps, settings), _legal(_gaps(known, prior, TRAIN), settings)]
    if basis is Basis.LUMPS:
        legal.append(settings.actionable_ratio * (known.launch_seconds or 0.0))
    legal += [_hinted(known, prior, settings), family.same_step_seconds(known.last_step)]
    actionable = max(least, *legal)
    suspicion = _suspicion(known, gaps, settings, refuted)
    return Thresholds(min(suspicion, actionable), actionable, basis)


ACTIONABLE_SETTING: Final = "hang.actionable_seconds"
BUDGET_SETTING: Final = "hang.false_alarms_per_job_day"


def governing(
    known: Known, family: Family, settings: HangSettings, *, is_agreed: bool
) -> str | None:
    """Return the setting by which the present silence would have been allowed to last longer.

    Found by asking: it is the one that, as high as can be, is the threshold itself. Null where none
    of those that a site may set is: before the first step, where not even the pace is known, in an
    announced phase that was not seen before. Where another source agreed (`is_agreed`) it is the
    least actionable silence if the pauses of the job are not known; else time had little to do
    with it.

    Examples
    --------
    >>> governing(Known(started_at=0), Family(), HangSettings(), is_agreed=False) is None
    True
    """
    if is_agreed:
        basis = thresholds(known, family, settings, 0).basis
        return None if basis in PAUSES_KNOWN else ACTIONABLE_SETTING
    probes = (
        (ACTIONABLE_SETTING, replace(settings, actionable_seconds=_LONG)),
        (BUDGET_SETTING, replace(settings, unknown_seconds=_LONG)),
    )
    for name, probed in probes:
        if thresholds(known, family, probed, 0).actionable_seconds == _LONG:
            return name
    return None


def usual_gaps(known: Known, family: Family, settings: HangSettings) -> PhaseGaps:
    """Return what is known of the gaps of the present phase, by the attempt and those alike."""
    return _gaps(known, family.prior(known.kin(settings.few_gaps)), known.phase)


def _gaps(known: Known, prior: Prior, phase: str) -> PhaseGaps:
    own = known.gaps.get(phase, PhaseGaps())
    return own.joined(prior.phases.get(phase, PhaseGaps())) if prior.is_exact else own


def _legal(gaps: PhaseGaps, s: HangSettings) -> float:
    """How long a silence may be for the longest that was seen; more, if that was rare."""
    is_usual = gaps.near_longest >= s.few_gaps
    return (s.actionable_ratio if is_usual else s.few_ratio) * gaps.longest_seconds


def _hinted(known: Known, prior: Prior, s: HangSettings) -> float:
    """What attempts of another size or framework add: that there are pauses, not how long."""
    if prior.is_exact or known.phase not in prior.phases:
        return 0.0
    longest = prior.phases[known.phase].longest_seconds
    return min(s.phase_seconds, s.actionable_ratio * longest)


def _least(known: Known, gaps: PhaseGaps, prior: Prior, s: HangSettings) -> tuple[float, Basis]:
    """Return the least actionable silence of the present phase, and what it rests on."""
    basis, is_few = _basis(known, prior, s), gaps.count < s.few_gaps
    if known.phase != TRAIN:
        learned = s.unknown_seconds if basis is Basis.UNKNOWN else s.actionable_seconds
        return (s.phase_seconds if is_few else learned), Basis.PHASE
    if basis is not Basis.UNKNOWN:
        return s.actionable_seconds, basis
    if is_few and known.lines < s.few_steps:
        return s.few_seconds, Basis.FEW
    least = max(s.unknown_seconds, min(s.unknown_gaps * gaps.usual_seconds, s.phase_seconds))
    return least, Basis.LUMPS if is_few else basis


def _basis(known: Known, prior: Prior, s: HangSettings) -> Basis:
    """Whose pauses are known: those that come as rarely as the attempt is old have been seen.

    Judged by the time of the last step: a silence doesn't make an attempt know more.
    """
    seconds = known.trained_seconds
    if seconds >= s.known_seconds:
        return Basis.OWN
    is_covered = (
        prior.is_exact
        and seconds <= s.covered_ratio * prior.covered_seconds
        and known.lines <= s.covered_ratio * prior.covered_lines
    )
    return Basis.FAMILY if is_covered else Basis.UNKNOWN


def _suspicion(known: Known, gaps: PhaseGaps, s: HangSettings, refuted: int) -> float:
    seconds = max(s.suspicion_seconds, s.suspicion_gaps * gaps.usual_seconds)
    if known.phase != TRAIN:
        learned = s.actionable_ratio * gaps.longest_seconds
        return max(seconds, learned if gaps.count else s.unsure_seconds)
    allowed = s.suspicions_per_day * max(1.0, known.trained_seconds / _DAY_SECONDS)
    return max(seconds, gaps.longest_seconds) if refuted >= allowed else seconds


def _of_startup(known: Known, family: Family, s: HangSettings) -> Thresholds:
    """Before the first step: the family tells how long that takes, or nobody does."""
    launches = family.launches(known.nodes)
    if not launches:
        return Thresholds(s.startup_seconds, _NEVER, Basis.UNKNOWN)
    longest = max(launches)
    suspicion = max(s.startup_known_seconds, s.actionable_ratio * longest)
    if len(launches) < s.few_gaps:
        return Thresholds(suspicion, _NEVER, Basis.FEW)
    actionable = max(s.startup_actionable_seconds, s.startup_ratio * longest)
    return Thresholds(min(suspicion, actionable), actionable, Basis.FAMILY)
