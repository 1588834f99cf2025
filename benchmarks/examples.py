"""Bench `examples`: the reference's example lines and wordings against the packaged rules."""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from relume import __version__
from relume.benchmarks.corpora import reference
from relume.benchmarks.corpora.reference import Entry, Example
from relume.benchmarks.machine import describe, measured
from relume.benchmarks.registry import data_folder
from relume.benchmarks.result import Bar, BenchResult, Measure
from relume.ingest.loglines import LineParser
from relume.models.signatures.engine import build_engine
from relume.models.signatures.matcher import Matcher
from relume.models.signatures.ruleset import Catalogue
from relume.records import case_record
from relume.serve.offline import Analyzer

FIELDS = ("node", "rank", "gpu")
_BARS = {
    "node_right": Bar(">=", 80),
    "rank_right": Bar(">=", 40),
    "gpu_right": Bar(">=", 18),
    "rule_not_found": Bar("==", 0),
}
_TABLE_BARS = {
    "signatures_without_rule": Bar("==", 0),
    "wordings_without_sample": Bar("==", 0),
}
_BITS = {
    "0x1 GPU_IDLE": "reasons=0x1",
    "0x4 SW_POWER_CAP": "SW Power Cap",
    "0x8 HW_SLOWDOWN": "DCGM_FI_DEV_CLOCKS_EVENT_REASONS{",
    "0x20 SW_THERMAL": "SW Thermal Slowdown",
}
"""Bits of a mask that the table describes, and how they are printed."""


@dataclass(slots=True)
class Mentions:
    """How often the value of one field was read where the example names one, and where not."""

    right: int = 0
    total: int = 0
    missed: list[str] = field(default_factory=list)
    false: list[str] = field(default_factory=list)
    """Ids of lines that name none by the reference, and whose mentions hold one."""

    def add(self, example: Example, name: str, mentions: Iterable[Mapping[str, Any]]) -> None:
        """Count one line."""
        wanted = getattr(example, name)
        read = {str(item[name]) for item in mentions if item[name] is not None}
        if name == "gpu":  # the reference leaves PCI addresses out: they need a look-up
            read = {value for value in read if value.isdecimal()}
        if wanted is None:
            self.false += [example.id] if read else []
            return
        self.total += 1
        self.right += str(wanted) in read
        self.missed += [] if str(wanted) in read else [example.id]


def run(data: Path | None) -> BenchResult:
    """Read every example line alone; look up every wording of the table among the samples."""
    wanted = f"{reference.EXAMPLES}, or the folder that holds it"
    corpus = reference.load(data_folder(data, "examples", wanted, file_too=True))
    analyzer = Analyzer()
    mentions, usage = measured(lambda: _mentions(analyzer, corpus.examples))
    catalogue = analyzer.catalogue
    found = rules_found(catalogue, corpus.examples)
    measures: dict[str, Measure] = {}
    for name, counted in mentions.items():
        measures |= {f"{name}_right": counted.right, f"{name}_named": counted.total}
        measures[f"{name}_false"] = len(counted.false)
    other = {id_: rules for id_, rules in found.items() if not _is_of(catalogue, id_, rules[:1])}
    lost = [id_ for id_, rules in found.items() if not _is_of(catalogue, id_, rules)]
    measures["rule_speaks"] = len(found) - len(other)
    measures["rule_not_found"] = len(lost)
    bars = dict(_BARS)
    notes: dict[str, Any] = {
        "missed": {name: counted.missed for name, counted in mentions.items()},
        "false": {name: counted.false for name, counted in mentions.items()},
        "another_rule_speaks": {id_: rules[0] for id_, rules in other.items() if rules},
        "rule_not_found": lost,
    }
    if corpus.table:
        ids = [entry.id for entry in corpus.table if entry.id not in catalogue.by_id]
        wordings = wordings_without_sample(catalogue, corpus.table)
        measures["signatures_without_rule"] = len(ids)
        measures["wordings_without_sample"] = len(wordings)
        bars |= _TABLE_BARS
        notes |= {"signatures_without_rule": ids, "wordings_without_sample": wordings}
    return BenchResult(
        id="examples",
        version=__version__,
        machine=describe(),
        corpus={
            "name": corpus.name,
            "hash": corpus.hash,
            "lines": len(corpus.examples),
            "wordings": sum(len(entry.tokens) for entry in corpus.table),
        },
        measures=measures,
        bars=bars,
        cpu_seconds=usage.cpu_seconds,
        wall_seconds=usage.wall_seconds,
        peak_rss_bytes=usage.peak_rss_bytes,
        notes=notes,
    )


def _mentions(analyzer: Analyzer, examples: Sequence[Example]) -> dict[str, Mentions]:
    counted = {name: Mentions() for name in FIELDS}
    for example in examples:
        record = case_record(analyzer.diagnose_lines(example.id, [example.line]))
        for name, mentions in counted.items():
            mentions.add(example, name, record["mentions"])
    return counted


def rules_found(catalogue: Catalogue, examples: Sequence[Example]) -> dict[str, list[str]]:
    """Return the ids of the rules that hold on each example's line, the one that speaks first."""
    engine = build_engine(catalogue.patterns, prefer="re2")
    matcher, parser = Matcher(catalogue), LineParser("example")
    found: dict[str, list[str]] = {}
    for example in examples:
        located = engine.scan(example.line.encode())
        patterns = [pattern for candidate in located for pattern in candidate.patterns]
        hits = matcher.match(parser.parse(example.line, 0, 0), patterns)
        found[example.id] = [hit.signature.id for hit in hits]
    return found


def _is_of(catalogue: Catalogue, id_: str, rules: Iterable[str]) -> bool:
    """Whether one of `rules` is the rule `id_`, or refines it."""
    return any(rule == id_ or catalogue.by_id[rule].refines == id_ for rule in rules)


def wordings_without_sample(catalogue: Catalogue, table: Sequence[Entry]) -> list[str]:
    """Return the wordings, with their id, that no sample of the id's rules shows.

    The rules of an id are the one of that name and those that refine it. That each rule hits its
    samples is what `relume rules test` shows.
    """
    samples: dict[str, list[str]] = {}
    for rule in catalogue.signatures:
        for id_ in {rule.id, rule.refines or rule.id}:
            samples.setdefault(id_, []).extend(rule.positive)
    return [
        f"{entry.id}: {token}"
        for entry in table
        for token in entry.tokens
        if not any(map(_printed(token).search, samples.get(entry.id, ())))
    ]


def _printed(token: str) -> re.Pattern[str]:
    """Return what finds `token` in a line: a number for ``%d``, a name for a described bit."""
    for bit, printed in _BITS.items():
        if bit in token:
            return re.compile(re.escape(printed))
    return re.compile(re.escape(token).replace("%d", r"\d+"))
