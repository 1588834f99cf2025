"""Bench `unmatched`: failures that no rule knows, and what is shown of them.

How many labelled failures of training jobs have no rule, and that each of these shows
unrecognised lines. Then how good those lines are, on failures whose line is labelled: all rules are
taken away, and the labelled line is looked for among the lines that are shown, beside the last
lines of the log, as many. Excerpts are judged as they are, behind a healthy run, and there also
with the healthy history of its family, learned without that very log.
"""

from __future__ import annotations

import tempfile
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from relume import __version__
from relume.benchmarks.corpora import failure_cases, loghub, m4, mlperf
from relume.benchmarks.corpora.common import find_files, read_lines
from relume.benchmarks.corpora.excerpts import has_failed, is_decided
from relume.benchmarks.corpora.failure_cases import Case
from relume.benchmarks.machine import describe, measured
from relume.benchmarks.perturb import HEALTHY_LINES, perturb
from relume.benchmarks.registry import data_folder
from relume.benchmarks.result import Bar, BenchResult, Measure
from relume.benchmarks.scoring import Tally
from relume.ingest.attempts import AttemptInput, SourceFile
from relume.ingest.blocks import blocks_of_lines
from relume.ingest.forms import JOB, KERNEL, form_of
from relume.ingest.loglines import LineParser
from relume.models.diagnosis.episode import SchedulerFacts
from relume.models.signatures.ruleset import Catalogue
from relume.models.templates.families import family_keys
from relume.models.templates.history import TemplateHistory
from relume.models.templates.unrecognised import MAX_SHOWN
from relume.serve.analysis import AttemptAnalysis
from relume.serve.offline import Analyzer
from relume.verdict import Verdict

MOST_WITHOUT = 0.03
"""Share of labelled failures that may have no rule."""
PERTURBED_WITHIN = 0.03
CUT = 0.6
"""Share of a healthy log before which a failure is spliced: its end must not be there."""
BEFORE, AFTER = 500, 20
"""Lines of BGL before an alert and after it."""
LEARNED = 200
"""Lines of BGL that are learned as one healthy attempt."""
SYSTEM_LOG = "site/bgl/system.log"
FAILED = SchedulerFacts("FAILED", exit_code=1)
_LINE_KINDS = frozenset({"crash", "hang"})
"""Failures that a line can tell; that steps become slow is read from the steps."""


@dataclass(slots=True)
class Unmatched:
    """Failures of one corpus, those without a rule, and of these those that show lines."""

    failures: int = 0
    without: list[str] = field(default_factory=list)
    silent: list[str] = field(default_factory=list)

    def add(self, name: str, verdict: Verdict) -> None:
        """Count the verdict on one labelled failure."""
        self.failures += 1
        if verdict.rule is None:
            self.without.append(name)
            if not verdict.unrecognised:
                self.silent.append(name)

    @property
    def share(self) -> float:
        """Share of failures without a rule."""
        return len(self.without) / max(self.failures, 1)


@dataclass(slots=True)
class Shown:
    """How often the labelled line is among those shown, first of them, among the last ones."""

    shown: Tally = field(default_factory=Tally)
    first: Tally = field(default_factory=Tally)
    last: Tally = field(default_factory=Tally)
    own: int = 0
    of: int = 0

    def add(self, name: str, lines: Sequence[int], right: set[int], end: int) -> None:
        """Compare the lines shown of a log of `end` lines with those labelled."""
        self.shown.add(name, right=bool(right & set(lines)))
        self.first.add(name, right=bool(right & set(lines[:1])))
        self.last.add(name, right=bool(right & set(range(end - MAX_SHOWN, end))))

    def add_own(self, lines: Sequence[int], begin: int) -> None:
        """Count how many of the lines shown are of the failure, which begins at line `begin`."""
        self.own += sum(line >= begin for line in lines)
        self.of += len(lines)

    def measures(self, name: str) -> dict[str, Measure]:
        """Return the shares, with their intervals."""
        found: dict[str, Measure] = {
            f"{name}_labelled_line_shown": self.shown.interval(),
            f"{name}_labelled_line_first": self.first.interval(),
            f"{name}_labelled_line_in_last_lines": self.last.interval(),
        }
        if self.of:
            found[f"{name}_shown_lines_of_the_failure"] = round(self.own / self.of, 4)
        return found


