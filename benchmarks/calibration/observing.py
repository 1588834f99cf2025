"""Labelled attempts as observations: recorded cases, and generated episodes of other seeds."""

from __future__ import annotations

import tempfile
from collections.abc import Iterable
from dataclasses import dataclass
from hashlib import sha256
from pathlib import Path

from relume.benchmarks.calibration.fitting import Observation
from relume.benchmarks.corpora.failure_cases import Case
from relume.benchmarks.episodes.bench import digest_of
from relume.benchmarks.episodes.generate import Episode
from relume.benchmarks.scoring import is_undecided, kind_is_right
from relume.ingest.attempts import find_attempts
from relume.models.diagnosis.confidence import STATED, packaged
from relume.models.diagnosis.settings import DiagnosisSettings
from relume.reasons import ReasonCode
from relume.serve.offline import Analyzer
from relume.verdict import Verdict

ANSWERS_ALWAYS = DiagnosisSettings(confidence_threshold=0.0)
"""Without abstention, since an abstention says nothing of the kind that it doesn't name."""


@dataclass(frozen=True, slots=True)
class Observed:
    """Observations and the hash of what they were made on."""

    observations: tuple[Observation, ...]
    hash: str


def observe_cases(cases: Iterable[Case]) -> tuple[Observation, ...]:
    """Judge recorded cases; those that show no end can't be missed and count only when right."""
    analyzer = Analyzer(settings=ANSWERS_ALWAYS)
    found = []
    for case in cases:
        verdict = analyzer.diagnose_lines(case.id, case.text)
        right = kind_is_right(case, verdict.kind.value)
        if right or not is_undecided(case):
            found.append(observation(case.id, verdict, right=right))
    return tuple(found)


def observe_episodes(asked: Iterable[Episode]) -> Observed:
    """Judge generated episodes; those of one story belong together."""
    analyzer = Analyzer(settings=ANSWERS_ALWAYS)
    digest, found = sha256(), []
    for episode in asked:
        digest.update(digest_of(episode).encode())
        label = episode.label
        with tempfile.TemporaryDirectory() as work:
            episode.write(Path(work))
            verdict = analyzer.diagnose(find_attempts([work])[0]).verdict
        right = verdict.kind.value in label.kinds
        found.append(observation(label.story, verdict, right=right))
    return Observed(tuple(found), digest.hexdigest()[:16])


def observation(group: str, verdict: Verdict, *, right: bool) -> Observation:
    """Return what a verdict rested on, as its reasons say."""
    details = [one.detail for one in verdict.reasons if one.code is ReasonCode.WEIGHED]
    words = details[0] or ""
    if words.startswith(STATED):
        marks, stated = None, float(words.removeprefix(STATED))
        unweighed = packaged().of_finding(verdict.kind, stated)
    else:
        marks, stated = tuple(words.replace(" ", "_").split(",_")), 0.0
        unweighed = packaged().of_line(marks)
    is_doubted = any(one.code is ReasonCode.DOUBT for one in verdict.reasons)
    factor = verdict.confidence / unweighed if is_doubted else 1.0
    return Observation(group, right, verdict.kind, marks, stated, round(factor, 2))
