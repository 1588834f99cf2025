"""What people answer to Advice in mode approve, in the database: written once."""

from __future__ import annotations

from sqlalchemy import Connection, insert, select, update

from relume.advice import Advice, Answer, Approval
from relume.clock import to_iso
from relume.serve.ledger import audit, decisions, news
from relume.serve.ledger.errors import NotWaitingError
from relume.serve.ledger.tables import ADVICE, ANSWERS

NOBODY = "relume"
"""Who answers when nobody did."""
WAITING = "waiting"
_LATE = "nobody answered before it expired"
_NEWER = "a newer generation took its place"
_AT_ONCE = 1000


def ask(connection: Connection, advice: Advice) -> None:
    """Write that a new generation waits for an answer, if it does; older ones no longer do."""
    waiting = (
        select(ANSWERS.c.advice_id)
        .join(ADVICE)
        .where(ADVICE.c.attempt == advice.subject, ANSWERS.c.answer == WAITING)
    )
    for older in connection.execute(waiting).scalars().all():
        _write(connection, older, Approval(Answer.EXPIRED, NOBODY, _NEWER, advice.created_at))
    if advice.is_waiting:
        values = {"answer": WAITING, "expires_at": advice.expires_at}
        connection.execute(insert(ANSWERS).values(advice_id=advice.advice_id, **values))


def put(connection: Connection, advice_id: str, approval: Approval) -> Advice:
    """Write an answer; return the Advice with it. The same answer again changes nothing."""
    advice = decisions.require(connection, advice_id)
    before = advice.approval
    if before is not None and before.answer is approval.answer:
        return advice
    _require_waiting(advice, approval.at)
    _write(connection, advice_id, approval)
    return decisions.require(connection, advice_id)


def expire(connection: Connection, now: int) -> list[str]:
    """Answer what nobody answered in time; return the ids."""
    late = ANSWERS.c.answer == WAITING, ANSWERS.c.expires_at <= now
    query = select(ANSWERS.c.advice_id).where(*late).order_by(ANSWERS.c.expires_at)
    ids = list(connection.execute(query.limit(_AT_ONCE)).scalars())
    for advice_id in ids:
        _write(connection, advice_id, Approval(Answer.EXPIRED, NOBODY, _LATE, now))
    return ids


def is_late(connection: Connection, now: int) -> bool:
    """Whether `expire` would find something."""
    late = ANSWERS.c.answer == WAITING, ANSWERS.c.expires_at <= now
    return connection.execute(select(ANSWERS.c.answer).where(*late).limit(1)).first() is not None


def _require_waiting(advice: Advice, now: int) -> None:
    if advice.is_waiting and now < advice.expires_at:
        return
    if advice.approval is not None:
        answer = advice.approval
        found = f"that {answer.who} {answer.answer} it {to_iso(answer.at)}"
    elif advice.is_waiting:
        found = f"that it expired {to_iso(advice.expires_at)}"
    else:
        found = f"{advice.operation} in mode {advice.mode}{'' if advice.settled else ', unsettled'}"
    raise NotWaitingError(
        f"answer to advice {advice.advice_id}",
        found=found,
        expected="one that waits for an answer: settled, in mode approve, of the newest generation",
    )


def _write(connection: Connection, advice_id: str, approval: Approval) -> None:
    values = {
        "answer": approval.answer.value,
        "who": approval.who,
        "why": approval.why,
        "at": approval.at,
    }
    mine = ANSWERS.c.advice_id == advice_id
    connection.execute(update(ANSWERS).where(mine).values(**values))
    audit.add(
        connection,
        at=approval.at,
        who=approval.who,
        what=approval.answer.value,
        about=advice_id,
        done=approval,
    )
    news.add(connection, news.News.ANSWER, advice_id, approval.at)
