"""`relume diagnose`: logs in, one verdict an attempt out."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, NoReturn

import typer

if TYPE_CHECKING:
    from collections.abc import Iterator

    from relume.errors import InputError
    from relume.serve.offline import Analyzer, Diagnosed

EXIT_FINE = 0
EXIT_FINDING = 1
EXIT_USAGE = 2

Paths = Annotated[
    list[str] | None,
    typer.Argument(
        help="Logs, folders (one attempt each), or - for standard input.", show_default=False
    ),
]
CasesOption = Annotated[
    Path | None,
    typer.Option("--cases", help='JSON lines of {"id", "text": [lines]}; - for standard input.'),
]
JsonOption = Annotated[bool, typer.Option("--json", help="One JSON document.")]
JsonLinesOption = Annotated[bool, typer.Option("--jsonl", help="One JSON record a line.")]
ConfigOption = Annotated[
    Path | None, typer.Option("--config", help="Configuration file (TOML).", show_default=False)
]
RulesOption = Annotated[
    list[Path] | None,
    typer.Option("--rules", help="More signature rules: a file or a folder.", show_default=False),
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
    engine: EngineOption = "hyperscan",
) -> None:
    """Say what happened to a job, which line proves it, who is to blame and what to do.

    Exit code 0: healthy or unknown; 1: a failure was found; 2: some input can't be used, verdicts
    on the rest are printed all the same.
    """
    from relume.errors import InputError

    if as_json and as_jsonl:
        raise InputError("--json and --jsonl can't be used together", hint="choose one of them")
    if cases is not None and paths:
        raise InputError(
            "--cases takes no other path",
            found=f"{len(paths)} paths",
            hint="give the paths in a call of their own",
        )
    if cases is None and not paths:
        raise InputError(
            "nothing to diagnose", hint="name a log, a folder, or - for standard input"
        )
    analyzer = _analyzer(config, rules or [], engine)
    if cases is not None:
        _write_cases(analyzer, cases, as_document=as_json)
        return
    results, refused = _diagnose_paths(analyzer, paths or [])
    if not results:
        _refuse(refused)
    if as_json:
        _write_document(results)
    elif as_jsonl:
        _write_lines(_records(results))
    else:
        _write_text(analyzer, results)
    if refused:
        _refuse(refused)
    found = any(result.verdict.kind.is_failure for result in results)
    raise typer.Exit(EXIT_FINDING if found else EXIT_FINE)


def _refuse(errors: list[InputError]) -> NoReturn:
    for error in errors:
        typer.echo(f"relume: {error}", err=True)
    raise typer.Exit(EXIT_USAGE)


def _analyzer(config: Path | None, rules: list[Path], engine: str) -> Analyzer:
    from relume.config import load_config
    from relume.errors import InputError, did_you_mean
    from relume.features.progress.user import user_format
    from relume.models.diagnosis.settings import DiagnosisSettings
    from relume.models.signatures.loader import load_catalogue
    from relume.serve.offline import Analyzer

    engines = ("hyperscan", "re2")
    if engine not in engines:
        raise InputError(
            "unknown scan engine",
            found=engine,
            expected=" or ".join(engines),
            hint=did_you_mean(engine, engines),
        )
    settings = load_config(config).settings
    folders = [*map(Path, settings.rules.folders), *rules]
    return Analyzer(
        load_catalogue(folders),
        user_formats=[user_format(pattern) for pattern in settings.progress.patterns],
        settings=DiagnosisSettings(
            confidence_threshold=settings.diagnose.confidence_threshold,
            max_evidence=settings.diagnose.max_evidence,
            max_mentions=settings.diagnose.max_mentions,
        ),
        zone=settings.cluster.timezone,
        engine=engine,
    )


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


def _diagnose_cases(analyzer: Analyzer, path: Path) -> Iterator[dict[str, object]]:
    from relume.ingest.cases import read_cases
    from relume.records import case_record

    # All records are read before the first verdict is printed: bad input leaves no half output.
    for case in list(read_cases(path)):
        yield case_record(analyzer.diagnose_lines(case.id, case.text))


def _write_cases(analyzer: Analyzer, path: Path, *, as_document: bool) -> None:
    import orjson

    from relume.records import SCHEMA_VERSION

    records = _diagnose_cases(analyzer, path)
    if as_document:
        document = {"schema_version": SCHEMA_VERSION, "verdicts": list(records)}
        sys.stdout.buffer.write(orjson.dumps(document, option=orjson.OPT_INDENT_2) + b"\n")
    else:
        _write_lines(records)


def _records(results: list[Diagnosed]) -> Iterator[dict[str, object]]:
    from relume.records import SCHEMA_VERSION, verdict_record

    for result in results:
        record = verdict_record(result.verdict, result.skipped.as_dict())
        yield {"schema_version": SCHEMA_VERSION, **record}


def _write_document(results: list[Diagnosed]) -> None:
    import orjson

    from relume.records import SCHEMA_VERSION, verdict_record

    verdicts = [verdict_record(result.verdict, result.skipped.as_dict()) for result in results]
    document = {"schema_version": SCHEMA_VERSION, "verdicts": verdicts}
    sys.stdout.buffer.write(orjson.dumps(document, option=orjson.OPT_INDENT_2) + b"\n")


def _write_lines(records: Iterator[dict[str, object]]) -> None:
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
        typer.echo(verdict_text(result.verdict, summary, result.skipped.as_dict()))
        if result.verdict.kind.value == "unknown":
            reason = "; ".join(result.verdict.why) or "no reason known"
            typer.echo(f"relume: {result.verdict.attempt}: unknown: {reason}", err=True)