def run(data: Path | None) -> BenchResult:
    """Judge the recorded failures with all rules, and again with none."""
    wanted = "the folder with failure-cases/, m4-logs/, loghub/ and mlperf-training-v2.1/"
    folder = data_folder(data, "unmatched", wanted)
    corpus, logs = failure_cases.load(folder), mlperf.load(folder)
    (counts, shown), usage = measured(
        lambda: (_counts(folder, corpus, logs), _shown(folder, corpus, logs))
    )
    plain = [counts["failure_cases"], counts["m4"]]
    without = sum(len(one.without) for one in plain) / sum(one.failures for one in plain)
    measures: dict[str, Measure] = {
        "failures_without_a_rule": round(without, 4),
        "shown_of_those_without_a_rule": _told(counts.values()),
        "perturbed_without_a_rule_rise": round(
            counts["perturbed"].share - counts["failure_cases"].share, 4
        ),
    }
    for name, one in counts.items():
        measures[f"{name}_failures"] = one.failures
        measures[f"{name}_without_a_rule"] = len(one.without)
    for name, pass_ in shown.items():
        measures |= pass_.measures(name)
    return BenchResult(
        id="unmatched",
        version=__version__,
        machine=describe(),
        corpus={
            "name": f"{corpus.name}, {m4.FOLDER}, {loghub.FOLDER}",
            "hash": f"{corpus.hash}+{logs.hash}",
            "cases": len(corpus.cases),
        },
        measures=measures,
        bars={
            "failures_without_a_rule": Bar("<=", MOST_WITHOUT),
            "shown_of_those_without_a_rule": Bar("==", 1.0),
            "perturbed_without_a_rule_rise": Bar("<=", PERTURBED_WITHIN),
        },
        cpu_seconds=usage.cpu_seconds,
        wall_seconds=usage.wall_seconds,
        peak_rss_bytes=usage.peak_rss_bytes,
        notes=_notes(counts, shown),
    )


def _told(counts: Iterable[Unmatched]) -> float:
    """Share of the failures without a rule that show unrecognised lines; 1 where there is none."""
    found = list(counts)
    without = sum(len(one.without) for one in found)
    return 1 - sum(len(one.silent) for one in found) / max(without, 1)


def _counts(
    folder: Path, corpus: failure_cases.Corpus, logs: mlperf.HealthyLogs
) -> dict[str, Unmatched]:
    """Judge labelled failures with all rules; of BGL, that no training job ran on, its alerts."""
    analyzer = Analyzer()
    counts = {name: Unmatched() for name in ("failure_cases", "perturbed", "m4", "bgl")}
    copies = perturb(corpus.cases, mlperf.first_lines(logs, HEALTHY_LINES))
    for case in filter(_is_failure, corpus.cases):
        counts["failure_cases"].add(case.id, analyzer.diagnose_lines(case.id, case.text))
    for name, cases in copies.items():
        for case in filter(_is_failure, cases):
            verdict = analyzer.diagnose_lines(case.id, case.text)
            counts["perturbed"].add(f"{name}/{case.id}", verdict)
    for name, verdict in _of_m4(analyzer, folder):
        counts["m4"].add(name, verdict)
    for alert in _alerts(folder):
        counts["bgl"].add(alert.name, _judged(analyzer, alert.lines, alert.name))
    return counts


def _is_failure(case: Case) -> bool:
    """Whether both readings call a case a failure that lines tell, and the job's own."""
    return case.kind in _LINE_KINDS and is_decided(case) and has_failed(case)


def _of_m4(analyzer: Analyzer, folder: Path) -> Iterator[tuple[str, Verdict]]:
    """Yield the verdicts on the attempts that the diaries call failed."""
    with tempfile.TemporaryDirectory() as work:
        out = Path(work)
        for entry in m4.write(folder, out).attempts():
            if entry.incidents:
                files = [SourceFile(out / file.path, file.stream or JOB) for file in entry.files]
                attempt = AttemptInput(entry.title, tuple(files))
                yield entry.title, analyzer.diagnose(attempt).verdict


def _shown(
    folder: Path, corpus: failure_cases.Corpus, logs: mlperf.HealthyLogs
) -> dict[str, Shown]:
    """Look for the labelled line where no rule is there to find it."""
    analyzer = Analyzer(Catalogue.of([]))
    cases = [case for case in corpus.cases if _is_failure(case) and case.root_line is not None]
    healthy = [_Healthy(analyzer, path) for path in logs.paths]
    names = (
        "bgl",
        "bgl_with_history",
        "excerpts",
        "excerpts_of_more_lines",
        "spliced",
        "spliced_with_history",
    )
    found = {name: Shown() for name in names}
    for number, case in enumerate(cases):
        plain = _judged(analyzer, case.text, "job.log")
        _add(found["excerpts"], case, plain, 0)
        if len(case.text) > MAX_SHOWN:
            _add(found["excerpts_of_more_lines"], case, plain, 0)
        log = healthy[number % len(healthy)]
        lines = [*log.begin, *case.text]
        for name, history in (("spliced", None), ("spliced_with_history", log.others(healthy))):
            verdict = _judged(analyzer, lines, str(log.path), history)
            _add(found[name], case, verdict, len(log.begin))
    for alert in _alerts(folder):
        for name, history in (("bgl", None), ("bgl_with_history", alert.history())):
            verdict = _judged(analyzer, alert.lines, SYSTEM_LOG, history)
            lines_shown = [line.line for line in verdict.unrecognised]
            found[name].add(alert.name, lines_shown, alert.labelled, len(alert.lines))
    return found


