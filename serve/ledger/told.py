"""Answers of people, and what became known, as the rest of the service sees it."""

from __future__ import annotations

from typing import TYPE_CHECKING

from relume.advice import Advice, Approval
from relume.serve.ledger import answers, decisions, news
from relume.serve.ledger.news import Bell, NewsRecord
from relume.serve.ledger.requests import RequestKey, once
from relume.serve.ledger.store import Store

if TYPE_CHECKING:
    from sqlalchemy import Connection

MAX_NEWS = 1000


class Told:
    """The part of the ledger that knows who answered what, and what became known when."""

    def __init__(self, store: Store) -> None:
        self._store = store
        self.bell = Bell()

    def answer(self, advice_id: str, approval: Approval, key: RequestKey | None = None) -> Advice:
        """Write what a person answers to an Advice, with its row in the audit; return it so.

        The first answer stands; the same answer again changes nothing. With a `key` the Advice is
        returned as it was then.

        Raises
        ------
        NotFoundError
            For an unknown `advice_id`.
        NotWaitingError
            When it has another answer, has expired, or needs none.
        KeyUsedError
            For a key that came with something else.
        """
        advice = self._store.write(once(Advice, answers.put), key, advice_id, approval)
        self.bell.ring()
        return advice

    def expire_answers(self, now: int) -> list[str]:
        """Answer what nobody answered in time with *expired*; return the ids."""
        if not self._store.read(answers.is_late, now):  # nobody writes for nothing
            return []
        found = self._store.write(answers.expire, now)
        self.bell.ring()
        return found

    def news_after(self, number: int, limit: int = MAX_NEWS) -> list[tuple[NewsRecord, Advice]]:
        """Return what became known after a number, with the Advice as it is now; in order."""
        return self._store.read(_news, number, min(limit, MAX_NEWS))

    def last_news(self) -> int:
        """Return the number of the newest thing that became known; 0 before the first."""
        return self._store.read(news.last)


def _news(connection: Connection, number: int, limit: int) -> list[tuple[NewsRecord, Advice]]:
    found = news.after(connection, number, limit)
    return [(one, decisions.require(connection, one.advice_id)) for one in found]
