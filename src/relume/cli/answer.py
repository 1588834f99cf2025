"""`relume advice approve` and `reject`: what a person answers to Advice in mode approve."""

from __future__ import annotations

from contextlib import closing
from typing import TYPE_CHECKING, Annotated

import typer

from relume.cli.options import ConfigOption, named
from relume.cli.output import say

if TYPE_CHECKING:
    from pathlib import Path

    from relume.controller.service import ServiceClient

AdviceArgument = Annotated[
    str,
    typer.Argument(
        metavar="ADVICE",
        help="Its id; the beginning will do for one that waits.",
        show_default=False,
    ),
]
WhoOption = Annotated[
    str, typer.Option("--who", metavar="NAME", help="Who says so.", show_default=False)
]
WhyOption = Annotated[
    str | None, typer.Option("--why", metavar="WORDS", help="Why.", show_default=False)
]
YesOption = Annotated[bool, typer.Option("--yes", help="Send it; without it, it is only shown.")]
ServiceOption = Annotated[
    str | None, typer.Option("--service", help="Address of relume serve.", show_default=False)
]
TokenOption = Annotated[
    str | None,
    typer.Option(
        "--token-file",
        parser=named,
        metavar="FILE",
        help="File with a token of role control.",
        show_default=False,
    ),
]


def approve(
    advice: AdviceArgument,
    *,
    who: WhoOption,
    why: WhyOption = None,
    yes: YesOption = False,
    service: ServiceOption = None,
    token_file: TokenOption = None,
    config: ConfigOption = None,
) -> None:
    """Let the controller carry an Advice out that waits for a person (serve.mode approve).

    It prints the request, and sends it with --yes. Exit code 0; 2: the service didn't take it; 3:
    it doesn't answer.
    """
    with closing(_client(config, service, token_file)) as client:
        _answer(client, advice, "approve", {"who": who, "why": why}, yes=yes)


def reject(
    advice: AdviceArgument,
    *,
    who: WhoOption,
    why: WhyOption = None,
    yes: YesOption = False,
    service: ServiceOption = None,
    token_file: TokenOption = None,
    config: ConfigOption = None,
) -> None:
    """Leave an attempt alone instead of what an Advice says that waits for a person.

    It prints the request, and sends it with --yes. Exit code 0; 2: the service didn't take it; 3:
    it doesn't answer.
    """
    with closing(_client(config, service, token_file)) as client:
        _answer(client, advice, "reject", {"who": who, "why": why}, yes=yes)


def _client(config: Path | None, service: str | None, token_file: str | None) -> ServiceClient:
    from relume.cli.control import client_of
    from relume.config import load_config

    flags: dict[str, object] = {
        "controller.service": service,
        "controller.token_file": token_file,
    }
    return client_of(load_config(config, flags=flags).settings.controller)


def _answer(
    client: ServiceClient, name: str, verb: str, body: dict[str, str | None], *, yes: bool
) -> None:
    import json

    from relume.errors import InputError

    advice_id = _whole(client, name)
    path = client.answer_path(advice_id, verb)
    say(f"POST {client.url}{path} {json.dumps(body, ensure_ascii=False)}")
    if not yes:
        say("nothing was sent: --yes sends it")
        return
    refusal = client.answer(path, json.dumps(body).encode())
    if refusal is not None:
        raise InputError(f"{verb} of advice {advice_id}", found=refusal.words)
    past = {"approve": "approved", "reject": "rejected"}[verb]
    say(f"{advice_id} is {past} by {body['who']}")


def _whole(client: ServiceClient, name: str) -> str:
    """Return the id of the one that waits and begins so; the name itself where none does."""
    from relume.errors import InputError

    waiting = (one.advice_id for one in client.active_advice().advice if one.is_waiting)
    found = [one for one in waiting if one.startswith(name)]
    if len(found) > 1:
        raise InputError(
            f"advice {name[:80]!r}",
            found=f"more than one that begins so: {', '.join(found[:3])}",
            expected="the advice_id of one",
        )
    return found[0] if found else name