def _add(found: Shown, case: Case, verdict: Verdict, offset: int) -> None:
    right = {line + offset for line in case.accept_line if line is not None}
    shown = [line.line for line in verdict.unrecognised]
    found.add(case.id, shown, right, offset + len(case.text))
    if offset:
        found.add_own(shown, offset)


class _Healthy:
    """A healthy log: its beginning, before which a case is spliced, and what it teaches."""

    def __init__(self, analyzer: Analyzer, path: Path) -> None:
        self.path = path
        lines = read_lines(path)
        self.begin = lines[: int(len(lines) * CUT)]
        self._analysis = _fed(analyzer, lines, str(path))
        self._history: TemplateHistory | None = None

    def others(self, logs: Sequence[_Healthy]) -> TemplateHistory:
        """Return what all logs but this one teach."""
        if self._history is None:
            self._history = TemplateHistory()
            for log in logs:
                if log is not self:
                    log._analysis.teach(self._history)  # noqa: SLF001 - one of its own kind
        return self._history


@dataclass(frozen=True, slots=True)
class _Alert:
    """Some lines of BGL around one run of alerts, and which of them are labelled as such."""

    name: str
    lines: list[str]
    labelled: set[int]
    normal_elsewhere: list[str]

    def history(self) -> TemplateHistory:
        """Return what the lines teach that are no alerts and stand elsewhere."""
        found, normal = TemplateHistory(), self.normal_elsewhere
        for start in range(0, len(normal), LEARNED):
            raws = (line.encode() for line in normal[start : start + LEARNED])
            found.learn(f"bgl/{start}@0.0", family_keys(None, [SYSTEM_LOG]), raws)
        return found


def _alerts(folder: Path) -> Iterator[_Alert]:
    """Yield each run of alerts with what came before it and, up to the next one, after it."""
    [path] = find_files(folder, loghub.FOLDER, "BGL/*_2k.log")
    rows = [line.partition(" ")[::2] for line in read_lines(path)]
    is_alert = [label != loghub.NORMAL for label, _ in rows]
    number = 0
    while number < len(rows):
        if not is_alert[number]:
            number += 1
            continue
        end = number
        while end < len(rows) and is_alert[end]:
            end += 1
        stop = end
        while stop < min(len(rows), end + AFTER) and not is_alert[stop]:
            stop += 1
        begin = max(0, number - BEFORE)
        yield _Alert(
            f"bgl-{number}",
            [text for _, text in rows[begin:stop]],
            set(range(number - begin, end - begin)),
            [t for at, (_, t) in enumerate(rows) if not (is_alert[at] or begin <= at < stop)],
        )
        number = end


def _judged(
    analyzer: Analyzer,
    lines: Sequence[str],
    name: str,
    history: TemplateHistory | None = None,
) -> Verdict:
    """Diagnose lines of an attempt that accounting calls FAILED."""
    analysis = _fed(analyzer, lines, name, history)
    analysis.note_scheduler(FAILED)
    return analysis.verdict()


def _fed(
    analyzer: Analyzer,
    lines: Sequence[str],
    name: str,
    history: TemplateHistory | None = None,
) -> AttemptAnalysis:
    analysis = analyzer.begin(name, (name,), history=history)
    probed = "\n".join(lines[:HEALTHY_LINES]).encode("utf-8", "replace")
    stream = KERNEL if form_of(probed) == KERNEL else "stdout"
    parser = LineParser(name, stream=stream)
    for block in blocks_of_lines(lines, name):
        analysis.feed(block, parser)
    return analysis


def _notes(counts: dict[str, Unmatched], shown: dict[str, Shown]) -> dict[str, Any]:
    """Ids only, none of the corpus' text: what to look at next."""
    return {
        "without_a_rule": {name: one.without for name, one in counts.items() if name != "bgl"},
        "without_a_rule_nor_lines": {name: one.silent for name, one in counts.items()},
        "labelled_line_not_shown": {name: one.shown.wrong for name, one in shown.items()},
        "left_out": "bigscience and exathlon: no failure of theirs is in the recordings",
    }
