"""`relume rules`: show the signature rules, and test them on their own samples."""

from __future__ import annotations

import sys
from dataclasses import asdict
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from relume.cli.options import ConfigOption, JsonOption, RulesOption, named_path
from relume.cli.output import print_json, say_all

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable

    from relume.errors import RuleError
    from relume.events import LogLine
    from relume.models.signatures.checks import Report
    from relume.models.signatures.rule import Signature
    from relume.models.thresholds.checks import MetricReport
    from relume.models.thresholds.rule import MetricRule

EXIT_FINDING = 1
EXIT_BAD_RULES = 2

app = typer.Typer(help="Signature rules: list, test.", no_args_is_help=True, rich_markup_mode=None)

FamilyOption = Annotated[
    str | None, typer.Option("--family", help="Only this family, such as nccl.", show_default=False)
]
RoleOption = Annotated[
    str | None, typer.Option("--role", help="Only this role, such as root.", show_default=False)
]
PathsArgument = Annotated[
    list[Path] | None,
    typer.Argument(
        parser=named_path,
        metavar="PATHS",
        help="Rule files or folders of your own (TOML).",
        show_default=False,
    ),
]
EngineOption = Annotated[str, typer.Option("--engine", help="hyperscan or re2: the same hits.")]


@app.command("list")
def list_rules(
    *,
    family: FamilyOption = None,
    role: RoleOption = None,
    rules: RulesOption = None,
    config: ConfigOption = None,
    as_json: JsonOption = False,
) -> None:
    """List the rules: what each recognises, whom it blames, whether a retry helps, its file.

    Those of the configuration's `rules.folders` are among them. A table on a terminal, lines of
    tab-separated fields elsewhere.
    """
    from relume.config import load_config
    from relume.models.signatures.rule import Role
    from relume.serve.configured import load_metric_rules, load_rules

    settings = load_config(config).settings
    catalogue = load_rules(settings, rules or [])
    metrics = load_metric_rules(settings, rules or []) if role is None else []
    chosen = list(catalogue.signatures)
    if family is not None:
        families = {rule.category for rule in chosen} | {rule.category for rule in metrics}
        _known("--family", family, families)
        chosen = [rule for rule in chosen if rule.category == family]
        metrics = [rule for rule in metrics if rule.category == family]
    if role is not None:
        _known("--role", role, [item.value for item in Role])
        chosen = [rule for rule in chosen if rule.role == role]
    if as_json:
        records = [_rule_record(rule) for rule in chosen]
        named = [_metric_record(rule) for rule in metrics]
        print_json(
            {"content_hash": catalogue.content_hash, "rules": records, "metric_rules": named}
        )
        return
    rows = [*map(_cells, chosen), *map(_metric_cells, metrics)]
    if sys.stdout.isatty():
        _write_table(rows)
    else:
        for row in rows:
            typer.echo("\t".join(row))


@app.command("test")
def check_rules(
    paths: PathsArgument = None, *, engine: EngineOption = "hyperscan", as_json: JsonOption = False
) -> None:
    """Run the samples of all rules, packaged and your own, and report rules that overlap.

    Every positive sample must be hit by its rule and no negative one. Exit code 0: all are right;
    1: a sample fails; 2: a rule file can't be used (every error is listed).
    """
    from relume.models.signatures.checks import check_catalogue
    from relume.models.signatures.loader import read_rules
    from relume.models.signatures.ruleset import Catalogue
    from relume.models.thresholds.checks import (
        check_metric_rules,
        describe_metric_failure,
        describe_metric_report,
    )
    from relume.models.thresholds.loader import read_metric_rules

    _known("--engine", engine, ("hyperscan", "re2"))
    signatures, errors = read_rules(paths or [])
    metric_rules, metric_errors = read_metric_rules(paths or [])
    errors += metric_errors
    say_all(errors)  # first: the report below is about the other rules only
    report = check_catalogue(Catalogue.of(signatures), _sample_parser(), prefer=engine)
    metrics = check_metric_rules(metric_rules)
    if as_json:
        print_json(_report_record(report, metrics, errors))
    else:
        packaged = {rule.id for rule in read_rules()[0]} if paths else set[str]()
        for failure in metrics.failures:
            typer.echo(f"fail: {describe_metric_failure(failure)}")
        _write_report(report, len(errors), quiet_about=packaged)
        if metrics.rules:
            typer.echo(describe_metric_report(metrics))
    if errors:
        raise typer.Exit(EXIT_BAD_RULES)
    raise typer.Exit(EXIT_FINDING if report.failures or metrics.failures else 0)


def _sample_parser() -> Callable[[str], LogLine]:
    from relume.ingest.loglines import LineParser

    parser = LineParser("sample")
    return lambda text: parser.parse(text, 0, 0)


def _known(option: str, value: str, values: Iterable[str]) -> None:
    from relume.errors import InputError, did_you_mean, shown

    if value not in values:
        expected = "one of " + ", ".join(sorted(values))
        raise InputError(
            f"unknown {option}",
            found=shown(value),
            expected=expected,
            hint=did_you_mean(value, values),
        )


_COLUMNS = ("id", "family", "role", "domain", "retry", "exclude", "origin", "summary")


def _cells(rule: Signature) -> tuple[str, ...]:
    return (
        *(rule.id, rule.category, rule.role.value, rule.domain.value),
        *(rule.retry.value, rule.exclude.value, rule.origin, rule.summary),
    )


def _metric_cells(rule: MetricRule) -> tuple[str, ...]:
    said = f"{rule.metric} {rule.condition}: {rule.summary}"
    return (
        *(rule.id, rule.category, "metric", rule.domain.value),
        *("", rule.exclude.value, rule.origin, said),
    )


def _metric_record(rule: MetricRule) -> dict[str, Any]:
    record = asdict(rule)
    record["family"] = record.pop("category")
    record["condition"] = str(rule.condition)
    return record


def _write_table(rows: list[tuple[str, ...]]) -> None:
    from rich.console import Console
    from rich.markup import escape
    from rich.table import Table

    from relume.errors import counted

    table = Table(*_COLUMNS, title=counted(len(rows), "rule"), title_justify="left")
    for row in rows:
        table.add_row(*map(escape, row))
    Console().print(table)


def _rule_record(rule: Signature) -> dict[str, Any]:
    record = asdict(rule)
    record["family"] = record.pop("category")
    record["verify"] = None if rule.verify is None else rule.verify.pattern
    record["captures"] = [expression.pattern for expression in rule.captures]
    return record


def _report_record(
    report: Report, metrics: MetricReport, errors: list[RuleError]
) -> dict[str, Any]:
    passed = not errors and not report.failures and not metrics.failures
    told = {"pass": passed, "errors": [str(error) for error in errors]}
    return told | asdict(report) | {"metric_rules": asdict(metrics)}


def _write_report(report: Report, errors: int, *, quiet_about: set[str]) -> None:
    """Print what was found; overlaps between two rules of `quiet_about` are only counted."""
    from relume.models.signatures.checks import (
        describe_failure,
        describe_overlap,
        describe_report,
    )

    for failure in report.failures:
        typer.echo(f"fail: {describe_failure(failure)}")
    for overlap in report.overlaps:
        if {overlap.rule, overlap.other} <= quiet_about:
            continue
        typer.echo(f"note: {describe_overlap(overlap)}")
    typer.echo(describe_report(report, errors))
