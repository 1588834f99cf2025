"""Routes by which people answer to Advice in mode approve; they need role control."""

from __future__ import annotations

from typing import Annotated

from fastapi import APIRouter, Response
from pydantic import Field

from relume.advice import MAX_WORDS, Advice, Answer, Approval
from relume.clock import Clock
from relume.serve.api.bodies import Body, Name
from relume.serve.api.keys import IdempotencyKey, request_key
from relume.serve.api.problems import documented
from relume.serve.api.reading import as_json, given
from relume.serve.ledger import Ledger

_SAYS = given(Advice) | documented(404, 409, 422, 503)


class AnswerReport(Body):
    """A person answers."""

    who: Name
    """A role or a name; it is written into the audit."""
    why: Annotated[str, Field(max_length=MAX_WORDS)] | None = None
    """In words."""


def answer_routes(ledger: Ledger, clock: Clock) -> APIRouter:
    """Return the routes."""
    router = APIRouter(prefix="/v1/advice/{advice_id}", tags=["advice"])

    def say(answer: Answer, advice_id: str, body: AnswerReport, key: str | None) -> Response:
        approval = Approval(answer, body.who, body.why, clock.now())
        known = request_key(key, f"{answer} {advice_id}", body, approval.at)
        return as_json(ledger.answer(advice_id, approval, known))

    @router.post("/approve", responses=_SAYS)
    def approve(advice_id: str, body: AnswerReport, key: IdempotencyKey = None) -> Response:
        """Let a controller carry an Advice out. 409: it has an answer, or waits for none."""
        return say(Answer.APPROVED, advice_id, body, key)

    @router.post("/reject", responses=_SAYS)
    def reject(advice_id: str, body: AnswerReport, key: IdempotencyKey = None) -> Response:
        """Leave an attempt alone instead. 409: it has an answer, or waits for none."""
        return say(Answer.REJECTED, advice_id, body, key)

    return router
