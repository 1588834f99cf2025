"""The offline runner: files or lines in, one verdict an attempt out."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from functools import partial
from pathlib import Path

from relume.errors import InputError
from relume.features.progress.formats import ProgressFormat
from relume.ingest.accounting.read import read_rows
from relume.ingest.accounting.row import AccountingRow
from relume.ingest.accounting.states import BADNESS
from relume.ingest.attempts import JOB, KERNEL, SACCT, SLURMCTLD, AttemptInput, SourceFile
from relume.ingest.blocks import blocks_of_lines
from relume.ingest.dumps.documents import HostileDumpError
from relume.ingest.dumps.read import read_dumps
from relume.ingest.forms import METRIC_FORMS, NODE_FORMS, form_of
from relume.ingest.loglines import LineParser
from relume.ingest.opening import read_blocks
from relume.ingest.skips import DAMAGED, SkipCounts
from relume.models.collectives.evidence import judge_dumps
from relume.models.diagnosis.episode import SchedulerFacts
from relume.models.diagnosis.settings import DiagnosisSettings
from relume.models.signatures.engine import DatabaseStore
from relume.models.signatures.loader import load_catalogue
from relume.models.signatures.ruleset import Catalogue
from relume.models.templates.history import TemplateHistory
from relume.serve.analysis import AttemptAnalysis
from relume.serve.scanplan import Scanner, make_scanner
from relume.verdict import Verdict

PROBED_LINES = 400
"""Lines of a record that tell what it is."""
MAX_REFUSED = 8
"""Hostile dumps of which it is told what they tried; the others are counted."""
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
    history
        What healthy attempts print; null where nobody knows. It may grow meanwhile.
    store
        Where compiled rules are kept from one start to the next; nowhere when null.
    """

    def __init__(  # noqa: PLR0913 - what is compiled, each by its name
        self,
        catalogue: Catalogue | None = None,
        *,
        user_formats: Sequence[ProgressFormat] = (),
        settings: DiagnosisSettings | None = None,
        zone: str = "UTC",
        engine: str = "hyperscan",
        history: TemplateHistory | None = None,
        store: DatabaseStore | None = None,
    ) -> None:
        self.history = history
        self.catalogue = catalogue or load_catalogue()
        self._settings = settings or DiagnosisSettings()
        self._zone = zone
        self._made_of = tuple(user_formats), engine, store
        self._scanner = make_scanner(self.catalogue, user_formats, engine=engine, store=store)

    @property
    def scanner(self) -> Scanner:
        """What reads lines, compiled once."""
        return self._scanner

    @property
    def readings(self) -> tuple[object, ...]:
        """What else than the rules tells how lines are read: the site's formats, and the zone."""
        return *self._made_of[0], self._zone

    def __reduce__(self) -> tuple[partial[Analyzer], tuple[Catalogue]]:
        """Pickle what it was made of: in another process it is compiled anew."""
        formats, engine, store = self._made_of
        again = partial(
            Analyzer,
            user_formats=formats,
            settings=self._settings,
            zone=self._zone,
            engine=engine,
            history=self.history,
            store=store,
        )
        return again, (self.catalogue,)

    def begin(
        self, name: str, files: Sequence[str], *, history: TemplateHistory | None = None
    ) -> AttemptAnalysis:
        """Start the analysis of one attempt whose logs will be fed block by block.

        `history` stands in the place of the analyzer's own.
        """
        known = self.history if history is None else history
        return AttemptAnalysis(name, files, scanner=self._scanner, history=known)

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
            When a named log cannot be read, and when there is none: neither accounting of many
            jobs nor what Slurm says of nodes is one.
        """
        skipped = SkipCounts()
        skipped.merge(attempt.skipped)
        logs = []
        for source in attempt.files:
            if source.form in NODE_FORMS:
                skipped.add("node_file", file=source.path)
            elif source.form in METRIC_FORMS:
                skipped.add("metrics_file", file=source.path)
            elif source.form != SACCT:
                logs.append(source)
        names = [str(source.path) for source in (*logs, *attempt.dumps)]
        analysis = self.begin(attempt.name, names)
        if self.history is not None:  # where it is tells whose it is, however it was named
            own = [Path(source.path) for source in logs if source.form not in {KERNEL, SLURMCTLD}]
            analysis.note_job(None, [str(path.absolute()) for path in own])
        for source in logs:
            self._read(source, analysis, skipped)
        told = [
            self._read_accounting(source, analysis, skipped)
            for source in attempt.files
            if source.form == SACCT
        ]
        if not logs and not any(told) and not attempt.dumps:
            raise _nothing_of_one_job(attempt)
        self._read_dumps(attempt, analysis, skipped)
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

    def _read_dumps(
        self, attempt: AttemptInput, analysis: AttemptAnalysis, skipped: SkipCounts
    ) -> None:
        """Take what the dumps show; one that is all there is, and can't be used, is refused."""
        if not attempt.dumps:
            return
        files = [(source.path, source.form) for source in attempt.dumps]
        dumps, refused = read_dumps(files, skipped)
        if not dumps and not attempt.files and refused:
            raise refused[0]
        hostile = [str(error) for error in refused if isinstance(error, HostileDumpError)]
        analysis.note_dumps(judge_dumps(dumps, tuple(hostile[:MAX_REFUSED])))

    def _read_accounting(
        self, source: SourceFile, analysis: AttemptAnalysis, skipped: SkipCounts
    ) -> bool:
        """Take what accounting says of the attempt; return whether it is of one job."""
        text = (
            line
            for block in read_blocks(source.path, skipped=skipped)
            for line in block.data.decode("utf-8", "replace").split("\n")
        )
        facts = facts_of_one_job(read_rows(text, skipped, zone=self._zone))
        if facts is None:
            skipped.add("sacct_jobs", file=source.path)
            return False
        analysis.note_scheduler(facts)
        return True


def facts_of_one_job(rows: Iterable[AccountingRow]) -> SchedulerFacts | None:
    """Return what the rows of one job say of its last attempt; null when they are of several.

    Of a heterogeneous job, whose components are jobs of their own, the one that ended worst tells
    how, and all of them tell where and when. A step that ran out of memory says why its job FAILED.
    """
    newest: dict[str, AccountingRow] = {}
    for row in rows:
        if any(_leader(row) != _leader(other) for other in newest.values()):
            return None
        known = newest.get(row.job_id)
        if known is None or (row.submit or 0) >= (known.submit or 0):
            newest[row.job_id] = row
    if not newest:
        return None
    worst = max(newest.values(), key=lambda row: BADNESS.get(row.state, 0))
    starts = [row.start for row in newest.values() if row.start is not None]
    ends = [row.end for row in newest.values()]
    return SchedulerFacts(
        worst.outcome,
        worst.exit_code,
        worst.signal,
        tuple(dict.fromkeys(node for row in newest.values() for node in row.nodes)),
        min(starts, default=None),
        None if None in ends else max(end for end in ends if end is not None),
    )


def _leader(row: AccountingRow) -> str:
    return row.job_id.partition("+")[0]


def _nothing_of_one_job(attempt: AttemptInput) -> InputError:
    accounting = next((source for source in attempt.files if source.form == SACCT), None)
    if accounting is None:
        return InputError(
            f"no log in {attempt.name}",
            found="what Slurm says of nodes",
            expected="a log, or the accounting rows of one job",
            hint="`relume lake import` lands it in the table node_event of a lake",
        )
    return InputError(
        f"no log in {attempt.name}",
        found="accounting that is not of one job",
        expected="a log, or the accounting rows of one job",
        hint=f"`relume scan --accounting {accounting.path}` judges all of its jobs",
    )
