"""Lines that no rule, progress format or marker knows, from where an attempt's progress ended."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from itertools import chain
from typing import TypeAlias

from relume.events import LogLine
from relume.features.progress.parse import parse_located
from relume.ingest.loglines import LineParser
from relume.models.diagnosis.episode import Episode, LogEnd
from relume.models.ranks.mapping import RankMap
from relume.models.templates.familiar import NOTHING
from relume.models.templates.families import family_keys
from relume.models.templates.history import TemplateHistory
from relume.models.templates.shapes import Shape, shape_of
from relume.models.templates.unrecognised import MAX_SHOWN, LateLine, unrecognised
from relume.serve.kept import KeptLines
from relume.serve.scanplan import Scanner
from relume.serve.tails import Tails
from relume.verdict import JOB_STREAMS, Locator, Unrecognised

MAX_LINES = 4096
"""Late lines looked at, over all logs: some hundredths of a second."""
MIN_LINES = 16
"""Those of each log, however many logs there are."""
MAX_CHARACTERS = 2048
_WARNS = re.compile(r"\bwarn(?:ing)?\b|\bdeprecat", re.IGNORECASE)
_NEVER = 1 << 62
"""A time after all others: of lines before the first clock of a log without any."""

_Numbered: TypeAlias = tuple[int, str]


@dataclass(slots=True)
class Unmatched:
    """Looks at the late lines of one attempt.

    Parameters
    ----------
    kept, tails
        What is kept of its logs.
    scanner
        What knows lines.
    history
        What healthy attempts print; null where nobody knows.
    run, logs
        What tells the job's family (`relume.models.templates.families`): the user and the run that
        its comment names, null for none; where its logs are, null for where they are named to be.
    """

    kept: KeptLines
    tails: Tails
    scanner: Scanner
    history: TemplateHistory | None = None
    run: str | None = None
    logs: Sequence[str] | None = None

    def of(
        self, episode: Episode, least: Shape = Shape.FRAME, limit: int = MAX_SHOWN
    ) -> tuple[Unrecognised, ...]:
        """Return at most `limit` unusual lines that nothing of ours knows, the most telling first.

        Of an attempt that passes for healthy, only those that look so bad as `least`, if any.
        Looked at are the job's own logs, those of the system only where it has none. Of a log with
        steps, what came after the third last one: the steps since may be those of ranks that did
        not know yet.
        """
        ends = _of_job(episode) or sorted(episode.ends.values(), key=lambda end: end.file)
        share = max(MIN_LINES, MAX_LINES // max(1, len(ends)))
        hits = {(hit.line.file, hit.line.line) for hit in episode.all_hits()}
        late = list(chain.from_iterable(self._timed(end, episode, share, hits) for end in ends))
        late.sort(key=lambda one: (one[0], one[1].file, one[1].line))
        earlier = chain.from_iterable(self.kept.earlier(end.file, _size(end)) for end in ends)
        familiar = (
            NOTHING if self.history is None else self.history.familiar(self._families(episode))
        )
        return unrecognised((line for _, line in late), earlier, familiar, least=least, limit=limit)

    def teach(self, history: TemplateHistory, episode: Episode) -> bool:
        """Take what a healthy attempt printed into `history`; false where that is known already."""
        ends = _of_job(episode)
        last = (text.encode() for end in ends for _, text in end.lines)
        lines = chain(self.kept.sampled(*(end.file for end in ends)), last) if ends else ()
        return history.learn(episode.attempt, self._families(episode), lines)

    def _families(self, episode: Episode) -> tuple[str, ...]:
        names = [end.file for end in _of_job(episode)] if self.logs is None else self.logs
        return family_keys(self.run, names)

    def _timed(
        self, end: LogEnd, episode: Episode, share: int, hits: set[tuple[str, int]]
    ) -> Iterator[tuple[int, LateLine]]:
        """Yield the unknown late lines of a log, each with its clock or the last one before it."""
        lines, early = self._late(end, episode, share)
        last, time = end.lines[-1][0] if end.lines else 0, _NEVER
        for line in self._unknown(end, lines):
            time = time if line.event_time is None else line.event_time
            is_early = line.line <= early
            if (line.file, line.line) in hits or (is_early and not _tells(line)):
                continue
            yield (
                time,
                LateLine(
                    file=line.file,
                    line=line.line,
                    text=line.text,
                    message_start=line.message_start,
                    lines_before_end=max(0, last - line.line),
                    event_time=line.event_time,
                    after_steps=end.file in episode.advances,
                    is_early=is_early,
                    where=_where(episode.named(line), episode.ranks),
                ),
            )

    def _late(self, end: LogEnd, episode: Episode, share: int) -> tuple[list[_Numbered], int]:
        """Return the late lines of a log, and the number up to which they are early ones.

        Half of them come from where progress ended, half from the end. A log without steps has
        early lines instead, from its start.
        """
        advances = episode.advances.get(end.file)
        since = -1 if advances is None else advances.lines[0]
        late = self.kept.late(end.file)
        first = (self.kept.head(end.file) if late is None else late)[: share // 2]
        last = [one for one in end.lines[-share // 2 :] if one[0] > since]
        early = last[0][0] - 1 if late is None and last else -1
        if late is None:
            first = [one for one in first if one[0] <= early]
        elif first:
            last = [one for one in last if one[0] > first[-1][0]]
        texts = [(number, raw.decode("utf-8", "replace")) for number, raw in first]
        return [one for one in (*texts, *last) if one[1].strip()], early

    def _unknown(self, end: LogEnd, lines: Sequence[_Numbered]) -> Iterator[LogLine]:
        """Yield those of the lines that neither a rule nor anything else of ours reads."""
        _, _, plan, matcher, _ = self.scanner
        raws = [text[:MAX_CHARACTERS].replace("\n", " ").encode() for _, text in lines]
        found, start = dict[int, Sequence[int]](), 0
        for begin, _, patterns in self.scanner.scan(b"".join(raw + b"\n" for raw in raws)):
            found[begin] = (*found.get(begin, ()), *patterns)
        parser = self.tails.parser(end.file) or LineParser(end.file, stream=end.stream)
        for (number, text), raw in zip(lines, raws, strict=True):
            line = parser.look(text, number, 0)
            located = plan.split(found.get(start, ()))
            start += len(raw) + 1
            if not (
                matcher.match(line, located.signatures)
                or any(plan.user_formats[n].parse(line.text) for n in located.user_progress)
                or (located.progress and parse_located(line.message, located.progress))
                or located.markers
            ):
                yield line


def _where(line: LogLine, ranks: RankMap) -> Locator:
    """Who printed a line, by its prefix. A task of srun is a rank unless it starts the ranks."""
    is_rank = line.rank is None and ranks.tasks_are_ranks is not False
    rank = line.task if is_rank else line.rank
    return Locator(node=line.node, rank=rank, local_rank=line.local_rank, gpu=line.gpu)


def _of_job(episode: Episode) -> list[LogEnd]:
    """Return the ends of the job's own logs, by their names."""
    ends = sorted(episode.ends.values(), key=lambda end: end.file)
    return [end for end in ends if end.stream in JOB_STREAMS]


def _tells(line: LogLine) -> bool:
    """Whether an early line looks like a failure: others of a start are not worth a look."""
    shape = shape_of(line.text, line.message_start)
    return shape is Shape.FAILURE or (shape is Shape.TROUBLE and not _WARNS.search(line.text))


def _size(end: LogEnd) -> int:
    """Bytes of the last lines of a log."""
    return sum(len(text.encode()) + 1 for _, text in end.lines)
