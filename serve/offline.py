"""The offline runner: files or lines in, one verdict an attempt out."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field

from relume.errors import InputError, RelumeError
from relume.features.progress.formats import ProgressFormat
from relume.ingest.attempts import JOB, KERNEL, SACCT, SLURMCTLD, AttemptInput, SourceFile
from relume.ingest.blocks import blocks_of_lines
from relume.ingest.forms import form_of
from relume.ingest.loglines import LineParser
from relume.ingest.opening import read_blocks
from relume.ingest.sacct import AccountingRow, read_rows
from relume.ingest.skips import DAMAGED, SkipCounts
from relume.models.diagnosis.episode import SchedulerFacts
from relume.models.diagnosis.settings import DiagnosisSettings
from relume.models.signatures.engine import build_engine
from relume.models.signatures.loader import load_catalogue
from relume.models.signatures.matcher import Matcher
from relume.models.signatures.ruleset import Catalogue
from relume.serve.analysis import AttemptAnalysis
from relume.serve.scanplan import Scanner, make_plan
from relume.slurm.hostlists import expand
from relume.verdict import Verdict

PROBED_LINES = 400
"""Lines of a record that tell what it is."""
CASE_FILE = "text"
"""File name of the lines of a `--cases` record."""


@dataclass(slots=True)
class Diagnosed:
    """A verdict with what was not read on the way to it."""

    verdict: Verdict
    skipped: SkipCounts = field(default_factory=SkipCounts)


class Analyzer:
    """Everything that is compiled once: rules, the scan engine, settings. Not thread-safe.

    Parameters
    ----------
    catalogue
        Signature rules; the packaged ones when null.
    user_formats
        The site's own progress patterns, tried before the built-in ones.
    settings
        Thresholds of the diagnosis.
    zone
        IANA name of the clock of lines without a zone.
    engine
        ``hyperscan`` or ``re2``; both find the same lines.
    """

    def __init__(
        self,
        catalogue: Catalogue | None = None,
        *,
        user_formats: Sequence[ProgressFormat] = (),
        settings: DiagnosisSettings | None = None,
        zone: str = "UTC",
        engine: str = "hyperscan",
    ) -> None:
        self.catalogue = catalogue or load_catalogue()
        self._settings = settings or DiagnosisSettings()
        self._zone = zone
        plan = make_plan(self.catalogue, user_formats)
        self._scanner = Scanner(
            build_engine(plan.patterns, prefer=engine),
            plan,
            Matcher(self.catalogue),
            self.catalogue,
        )

    def begin(self, name: str, files: Sequence[str]) -> AttemptAnalysis:
        """Start the analysis of one attempt whose logs will be fed block by block."""
        return AttemptAnalysis(name, files, scanner=self._scanner)

    def diagnose_lines(self, name: str, lines: Sequence[str]) -> Verdict:
        """Diagnose one attempt given as a list of lines; line numbers are list indices."""
        analysis = self.begin(name, (CASE_FILE,))
        form = form_of("\n".join(lines[:PROBED_LINES]).encode("utf-8", "replace"))
        stream = form if form in {KERNEL, SLURMCTLD} else JOB
        parser = LineParser(CASE_FILE, stream=stream, zone=self._zone)
        for block in blocks_of_lines(lines, CASE_FILE):
            analysis.feed(block, parser)
        return analysis.verdict(self._settings)

    def diagnose(self, attempt: AttemptInput) -> Diagnosed:
        """Read every log of `attempt` and diagnose it.

        Raises
        ------
        InputError
            When a named log cannot be read.
        """
        skipped = SkipCounts()
        skipped.merge(attempt.skipped)
        logs = [source for source in attempt.files if source.form != SACCT]
        analysis = self.begin(attempt.name, [str(source.path) for source in logs])
        for source in logs:
            self._read(source, analysis, skipped)
        for source in attempt.files:
            if source.form == SACCT:
                self._read_accounting(source, analysis, skipped)
        return Diagnosed(analysis.verdict(self._settings), skipped)

    def diagnose_all(self, attempts: Iterable[AttemptInput]) -> list[Diagnosed]:
        """Diagnose several attempts, one after the other."""
        return [self.diagnose(attempt) for attempt in attempts]

    def _read(self, source: SourceFile, analysis: AttemptAnalysis, skipped: SkipCounts) -> None:
        parser = LineParser(
            str(source.path), stream=source.form, zone=self._zone, modified=source.modified
        )
        is_empty, damaged = True, skipped.as_dict().get(DAMAGED, 0)
        for block in read_blocks(source.path, skipped=skipped):
            analysis.feed(block, parser)
            is_empty = False
        if skipped.as_dict().get(DAMAGED, 0) > damaged:
            analysis.note_lost_end(str(source.path))
        if is_empty:  # standard input and pipes can't be looked at before they are read
            raise InputError(
                f"the log {source.path} is empty", expected="at least one line of text"
            )

    def _read_accounting(
        self, source: SourceFile, analysis: AttemptAnalysis, skipped: SkipCounts
    ) -> None:
        text = (
            line
            for block in read_blocks(source.path, skipped=skipped)
            for line in block.data.decode("utf-8", "replace").split("\n")
        )
        rows = read_rows(text, skipped, zone=self._zone)
        if len({row.job_id for row in rows}) == 1:
            # Requeues give several rows of one job: the last one is this attempt's. Rows of
            # several jobs don't say which of them wrote these logs.
            analysis.note_scheduler(_facts(rows[-1]))


def _facts(row: AccountingRow) -> SchedulerFacts:
    try:
        nodes = tuple(expand(row.nodelist)) if row.nodelist else ()
    except RelumeError:
        nodes = ()
    return SchedulerFacts(row.state, row.exit_code, row.signal, nodes, row.start, row.end)
