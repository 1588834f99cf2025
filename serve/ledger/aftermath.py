"""What happened after Advice, as the rest of the service sees it: each call is one transaction."""

from __future__ import annotations

from typing import TYPE_CHECKING

from relume.advice import Advice
from relume.serve.ledger import audit, incidents, labels, news
from relume.serve.ledger.audit import Verified
from relume.serve.ledger.happened import (
    AuditRecord,
    Closing,
    IncidentRecord,
    LabelRecord,
    OutcomeRecord,
    Standing,
    Struck,
)
from relume.serve.ledger.overview import Overview
from relume.serve.ledger.pages import Pages, Wanted, incidents_before
from relume.serve.ledger.requests import RequestKey, once
from relume.serve.ledger.told import Told

if TYPE_CHECKING:
    from sqlalchemy import Connection

MAX_PAGE = 1000
"""Records of one answer, at most."""


class Aftermath(Told, Overview, Pages):
    """The part of the ledger that tells of incidents, outcomes, labels, and who did what."""

    def note(self, told: Closing | Struck | OutcomeRecord) -> bool:
        """Write what happened after an Advice; false, and nothing written, if that is known.

        Raises
        ------
        NotFoundError
            For an outcome of an Advice that isn't in the ledger.
        """
        is_new = self._store.write(_note, told)
        self.bell.ring()
        return is_new

    def incidents(
        self,
        *,
        is_open: bool | None = None,
        cluster: str | None = None,
        before: str = "",
        limit: int = MAX_PAGE,
    ) -> list[IncidentRecord]:
        """Return incidents, newest first; at most `limit` and `MAX_PAGE`.

        Parameters
        ----------
        is_open
            Those that go on (true) or are over (false); all when null.
        before
            The `incident_id` of the last one of the page before; the first page when empty.

        Raises
        ------
        InputError
            For a `before` that isn't in the ledger.
        """
        wanted = Wanted(active=is_open, cluster=cluster)
        return self._store.read(incidents_before, wanted, before, min(limit, MAX_PAGE))

    def going_on(self, since: int, limit: int) -> list[IncidentRecord]:
        """Return incidents that go on, or were opened at a time or later; oldest first.

        At most `limit`, and without the Advice that belongs to each.
        """
        return self._store.read(incidents.going_on, since, limit)

    def get_incident(self, incident_id: str) -> IncidentRecord | None:
        """Return one incident with the Advice that belongs to it."""
        return self._store.read(incidents.find, incident_id)

    def incident_of(self, advice_id: str) -> IncidentRecord | None:
        """Return the incident to which an Advice belongs; null for none."""
        return self._store.read(incidents.of, advice_id)

    def outcomes(self) -> list[OutcomeRecord]:
        """Return what became of all alarms, in the order in which they were raised."""
        return self._store.read(labels.outcomes)

    def told(self, since: int) -> list[tuple[Advice, Standing]]:
        """Return all Advice from a time on, each with whether it was right; oldest first."""
        return self._store.read(labels.told, since)

    def put_label(self, label: LabelRecord, key: RequestKey | None = None) -> Standing:
        """Write what a person says of an Advice, with its row in the audit; return what stands.

        With a `key` it is written once, and said again as it stood then.

        Raises
        ------
        NotFoundError
            For an Advice that isn't in the ledger.
        KeyUsedError
            For a key that came with something else.
        """
        standing = self._store.write(once(Standing, _label), key, label)
        self.bell.ring()
        return standing

    def standing(self, advice_id: str) -> Standing:
        """Return whether an Advice was right, by people and by what became of it.

        Raises
        ------
        NotFoundError
            For an Advice that isn't in the ledger.
        """
        return self._store.read(labels.standing, advice_id)

    def known(self, before: Advice, limit: int = MAX_PAGE) -> list[tuple[Advice, bool]]:
        """Return earlier Advice with whether it was right, where that is known; oldest first.

        Of more than `limit`, and `MAX_PAGE`, the newest.
        """
        return self._store.read(labels.known, before, min(limit, MAX_PAGE))

    def audit(self, after: int = 0, limit: int = MAX_PAGE) -> list[AuditRecord]:
        """Return who did what, in order, from a number on; at most `limit` and `MAX_PAGE`."""
        return self._store.read(audit.after, after, min(limit, MAX_PAGE))

    def verify(self) -> Verified:
        """Check the chain of the audit."""
        return self._store.read(audit.verify)


def _note(connection: Connection, told: Closing | Struck | OutcomeRecord) -> bool:
    if isinstance(told, Struck):
        return incidents.strike(connection, told)
    if isinstance(told, OutcomeRecord):
        return labels.put_outcome(connection, told)
    is_new = incidents.close(connection, told)
    if is_new:
        news.add(connection, news.News.CLOSED, told.advice_id, told.at)
    return is_new


def _label(connection: Connection, label: LabelRecord) -> Standing:
    standing = labels.put(connection, label)
    news.add(connection, news.News.LABEL, label.advice_id, label.at)
    return standing
