"""`relume advice`: what a service advised, what became of it, and whether it was right."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from relume.cli import answer
from relume.cli.options import ConfigOption, JsonOption, named
from relume.cli.output import print_json, say
from relume.errors import counted
from relume.printing import printable

if TYPE_CHECKING:
    from relume.advice import Advice
    from relume.serve.ledger import IncidentRecord, Ledger, Standing
    from relume.serve.trackrecord import TrackRecord

app = typer.Typer(
    help="What a service advised: list, show, label, approve, reject.",
    no_args_is_help=True,
    rich_markup_mode=None,
)

DEFAULT_PAGE, LARGEST_PAGE = 50, 1000
AdviceArgument = Annotated[
    str, typer.Argument(metavar="ADVICE", help="Its id, or how it begins.", show_default=False)
]
LedgerOption = Annotated[
    str | None,
    typer.Option(
        "--ledger",
        parser=named,
        metavar="FILE|URL",
        help="The ledger, a file or a database; the configured one without it.",
        show_default=False,
    ),
]


@app.command("list")
def list_advice(
    *,
    attempt: Annotated[
        str | None,
        typer.Option(
            "--attempt", metavar="NAME", help="Only about this attempt.", show_default=False
        ),
    ] = None,
    before: Annotated[
        str,
        typer.Option("--before", metavar="ADVICE", help="Older ones: the page after this one."),
    ] = "",
    limit: Annotated[
        int, typer.Option("--limit", metavar="N", min=1, max=LARGEST_PAGE, help="How many.")
    ] = DEFAULT_PAGE,
    ledger: LedgerOption = None,
    as_json: JsonOption = False,
    config: ConfigOption = None,
) -> None:
    """List Advice, newest first, with what became of each. Exit code 0."""
    from relume.cli.rows import write_text
    from relume.clock import to_iso

    with open_ledger(ledger, config) as opened:
        found = opened.listed(attempt=_text(attempt), before=_whole(opened, before), limit=limit)
        rows = [(one, opened.standing(one.advice_id)) for one in found]
    if as_json:
        print_json({"advice": [_record(one, standing) for one, standing in rows]})
    else:
        names = ("at", "advice", "about", "says", "finding", "rule", "disposition", "right")
        write_text(names, ([to_iso(one.created_at), *_row(one, told)] for one, told in rows))
    if len(found) == limit:
        say(f"older ones: --before {found[-1].advice_id}")


@app.command("show")
def show(
    advice: AdviceArgument,
    *,
    estimate: Annotated[
        bool,
        typer.Option("--estimate", help="How likely it is right, learned from earlier ones."),
    ] = False,
    ledger: LedgerOption = None,
    as_json: JsonOption = False,
    config: ConfigOption = None,
) -> None:
    """Show one Advice: its evidence, its incident, what became of it, and what people say.

    Exit code 0; 2: there is no such Advice.
    """
    with open_ledger(ledger, config) as opened:
        one = _named(opened, advice)
        standing = opened.standing(one.advice_id)
        incident = opened.incident_of(one.advice_id)
        record = _track_record(opened, one) if estimate else None
    if as_json:
        import msgspec

        told = (
            {"incident": incident} if record is None else {"incident": incident, "record": record}
        )
        print_json({**_record(one, standing), **msgspec.to_builtins(told)})
        return
    lines = _lines(one, standing, incident)
    for label, text in lines if record is None else [*lines, ("estimate", _estimate(one, record))]:
        typer.echo(f"{label:>11}  {printable(text)}")


@app.command("label")
def label(
    advice: AdviceArgument,
    *,
    right: Annotated[
        bool, typer.Option("--right/--wrong", help="Whether it was right.", show_default=False)
    ],
    who: Annotated[
        str, typer.Option("--who", metavar="NAME", help="Who says so.", show_default=False)
    ],
    cause: Annotated[
        str | None,
        typer.Option("--cause", metavar="NAME", help="What it really was.", show_default=False),
    ] = None,
    why: Annotated[
        str | None, typer.Option("--why", metavar="WORDS", help="Why.", show_default=False)
    ] = None,
    ledger: LedgerOption = None,
    config: ConfigOption = None,
) -> None:
    """Say whether an Advice was right. It wins over what became of it; the newest label stands.

    All labels are kept, and so is who said them. Exit code 0; 2: there is no such Advice.
    """
    from relume.clock import SystemClock
    from relume.serve.ledger import LabelRecord

    with open_ledger(ledger, config) as opened:
        one = _named(opened, advice)
        said = LabelRecord(
            advice_id=one.advice_id,
            right=right,
            cause=cause,
            who=who,
            why=why,
            at=SystemClock().now(),
        )
        opened.put_label(said)
    say(f"{one.advice_id} is labelled {'right' if right else 'wrong'} by {who}")


app.command("approve")(answer.approve)
app.command("reject")(answer.reject)


def open_ledger(name: str | None, config: Path | None) -> Ledger:
    """Open the ledger that is named, else the configured one; a file must be there.

    Raises
    ------
    InputError
        When there is none.
    """
    from relume.config import load_config
    from relume.serve.ledger import Ledger, access_of, url_of

    serve = load_config(config).settings.serve
    url = url_of(serve) if name is None else ledger_url(name)
    require_ledger(url)
    return Ledger.open(url, access_of(serve))


_NAME_IT = "name it with --ledger, or the data folder as serve.folder in the configuration"


def ledger_url(name: str) -> str:
    """Return the URL of a ledger that is named by one, or by its file."""
    from relume.serve.ledger import sqlite_url

    return name if "://" in name or name.startswith("sqlite:") else sqlite_url(Path(name))


def require_ledger(url: str, hint: str = _NAME_IT) -> None:
    """Refuse a file that isn't there; `hint` says how to name another.

    Raises
    ------
    InputError
        When it is not.
    """
    from relume.errors import InputError
    from relume.serve.ledger import file_of

    path = file_of(url)
    if path is not None and not path.is_file():
        raise InputError(
            f"ledger {path}",
            found="no such file",
            expected="the ledger of a service",
            hint=hint,
        )


def _named(ledger: Ledger, name: str) -> Advice:
    from relume.serve.ledger import NotFoundError

    found = ledger.get(_whole(ledger, name))
    if found is None:
        raise NotFoundError(
            f"advice {name[:80]!r}",
            found="no such Advice in the ledger",
            expected="the advice_id of one, as `relume advice list` shows it",
        )
    return found


def _whole(ledger: Ledger, name: str) -> str:
    """Return the id that begins like `name`; `name` itself where none does."""
    from relume.errors import InputError

    if not name.isascii():
        return ""
    found = ledger.ids_like(name) if name else []
    if len(found) > 1:
        raise InputError(
            f"advice {name[:80]!r}",
            found=f"more than one that begins so: {', '.join(found)}",
            expected="the advice_id of one",
        )
    return found[0] if found else name


def _text(name: str | None) -> str | None:
    """Return an argument, which may be any bytes, as text."""
    return None if name is None else name.encode("utf-8", "replace").decode()


def _record(one: Advice, standing: Standing) -> dict[str, object]:
    import msgspec

    record: dict[str, object] = msgspec.to_builtins(one)
    return {**record, "standing": msgspec.to_builtins(standing)}


def _row(one: Advice, standing: Standing) -> list[object]:
    return [
        one.advice_id,
        one.subject,
        _says(one),
        _finding(one),
        one.rule,
        one.reconciliation.disposition.value,
        _stands(standing),
    ]


def _lines(
    one: Advice, standing: Standing, incident: IncidentRecord | None
) -> list[tuple[str, str]]:
    from relume.clock import to_iso

    rows = [
        ("advice", one.advice_id),
        ("about", f"{one.subject}, generation {one.generation}"),
        ("at", to_iso(one.created_at)),
        ("says", f"{_says(one)}, mode {one.mode}, {'' if one.settled else 'not '}settled"),
        ("finding", f"{_finding(one)}, confidence {one.confidence:.2f}"),
        ("rule", one.rule or "none"),
    ]
    rows += [("evidence", f"{e.file}:{e.line + 1}  {e.text.strip()[:300]}") for e in one.evidence]
    rows += [("missing", words) for words in one.missing_evidence]
    if one.is_waiting:
        rows.append(("approval", f"waits until {to_iso(one.expires_at)}"))
    if one.approval is not None:
        said = one.approval
        rows.append(
            ("approval", ", ".join(filter(None, (f"{said.answer} by {said.who}", said.why))))
        )
    report = one.reconciliation
    rows.append(("carried out", " ".join(filter(None, (report.disposition, report.reason)))))
    if incident is not None:
        rows.append(("incident", _incident(incident)))
    if standing.outcome is not None:
        rows.append(("outcome", f"{standing.outcome.label}: {standing.outcome.reason}"))
    rows += [
        (
            "label",
            ", ".join(filter(None, (_word(said.right), said.cause, f"by {said.who}", said.why))),
        )
        for said in standing.labels
    ]
    return [*rows, ("right", _stands(standing) or "nobody knows yet")]


def _track_record(ledger: Ledger, one: Advice) -> TrackRecord:
    from relume.serve.trackrecord import track_record

    return track_record(one, ledger.known(one))


def _estimate(one: Advice, record: TrackRecord) -> str:
    right, wrong = counted(record.right, "time"), counted(record.wrong, "time")
    rule = f"rule {one.rule or 'none'} was right {right}, wrong {wrong}"
    if record.estimate is None:
        return f"too little is known to say; {rule}"
    return f"{record.estimate:.2f} by {counted(record.learned, 'earlier one')}; {rule}"


def _incident(incident: IncidentRecord) -> str:
    from relume.clock import to_iso

    since = f"{incident.incident_id}, since {to_iso(incident.opened_at)}"
    whole = "" if incident.part_of is None else f", part of {incident.part_of}"
    if incident.closed_at is None:
        return f"{since}{whole}, goes on"
    return f"{since}{whole}, over {to_iso(incident.closed_at)}: {incident.ending}"


def _says(one: Advice) -> str:
    nodes = f" {','.join(one.exclude_nodes)}" if one.exclude_nodes else ""
    return f"{one.operation}{nodes}"


def _finding(one: Advice) -> str:
    return f"{one.kind}: {one.cause or 'unknown'} ({one.domain})"


def _word(right: bool) -> str:
    return "right" if right else "wrong"


def _stands(standing: Standing) -> str | None:
    return None if standing.label is None else f"{standing.label} by {standing.by}"
