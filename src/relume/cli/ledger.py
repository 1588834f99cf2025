"""`relume ledger`: who did what, whether the record of it is whole, and copies of it."""

from __future__ import annotations

from contextlib import closing
from typing import TYPE_CHECKING, Annotated

import typer

from relume.cli.advice import (
    DEFAULT_PAGE,
    LARGEST_PAGE,
    LedgerOption,
    ledger_url,
    open_ledger,
    require_ledger,
)
from relume.cli.options import ConfigOption, JsonOption, named
from relume.cli.output import print_json, say
from relume.errors import counted

if TYPE_CHECKING:
    from collections.abc import Mapping

    from relume.serve.ledger import Access

EXIT_FINDING = 1
app = typer.Typer(
    help="The ledger of a service: who did what; copies.",
    no_args_is_help=True,
    rich_markup_mode=None,
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
        typer.echo(f"rows that hold: {found.rows:,}, the last with hash {found.last}")
    if found.broken is not None:
        say(f"the audit is broken: {found.broken}")
        raise typer.Exit(EXIT_FINDING)


@app.command("copy")
def copy(
    *,
    source: Annotated[
        str,
        typer.Option(
            "--from", parser=named, metavar="FILE|URL", help="The ledger.", show_default=False
        ),
    ],
    target: Annotated[
        str,
        typer.Option(
            "--to",
            parser=named,
            metavar="FILE|URL",
            help="An empty ledger, or none yet.",
            show_default=False,
        ),
    ],
    yes: Annotated[bool, typer.Option("--yes", help="Copy; without it, only show.")] = False,
    as_json: JsonOption = False,
    config: ConfigOption = None,
) -> None:
    """Copy a ledger from a file into a database on a server, or back; all of it or nothing.

    Stop the service first: what it writes meanwhile isn't copied. What was written is read back and
    compared before it counts. Exit code 0: it was copied, or is only shown; 2: the target isn't
    empty, or doesn't hold what was written; 3: a server doesn't answer.
    """
    from relume.config import load_config
    from relume.serve.ledger import access_of
    from relume.serve.ledger.copying import copy as copy_ledger
    from relume.serve.ledger.store import Store

    urls = ledger_url(source), ledger_url(target)
    require_ledger(urls[0], "name it with --from")
    access = access_of(load_config(config).settings.serve)
    if not yes:
        _show(_planned(*urls, access), as_json=as_json, copied=False)
        say(f"nothing was copied; to copy: relume ledger copy --from {source} --to {target} --yes")
        return
    _planned(*urls, access)
    with closing(Store.open(urls[0], access)) as one, closing(Store.open(urls[1], access)) as other:
        done = copy_ledger(one, other)
    _show(done.rows, as_json=as_json, copied=True)
    say(f"the audit holds: {counted(done.audit_rows, 'row')}, the last with hash {done.audit_last}")


def _planned(source: str, target: str, access: Access) -> Mapping[str, int]:
    """Return the rows of each table to be copied; the target is looked at and left as it is."""
    from relume.serve.ledger import file_of
    from relume.serve.ledger.copying import counts, require_empty
    from relume.serve.ledger.store import Store

    file = file_of(target)
    if file is None or file.is_file():
        with closing(Store.connect(target, access)) as store:
            require_empty(counts(store), store.name)
    with closing(Store.connect(source, access)) as store:
        return counts(store)


def _show(rows: Mapping[str, int], *, as_json: bool, copied: bool) -> None:
    from relume.cli.rows import write_text

    if as_json:
        print_json({"copied": copied, "rows": dict(rows)})
    else:
        write_text(("table", "rows"), ([name, str(count)] for name, count in rows.items()))
