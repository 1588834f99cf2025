"""Numeric failures: loss or gradients that are no numbers, and a loss scale that gives up.

They are of what the job computes, not of what it runs on, and are reported rather than acted on.
The first bad step is the root: where a check later ends the program, its words only confirm it.
"""

from __future__ import annotations

from dataclasses import replace

from relume.features.progress.assess import ProgressAssessment
from relume.features.progress.numerics import Trouble
from relume.models.diagnosis.finding import Finding
from relume.reasons import Cited, Reason, ReasonCode
from relume.verdict import Domain, Kind, Retry

_TROUBLES: dict[Trouble, tuple[str, Retry, float]] = {
    Trouble.NOT_FINITE: ("the loss or gradient norm is not finite", Retry.NO, 0.85),
    Trouble.SCALE_COLLAPSED: (
        "steps overflow at the lowest loss scale and are skipped",
        Retry.NO,
        0.85,
    ),
    Trouble.STEPS_SKIPPED: ("half of all steps or more were skipped for overflow", Retry.NO, 0.8),
    Trouble.LOSS_JUMPED: (
        "the loss is at least twice as high as it was, and stays there",
        Retry.UNCLEAR,
        0.7,
    ),
}
"""Words, whether the same run would do it again, and how sure it is that this is a failure."""


def numeric_finding(progress: ProgressAssessment) -> Finding | None:
    """Return what is wrong with the numbers of a job whose steps go on; null where nothing is."""
    if progress.trouble is None:
        return None
    _, retry, confidence = _TROUBLES[progress.trouble]
    return Finding(
        Kind.NUMERIC,
        progress.trouble.value,
        Domain.WORKLOAD,
        retry,
        confidence,
        file=progress.trouble_file,
        line=progress.trouble_line,
        reasons=(Reason(ReasonCode.NOT_FINITE, detail=_words(progress)),),
    )


def from_first_bad_step(finding: Finding, progress: ProgressAssessment) -> Finding:
    """Move a numeric `finding` of a printed check to the first bad step before it, if one shows.

    Only within one file and while the numbers were bad up to the end: an earlier trouble that
    training got over did not end it.
    """
    if finding.kind is not Kind.NUMERIC or progress.trouble is None:
        return finding
    file, line = progress.trouble_file, progress.trouble_line
    if file != finding.file or line is None or finding.line is None or line >= finding.line:
        return finding
    check = Cited(finding.rule, finding.file or "", finding.line)
    reason = Reason(ReasonCode.NOT_FINITE, (check,), detail=_words(progress))
    return replace(finding, line=line, reasons=(*finding.reasons, reason))


def _words(progress: ProgressAssessment) -> str:
    trouble, step = progress.trouble, progress.trouble_step
    words = _TROUBLES[trouble][0] if trouble is not None else ""
    since = "" if step is None else f"from step {step} on "
    return f"{since}{words} (progress lines: {progress.trouble_points})"
