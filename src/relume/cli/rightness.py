"""`relume report scoreboard` and `false-positives`: how right a service was, by its ledger."""

from __future__ import annotations

from typing import TYPE_CHECKING, Annotated

import typer

from relume.cli.advice import LedgerOption, open_ledger
from relume.cli.options import ConfigOption, JsonOption
from relume.cli.output import print_json, say
from relume.errors import counted
from relume.printing import printable

if TYPE_CHECKING:
    from collections.abc import Iterator

    from relume.serve.reports.falsepositives import FalsePositive
    from relume.serve.reports.scoreboard import Estimate, RuleScore, Scoreboard

MAX_LINE = 300
COLUMNS = (
    *("rule", "kind", "alarms", "true", "false", "unlabelled", "precision"),
    *("false/job-day", "false/1000 node-days", "futile", "agreement"),
)
SinceOption = Annotated[
    str, typer.Option("--since", metavar="SPAN", help="How far back: 24h, 7d, 4w …")
]
GpusOption = Annotated[
    int | None,
    typer.Option(
        "--gpus-per-node",
        metavar="N",
        min=1,
        help="To tell hours of GPUs: the ledger counts nodes.",
        show_default=False,
    ),
]


def scoreboard(
    *,
    since: SinceOption = "30d",
    ledger: LedgerOption = None,
    as_json: JsonOption = False,
    config: ConfigOption = None,
) -> None:
    """Say how right each rule was in production: precision, false alarms a job-day, with intervals.

    By what became of alarms and by labels of people, who win. Exit code 0.
    """
    import msgspec

    from relume.cli.rows import write_text
    from relume.clock import SystemClock
    from relume.serve.reports.scoreboard import scoreboard as computed
    from relume.serve.scan.window import parse_span

    until = SystemClock().now()
    begin = max(0, until - parse_span(since))
    with open_ledger(ledger, config) as opened:
        board = computed(opened.told(begin), opened.attempts(), since=begin, until=until)
    if as_json:
        print_json(msgspec.to_builtins(board))
        return
    write_text(COLUMNS, [_row(one) for one in (*board.rules, board.total)])
    for words in _summary(board):
        say(words)


def false_positives(
    *,
    since: SinceOption = "7d",
    gpus_per_node: GpusOption = None,
    ledger: LedgerOption = None,
    as_json: JsonOption = False,
    config: ConfigOption = None,
) -> None:
    """List false alarms: evidence, what each cost, and the setting that would have avoided it.

    What can't be computed is said to be unknown, and why. Exit code 0.
    """
    import msgspec

    from relume.clock import SystemClock
    from relume.serve.reports.falsepositives import false_positives as computed
    from relume.serve.scan.window import parse_span

    begin = max(0, SystemClock().now() - parse_span(since))
    with open_ledger(ledger, config) as opened:
        attempts, told = opened.attempts(), opened.told(begin)
        found = computed(told, attempts, opened.milestones, gpus_per_node=gpus_per_node)
    if as_json:
        print_json({"false_positives": msgspec.to_builtins(found)})
        return
    for one in found:
        for label, text in _lines(one):
            typer.echo(f"{label:>9}  {printable(text)}".rstrip())
        typer.echo()
    say(f"{counted(len(found), 'false alarm')} in {since}")


def _summary(board: Scoreboard) -> Iterator[str]:
    yield (
        f"{counted(board.attempts, 'attempt')} ran {board.job_days:.2f} job-days and "
        f"{board.node_days:.2f} node-days in which an alarm would have been false; "
        f"alarms that were right, a job-day: {_estimate(board.incidents_per_job_day)}"
    )
    if board.total.unlabelled:
        yield (
            f"nobody knows whether they were right: {counted(board.total.unlabelled, 'alarm')}, "
            f"{board.total.unlabelled_acted} of them acted on: see relume advice label"
        )


def _row(one: RuleScore) -> list[object]:
    return [
        "all" if one.kind is None else one.rule or "none",
        "" if one.kind is None else one.kind.value,
        one.alarms,
        one.true,
        one.false,
        one.unlabelled,
        _estimate(one.precision),
        _estimate(one.false_per_job_day),
        _estimate(one.false_per_1000_node_days),
        f"{one.futile} of {one.restarts}",
        _estimate(one.agreement),
    ]


def _estimate(one: Estimate) -> str:
    if one.value is None:
        return "unknown"
    return f"{one.value:.3g} ({one.low:.3g} to {one.high:.3g})"


def _lines(one: FalsePositive) -> list[tuple[str, str]]:
    from relume.clock import to_iso

    advice, cost, avoiding = one.advice, one.cost, one.avoiding
    found = f"{advice.kind}: {advice.cause or 'unknown'}, rule {advice.rule or 'none'}"
    rows = [
        ("advice", advice.advice_id),
        ("about", f"{advice.subject}, {to_iso(advice.created_at)}"),
        ("said", f"{found}; {advice.operation}, mode {advice.mode}"),
        ("wrong by", ": ".join(filter(None, (one.by, one.why)))),
    ]
    rows += [
        ("evidence", f"{e.file}:{e.line + 1}  {e.text.strip()[:MAX_LINE]}") for e in advice.evidence
    ]
    if advice.measured is not None:
        name, measured = advice.measured.name.replace("_", " "), advice.measured
        rows.append(("measured", f"{name} {measured.value:.4g}, allowed {measured.limit:.4g}"))
    hours = "unknown" if cost.node_hours is None else f"{cost.node_hours:.2f} node-hours"
    if cost.gpu_hours:
        hours += f", {cost.gpu_hours:.1f} GPU-hours"
    rows.append(("cost", f"{hours}: {cost.words}"))
    if avoiding.setting is None:
        return [*rows, ("avoid by", f"unknown: {avoiding.words}")]
    value = "" if avoiding.value is None else f" = {avoiding.value:g}"
    return [*rows, ("avoid by", f"{avoiding.setting}{value}: {avoiding.words}")]
