"""Whether the ledger answers, asked so that nobody waits long for it.

A server that takes connections and says nothing keeps whoever asks it for half a minute. So one
thread asks at a time, and whoever wants to know waits two seconds for it, at most.
"""

from __future__ import annotations

import asyncio
from concurrent.futures import Future
from concurrent.futures import TimeoutError as LateError
from threading import Lock, Thread
from time import monotonic

from relume.errors import RelumeError
from relume.serve.api.ports import PartStatus
from relume.serve.ledger import Ledger
from relume.verdict import Health

ANSWER_SECONDS = 2.0
LEDGER = "ledger"
"""Name of the part."""


class LedgerProbe:
    """Asks a ledger for a sign of life. Any thread and any event loop may use it.

    Parameters
    ----------
    ledger
        Which is asked.
    """

    def __init__(self, ledger: Ledger) -> None:
        self._ledger = ledger
        self._lock = Lock()
        self._answer: Future[PartStatus] | None = None
        self._began = 0.0

    def status(self) -> PartStatus:
        """Return how the ledger is, after two seconds at most; unhealthy when it didn't answer."""
        answer, seconds = self._ask()
        try:
            return answer.result(seconds)
        except LateError:
            return self._late()

    async def status_soon(self) -> PartStatus:
        """Return the same without a thread that waits."""
        answer, seconds = self._ask()
        try:
            return await asyncio.wait_for(asyncio.wrap_future(answer), seconds)
        except TimeoutError:
            return self._late()

    def _ask(self) -> tuple[Future[PartStatus], float]:
        """Return the answer that is waited for, and for how many seconds it still may be."""
        with self._lock:
            if self._answer is None or self._answer.done():
                self._answer, self._began = Future(), monotonic()
                self._answer.set_running_or_notify_cancel()  # one who leaves doesn't end it
                asking = Thread(target=self._work, args=(self._answer,), daemon=True)
                asking.name = "ledger probe"
                asking.start()
            return self._answer, max(0.0, self._began + ANSWER_SECONDS - monotonic())

    def _work(self, answer: Future[PartStatus]) -> None:
        try:
            self._ledger.ping()
        except RelumeError as error:
            answer.set_result(PartStatus(Health.UNHEALTHY, str(error)))
        except Exception as error:  # noqa: BLE001 - whoever waits must hear of it
            words = f"{type(error).__name__}: {error}"
            answer.set_result(PartStatus(Health.UNHEALTHY, words))
        else:
            answer.set_result(PartStatus(Health.HEALTHY))

    def _late(self) -> PartStatus:
        age = monotonic() - self._began
        words = f"no answer for {age:.0f} s; look at the database"
        return PartStatus(Health.UNHEALTHY, words)
