"""What to do after one failed attempt, seen alone: the retry outlook turned into an operation.

The policy of a run (budgets, repeats, exclusion caps) decides later on several attempts; this is
the first opinion that `relume diagnose` prints.
"""

from __future__ import annotations

from relume.verdict import Domain, Kind, Retry

RESTART = "RESTART"
RESTART_EXCLUDING = "RESTART_EXCLUDING"
STOP = "STOP"
OBSERVE = "OBSERVE"
HOLD = "HOLD"


def operation(kind: Kind, domain: Domain, retry: Retry, *, excludes: bool, named: bool) -> str:
    """Return the operation for one verdict (DESIGN 5).

    Anything that is no confirmed failure is left alone. Scheduler decisions are not failures.
    Unattributed hangs and network failures back off, and so does what somebody has to mend first.
    Only a deterministic workload error stops.

    >>> operation(Kind.CRASH, Domain.WORKLOAD, Retry.NO, excludes=False, named=True)
    'STOP'
    >>> operation(Kind.HANG, Domain.UNKNOWN, Retry.UNCLEAR, excludes=False, named=False)
    'HOLD'
    """
    if kind not in {Kind.CRASH, Kind.HANG} or domain is Domain.SCHEDULER:
        return OBSERVE
    if excludes:
        return RESTART_EXCLUDING
    if retry is Retry.NO:
        return STOP if domain is Domain.WORKLOAD else HOLD
    if not named and (kind is Kind.HANG or domain is Domain.NETWORK):
        return HOLD
    return RESTART
