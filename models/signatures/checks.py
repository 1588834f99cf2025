"""Runs the samples of rules through engine and matcher; `relume rules test` shows the report."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from relume.errors import counted
from relume.events import LogLine
from relume.models.signatures.engine import build_engine
from relume.models.signatures.matcher import Matcher

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator

    from relume.models.signatures.hit import Hit
    from relume.models.signatures.rule import Signature
    from relume.models.signatures.ruleset import Catalogue

    ParseLine = Callable[[str], LogLine]


@dataclass(frozen=True, slots=True)
class SampleFailure:
    """A sample that didn't do what it is listed for."""

    rule: str
    origin: str
    """The rule's file."""
    expected_hit: bool
    """True for a positive sample that wasn't hit, false for a negative one that was."""
    located: bool
    """Whether a pattern was found; a located positive that fails was turned down by `verify`."""
    sample: str


@dataclass(frozen=True, slots=True)
class Overlap:
    """A positive sample of `rule` on which `other`, at least as specific, holds too. No failure."""

    rule: str
    other: str
    specificity: int
    other_specificity: int
    sample: str


@dataclass(frozen=True, slots=True)
class Report:
    """What checking a catalogue found."""

    rules: int
    samples: int
    engine: str
    failures: tuple[SampleFailure, ...]
    overlaps: tuple[Overlap, ...]


def plain_line(text: str) -> LogLine:
    """Wrap `text` without looking for prefixes: the whole text is the message."""
    return LogLine(text=text, line=0, offset=0, file="")


def check_catalogue(
    catalogue: Catalogue, parse_line: ParseLine = plain_line, *, prefer: str = "hyperscan"
) -> Report:
    """Run every sample of every rule against all rules.

    Parameters
    ----------
    catalogue
        Rules that loaded.
    parse_line
        Makes a line of a sample's text and knows where its message starts: the parser of the log
        reader (this layer can't import it), or `plain_line`.
    prefer
        The engine, see `build_engine`.

    Raises
    ------
    RuleError
        If the engine refuses a pattern.
    """
    engine = build_engine(catalogue.patterns, prefer=prefer)
    matcher = Matcher(catalogue)
    samples = list(_samples(catalogue))
    # One scan for all: a sample is one line, so its place tells which it is.
    block = "\n".join(text for _, _, text in samples).encode()
    located = {candidate.start: candidate.patterns for candidate in engine.scan(block)}
    failures: list[SampleFailure] = []
    overlaps: list[Overlap] = []
    start = 0
    for rule, positive, text in samples:
        patterns = located.get(start, ())
        start += len(text.encode()) + 1
        hits = matcher.match(parse_line(text), patterns)
        if any(hit.signature is rule for hit in hits) is not positive:
            own = any(catalogue.signatures[catalogue.owners[n]] is rule for n in patterns)
            failures.append(SampleFailure(rule.id, rule.origin, positive, own, text))
        if positive:
            overlaps.extend(_overlaps(rule, hits, text))
    return Report(
        rules=len(catalogue.signatures),
        samples=len(samples),
        engine=engine.name,
        failures=tuple(failures),
        overlaps=tuple(overlaps),
    )


def _samples(catalogue: Catalogue) -> Iterator[tuple[Signature, bool, str]]:
    for rule in catalogue.signatures:
        for text in rule.positive:
            yield rule, True, text
        for text in rule.negative:
            yield rule, False, text


def _overlaps(rule: Signature, hits: Iterable[Hit], sample: str) -> Iterator[Overlap]:
    for hit in hits:
        other = hit.signature
        if other is not rule and other.specificity >= rule.specificity:
            yield Overlap(rule.id, other.id, rule.specificity, other.specificity, sample)


def describe_report(report: Report, errors: int) -> str:
    """Say in one line how many rules were checked and what was found, `errors` of reading too.

    Examples
    --------
    >>> describe_report(Report(1, 4, "re2", (), ()), 1)
    '1 rule, 4 samples: 1 error, 0 failures, 0 overlaps (re2)'
    """
    found = [counted(errors, "error")] if errors else []
    found += [counted(len(report.failures), "failure"), counted(len(report.overlaps), "overlap")]
    checked = f"{counted(report.rules, 'rule')}, {counted(report.samples, 'sample')}"
    return f"{checked}: {', '.join(found)} ({report.engine})"


def describe_failure(failure: SampleFailure) -> str:
    """Say in one line which sample failed and where."""
    if not failure.expected_hit:
        what = "negative sample is hit"
    elif failure.located:
        what = "positive sample is located but verify turns it down"
    else:
        what = "positive sample is not found by any pattern"
    return f"{failure.origin}: rule {failure.rule}: {what}: {failure.sample}"


def describe_overlap(overlap: Overlap) -> str:
    """Say in one line which other rule holds on a positive sample."""
    return (
        f"{overlap.rule} ({overlap.specificity}) is also hit by {overlap.other}"
        f" ({overlap.other_specificity}): {overlap.sample}"
    )
