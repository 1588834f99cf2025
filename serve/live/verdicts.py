"""The verdicts on the lines of one attempt; where our own code fails, Slurm's word is left."""

from __future__ import annotations

import logging
from dataclasses import replace
from typing import Any

from relume.advice import Operation
from relume.dumps import Dumps, RankDump
from relume.events import CollectiveDump
from relume.ingest.blocks import Block
from relume.ingest.loglines import LineParser
from relume.models.collectives.evidence import judge_dumps
from relume.models.diagnosis.episode import SchedulerFacts
from relume.models.diagnosis.settings import DiagnosisSettings
from relume.models.templates.history import TemplateHistory
from relume.reasons import Reason, ReasonCode
from relume.serve.analysis import AttemptAnalysis
from relume.serve.progress import Progress
from relume.verdict import Domain, Kind, Locator, Retry, Verdict

log = logging.getLogger(__name__)
MAX_DUMPS = 1 << 16
"""Ranks of one attempt whose dumps are looked at."""
_NO_FINDING: dict[str, Any] = {
    "kind": Kind.UNKNOWN,
    "cause": None,
    "domain": Domain.UNKNOWN,
    "root_line": None,
    "root_file": None,
    "culprit": Locator(),
    "retry": Retry.UNCLEAR,
    "operation": Operation.OBSERVE,
    "rule": None,
    "exclude_nodes": (),
}
"""The fields of a verdict that names nothing."""
DIAGNOSIS_FAILED = "diagnosis: it failed on this log, see the service's own log"


class Verdicts:
    """Asks the analysis of one attempt. A defect of ours must not cost the job its Advice.

    Parameters
    ----------
    attempt
        Which attempt.
    analysis
        Where its log lines are collected.
    settings
        Thresholds of the diagnosis.
    """

    def __init__(
        self, attempt: str, analysis: AttemptAnalysis, settings: DiagnosisSettings
    ) -> None:
        self._attempt, self._analysis, self._settings = attempt, analysis, settings
        self._nothing = Verdict(attempt=attempt, confidence=0.0, **_NO_FINDING)
        self._is_degraded = False
        self._dumps: dict[int, RankDump] = {}
        self._has_new_dumps = False

    @property
    def progress(self) -> Progress:
        """What its lines say of its progress."""
        return self._analysis.progress

    def feed(self, block: Block, parser: LineParser) -> None:
        """Take lines."""
        try:
            self._analysis.feed(block, parser)
        except Exception:
            log.exception("%s: diagnosis failed on %s", self._attempt, block.file)
            self._is_degraded = True

    def note_dump(self, dump: CollectiveDump) -> None:
        """Take the flight recorder of one rank; of several of a rank the newest counts."""
        if dump.rank not in self._dumps and len(self._dumps) >= MAX_DUMPS:
            return
        self._dumps[dump.rank] = RankDump(
            rank=dump.rank,
            file=f"dump of rank {dump.rank}",
            version=dump.version,
            groups=dump.groups,
            collectives=dump.collectives,
        )
        self._has_new_dumps = True

    def _take_dumps(self) -> None:
        """Judge the dumps that came since the last time, all ranks together."""
        if self._has_new_dumps:
            self._has_new_dumps = False
            ranks = tuple(dump for _, dump in sorted(self._dumps.items()))
            self._analysis.note_dumps(judge_dumps(Dumps(ranks)))

    def note_scheduler(self, facts: SchedulerFacts) -> None:
        """Take where and when the attempt ran, and its end when it has come."""
        self._analysis.note_scheduler(facts)

    def present(self, *, is_over: bool, is_hang: bool) -> Verdict:
        """Return the verdict on what is known by now, for decisions; cheap while a job is well."""
        if not self._is_degraded:
            try:
                self._take_dumps()
                if not (is_over or is_hang or self._analysis.shows_failure()):
                    return self._nothing
                # Nothing is done yet about slow jobs that run: that they are slow may wait.
                return self._analysis.verdict(self._settings, pace=is_over)
            except Exception:
                log.exception("%s: diagnosis failed", self._attempt)
                self._is_degraded = True
        return self._failed()

    def full(self) -> Verdict:
        """Return the verdict on everything seen, stragglers and numeric troubles included."""
        try:
            self._take_dumps()
            return self._analysis.verdict(self._settings)
        except Exception:
            log.exception("%s: diagnosis failed", self._attempt)
            return self._failed()

    def with_lines(self, verdict: Verdict) -> Verdict:
        """Return a verdict with its unrecognised lines, if it needs any."""
        try:
            return self._analysis.with_lines(verdict)
        except Exception:
            log.exception("%s: no lines to show", self._attempt)
            return verdict

    def teach(self, history: TemplateHistory) -> bool:
        """Take what the attempt printed into `history`, if it ended well; say whether it did."""
        try:
            return self._analysis.teach(history, self._settings)
        except Exception:
            log.exception("%s: nothing learned", self._attempt)
            return False

    def _failed(self) -> Verdict:
        return replace(self._nothing, missing_evidence=(DIAGNOSIS_FAILED,))


def identity(verdict: Verdict) -> tuple[object, ...]:
    """Return what tells two findings apart."""
    return verdict.kind, verdict.rule, verdict.cause, verdict.root_file, verdict.root_line


def without_cause(verdict: Verdict) -> Verdict:
    """Return the verdict without a finding that the job got over."""
    reasons = (*verdict.reasons, Reason(ReasonCode.NEW_STEPS))
    return replace(verdict, confidence=0.3, reasons=reasons, **_NO_FINDING)
