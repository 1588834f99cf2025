"""Bench `episodes`: who and which line, on generated failures of many ranks (simulated).

The bars are on the two halves that rule writers know of. The third group only tells how a verdict
does on forms that none of them has read, and must not leave out a node for a mistake of the job.
"""

from __future__ import annotations

import tempfile
from collections.abc import Iterable
from hashlib import sha256
from pathlib import Path

from relume import __version__
from relume.benchmarks.episodes.generate import (
    PER_STORY,
    SEED,
    UNSEEN_PER_STORY,
    Episode,
    episodes,
    unseen,
)
from relume.benchmarks.episodes.label import Forms, Label
from relume.benchmarks.episodes.scoring import (
    QUESTIONS,
    Answer,
    Score,
    answer_of,
    answer_of_guess,
    by_story,
    score,
)
from relume.benchmarks.log_baselines import BASELINES
from relume.benchmarks.machine import Usage, describe, measured
from relume.benchmarks.result import Bar, BenchResult, Measure
from relume.ingest.attempts import SACCT, find_attempts
from relume.models.scoring.answers import expected_calibration_error
from relume.models.scoring.document import calibration
from relume.serve.offline import Analyzer

QUICK_PER_STORY = 2
QUICK_UNSEEN_PER_STORY = 1
_BARS = {
    "culprit_node": Bar(">=", 0.95),
    "root_line": Bar(">=", 0.95),
    "exclusions_on_workload": Bar("==", 0),
    "unseen_exclusions_on_workload": Bar("==", 0),
}
_HALVES = {"known_forms": Forms.KNOWN, "held_out_forms": Forms.OTHER}

Pairs = list[tuple[Label, Answer]]


def run(data: Path | None = None, *, quick: bool = False) -> BenchResult:
    """Diagnose all episodes; `data` is not used. `quick` takes two of each story, and one unseen."""
    del data
    per_story = QUICK_PER_STORY if quick else PER_STORY
    few = QUICK_UNSEEN_PER_STORY if quick else UNSEEN_PER_STORY
    (answers, new), usage = measured(
        lambda: (Answers(episodes(SEED, per_story)), Answers(unseen(SEED, few)))
    )
    return result_of(answers, new, usage)


def result_of(answers: Answers, new: Answers, usage: Usage) -> BenchResult:
    """Score the answers against the labels; `new` are those to the unseen group."""
    ours = answers.ours
    return BenchResult(
        id="episodes",
        version=__version__,
        machine=describe(),
        corpus={
            "name": "episodes (simulated)",
            "hash": answers.digest,
            "episodes": len(ours),
            "held_out": sum(label.forms is Forms.OTHER for label, _ in ours),
            "largest_ranks": max(label.ranks for label, _ in ours),
            "unseen": len(new.ours),
            "unseen_hash": new.digest,
        },
        measures=_measures(answers) | _unseen_measures(new),
        bars=_BARS,
        cpu_seconds=usage.cpu_seconds,
        wall_seconds=usage.wall_seconds,
        peak_rss_bytes=usage.peak_rss_bytes,
        notes=_notes(ours) | {"unseen": _notes(new.ours)},
    )


class Answers:
    """Our answers and those of the baselines to the same episodes, and the digest of these."""

    def __init__(self, asked: Iterable[Episode]) -> None:
        self.ours: Pairs = []
        self.baselines: dict[str, Pairs] = {name: [] for name in BASELINES}
        digest = sha256()
        analyzer = Analyzer()
        for episode in asked:
            digest.update(digest_of(episode).encode())
            self._answer(analyzer, episode)
        self.digest = digest.hexdigest()[:16]

    def _answer(self, analyzer: Analyzer, episode: Episode) -> None:
        label = episode.label
        with tempfile.TemporaryDirectory() as work:
            episode.write(Path(work))
            attempt = find_attempts([work])[0]
            verdict = analyzer.diagnose(attempt).verdict
            names = [
                str(source.path).removeprefix(work).lstrip("/")
                for source in attempt.files
                if source.form != SACCT
            ]
        self.ours.append((label, answer_of(verdict, work)))
        files = {name: episode.files[name].split("\n") for name in names}
        for name, guess in BASELINES.items():
            self.baselines[name].append((label, answer_of_guess(guess(files))))


def digest_of(episode: Episode) -> str:
    """Return a hash of an episode's files and label: equal episodes have equal ones."""
    label = episode.label
    free = (sorted(label.harmless), sorted(label.excludable))
    told = (label.kinds, label.domains, label.node, label.rank, label.roots)
    text = "".join(f"{name}\0{content}\0" for name, content in sorted(episode.files.items()))
    return sha256(f"{label.episode}\0{told}\0{free}\0{text}".encode()).hexdigest()


def _measures(answers: Answers) -> dict[str, Measure]:
    total = score(answers.ours)
    measures: dict[str, Measure] = _shares(total)
    measures["expected_calibration_error"] = round(expected_calibration_error(total.confidence), 4)
    measures |= _accusations(total)
    for half, forms in _HALVES.items():
        part = score((label, a) for label, a in answers.ours if label.forms is forms)
        measures |= {f"{half}_{name}": value for name, value in _shares(part).items()}
    for name, pairs in answers.baselines.items():
        shares = _shares(score(pairs))
        measures |= {f"{name}_{q}": shares[q] for q in ("culprit_node", "root_line")}
    return measures


def _unseen_measures(new: Answers) -> dict[str, Measure]:
    total = score(new.ours)
    measures = _shares(total) | _accusations(total)
    return {f"unseen_{name}": value for name, value in measures.items()}


def _accusations(counted: Score) -> dict[str, Measure]:
    """Answers that would hurt: nodes left out wrongly, somebody named where nobody is to blame."""
    return {
        "exclusions_on_workload": len(counted.workload_excluded),
        "exclusions_of_others": len(counted.others_excluded),
        "named_where_nobody_is": len(counted.named_for_nobody),
    }


def _shares(counted: Score) -> dict[str, Measure]:
    return {question: counted.tallies[question].interval() for question in QUESTIONS}


def _notes(ours: Pairs) -> dict[str, object]:
    """Rows of the stories, the worst first, and the names of the episodes that went wrong."""
    total = score(ours)
    return {
        "calibration": calibration(total.confidence),
        "stories": by_story(ours),
        "wrong": {question: total.tallies[question].wrong for question in QUESTIONS},
        "workload_excluded": total.workload_excluded,
        "others_excluded": total.others_excluded,
        "named_where_nobody_is": total.named_for_nobody,
    }
