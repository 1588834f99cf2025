"""`relume diagnose`: logs in, one verdict an attempt out."""

from __future__ import annotations

import sys
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from relume.cli.options import ConfigOption, JsonOption, RulesOption, named, named_path, one_form
from relume.cli.output import print_json, say, say_all
from relume.records import SCHEMA_VERSION

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

    from relume.errors import InputError
    from relume.serve.offline import Analyzer, Diagnosed
    from relume.verdict import Verdict

EXIT_FINE = 0
EXIT_FINDING = 1
EXIT_USAGE = 2
MAX_REFUSED_SHOWN = 20
"""Bad lines of `--cases` that are named; the others are counted."""

Paths = Annotated[
    list[str] | None,
    typer.Argument(
        parser=named,
        metavar="PATHS",
        help="Logs, folders (one attempt each), or - for standard input.",
        show_default=False,
    ),
]
CasesOption = Annotated[
    Path | None,
    typer.Option(
        "--cases",
        parser=named_path,
        metavar="FILE",
        help='JSON lines of {"id", "text": [lines]}; - for standard input.',
    ),
]
JsonLinesOption = Annotated[bool, typer.Option("--jsonl", help="One JSON record a line.")]
LakeOption = Annotated[
    Path | None,
    typer.Option(
        "--lake",
        parser=named_path,
        metavar="FOLDER",
        help="A lake whose healthy attempts tell which lines are usual.",
        show_default=False,
    ),
]
EngineOption = Annotated[str, typer.Option("--engine", help="hyperscan or re2: the same verdicts.")]


def diagnose(
    paths: Paths = None,
    *,
    cases: CasesOption = None,
    as_json: JsonOption = False,
    as_jsonl: JsonLinesOption = False,
    config: ConfigOption = None,
    rules: RulesOption = None,
    lake: LakeOption = None,
    engine: EngineOption = "hyperscan",
) -> None:
    """Say what happened to a job, which line proves it, who is to blame and what to do.

    Exit code 0: healthy or unknown; 1: a failure was found; 2: some input can't be used, verdicts
    on the rest are printed all the same.
    """
    from relume.errors import InputError, counted

    one_form(json=as_json, jsonl=as_jsonl)
    if cases is not None and paths:
        raise InputError(
            "--cases takes no other path",
            found=counted(len(paths), "path"),
            hint="give the paths in a call of their own",
        )
    if cases is None and not paths:
        raise InputError(
            "nothing to diagnose", hint="name a log, a folder, or - for standard input"
        )
    analyzer = _analyzer(config, rules or [], engine, lake)
    if cases is not None:
        _write_cases(analyzer, cases, as_document=as_json)
        return
    results, refused = _diagnose_paths(analyzer, paths or [])
    if as_json and results:
        print_json({"verdicts": [_record(result) for result in results]})
    elif as_jsonl:
        _write_lines({"schema_version": SCHEMA_VERSION, **_record(result)} for result in results)
    else:
        _write_text(analyzer, results)
    if refused:
        say_all(refused)
        raise typer.Exit(EXIT_USAGE)
    found = any(result.verdict.kind.is_failure for result in results)
    raise typer.Exit(EXIT_FINDING if found else EXIT_FINE)


def _analyzer(config: Path | None, rules: list[Path], engine: str, lake: Path | None) -> Analyzer:
    from relume.config import load_config
    from relume.errors import InputError, did_you_mean, shown
    from relume.serve.configured import analyzer_of

    engines = ("hyperscan", "re2")
    if engine not in engines:
        raise InputError(
            "unknown scan engine",
            found=shown(engine),
            expected=" or ".join(engines),
            hint=did_you_mean(engine, engines),
        )
    if lake is not None and not lake.is_dir():
        raise InputError(f"--lake {lake}", found="no such folder", expected="a lake")
    analyzer = analyzer_of(load_config(config).settings, rules=rules, engine=engine, lake=lake)
    if lake is not None and analyzer.history is None:
        say(f"{lake} knows of no healthy attempt yet; only each attempt itself tells what is usual")
    return analyzer


def _diagnose_paths(
    analyzer: Analyzer, paths: list[str]
) -> tuple[list[Diagnosed], list[InputError]]:
    """Diagnose each path for itself: one that can't be read hides no verdict of the others."""
    from relume.errors import InputError
    from relume.ingest.attempts import find_attempts

    results: list[Diagnosed] = []
    refused: list[InputError] = []
    for path in paths:
        try:
            results += analyzer.diagnose_all(find_attempts([path]))
        except InputError as error:
            refused.append(error)
    if not results and len(refused) == 1:
        raise refused[0]
    return results, refused


def _write_cases(analyzer: Analyzer, path: Path, *, as_document: bool) -> None:
    from relume.errors import counted

    refused = _Refused()
    records = _diagnose_cases(analyzer, path, refused)
    if not as_document:
        _write_lines(records)
    elif verdicts := list(records):
        print_json({"verdicts": verdicts})
    if refused.count:
        say_all(refused.first)
        if others := refused.count - len(refused.first):
            say(f"{counted(others, 'more bad line')} in {path}")
        raise typer.Exit(EXIT_USAGE)


@dataclass(slots=True)
class _Refused:
    """Bad lines of `--cases`, the first ones with their reason: all may be bad."""

    first: list[InputError] = field(default_factory=list)
    count: int = 0

    def add(self, error: InputError) -> None:
        self.count += 1
        if len(self.first) < MAX_REFUSED_SHOWN:
            self.first.append(error)


def _diagnose_cases(
    analyzer: Analyzer, path: Path, refused: _Refused
) -> Iterator[dict[str, object]]:
    """Diagnose each case for itself: a bad line hides no verdict of the others."""
    from relume.ingest.cases import CaseRecord, read_cases
    from relume.records import case_record

    for case in read_cases(path):
        if isinstance(case, CaseRecord):
            verdict = analyzer.diagnose_lines(case.id, case.text)
            yield case_record(verdict) | _fingerprint(verdict)
        else:
            refused.add(case)


def _record(result: Diagnosed) -> dict[str, object]:
    from relume.records import verdict_record

    verdict = result.verdict
    return verdict_record(verdict) | _fingerprint(verdict) | result.skipped.record()


def _fingerprint(verdict: Verdict) -> dict[str, object]:
    """What tells that the same failure came again; null without a failure."""
    from relume.models.policy.fingerprint import known_fingerprint

    return {"fingerprint": known_fingerprint(verdict) if verdict.kind.is_failure else None}


def _write_lines(records: Iterable[dict[str, object]]) -> None:
    import orjson

    for record in records:
        sys.stdout.buffer.write(orjson.dumps(record) + b"\n")
    sys.stdout.buffer.flush()


def _write_text(analyzer: Analyzer, results: list[Diagnosed]) -> None:
    from relume.cli.output import verdict_text

    for number, result in enumerate(results):
        rule = result.verdict.rule
        signature = analyzer.catalogue.by_id[rule] if rule is not None else None
        summary = (signature.summary, signature.advice) if signature is not None else ("", "")
        if number:
            typer.echo("")
        typer.echo(verdict_text(result.verdict, summary, result.skipped))
        if result.verdict.kind.value == "unknown":
            reason = "; ".join(result.verdict.why) or "no reason known"
            say(f"{result.verdict.attempt}: unknown: {reason}")
