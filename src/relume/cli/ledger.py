"""`relume ledger`: who did what, and whether the record of it is whole."""

from __future__ import annotations

from typing import Annotated

import typer

from relume.cli.advice import DEFAULT_PAGE, LARGEST_PAGE, LedgerOption, open_ledger
from relume.cli.options import ConfigOption, JsonOption
from relume.cli.output import print_json, say

EXIT_FINDING = 1
app = typer.Typer(
    help="The ledger of a service: who did what.", no_args_is_help=True, rich_markup_mode=None
)


@app.command("audit")
def audit(
    *,
    after: Annotated[
        int, typer.Option("--after", metavar="N", min=0, help="Rows after this number.")
    ] = 0,
    limit: Annotated[
        int, typer.Option("--limit", metavar="N", min=1, max=LARGEST_PAGE, help="How many.")
    ] = DEFAULT_PAGE,
    ledger: LedgerOption = None,
    as_json: JsonOption = False,
    config: ConfigOption = None,
) -> None:
    """List who did what, in order: labels, reports of controllers, leases. Exit code 0."""
    import msgspec

    from relume.cli.rows import write_text
    from relume.clock import to_iso

    with open_ledger(ledger, config) as opened:
        rows = opened.audit(after, limit)
    if as_json:
        print_json({"audit": msgspec.to_builtins(rows)})
    else:
        names = ("number", "at", "who", "what", "about", "document", "hash")
        cells = ([getattr(one, name) for name in names] for one in rows)
        write_text(names, ([row[0], to_iso(row[1]), *row[2:]] for row in cells))
    if len(rows) == limit:
        say(f"more: --after {rows[-1].number}")


@app.command("verify")
def verify(
    *, ledger: LedgerOption = None, as_json: JsonOption = False, config: ConfigOption = None
) -> None:
    """Check the chain of the audit: each row holds the hash of the one before.

    Prints the last hash: who keeps it elsewhere sees rows that are cut off later. Exit code 0: it
    is whole; 1: it breaks, and where.
    """
    import msgspec

    with open_ledger(ledger, config) as opened:
        found = opened.verify()
    if as_json:
        print_json(msgspec.to_builtins(found))
    else:
        typer.echo(f"{found.rows} rows hold, the last with hash {found.last}")
    if found.broken is not None:
        say(f"the audit is broken: {found.broken}")
        raise typer.Exit(EXIT_FINDING)
