"""Who looks after runs: how soon they notice, whom they blame, what they get wrong.

The baseline is the collective timer of 600 s with a blind requeue, a human one who comes after 30
minutes; the oracle knows everything at once. What stands for Relume is made of stored results of
its benches, never of wishes: a result that isn't stored can't be simulated.
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass, replace
from itertools import pairwise
from typing import Any

from relume.errors import InputError

NEVER = math.inf


@dataclass(frozen=True, slots=True)
class Delay:
    """A time that varies: its value at a share of cases, straight lines between.

    Examples
    --------
    >>> Delay(((0.0, 1.0), (0.5, 3.0), (1.0, 13.0))).at(0.75)
    8.0
    """

    points: tuple[tuple[float, float], ...]

    def at(self, share: float) -> float:
        """Return the time that `share` of cases don't exceed."""
        for (low, before), (high, after) in pairwise(self.points):
            if share <= high:
                return before + (after - before) * (share - low) / (high - low)
        return self.points[-1][1]


def always(seconds: float) -> Delay:
    """Return a delay that doesn't vary."""
    return Delay(((0.0, seconds), (1.0, seconds)))


@dataclass(frozen=True, slots=True)
class Operator:
    """One who looks after runs.

    Attributes
    ----------
    crash, hang
        Seconds from the onset of a failure to the alarm.
    act
        From the alarm to the end of the attempt, and the requeue.
    names_node
        Share of failures of a node in which that node is left out at once.
    blames_innocent
        Share of all failures in which another node is left out.
    recall, missed_seconds
        Share of failures that are noticed at all, and when the others end: by the timer of the
        collectives.
    false_alarms_per_job_day
        Healthy attempts that are ended.
    drains_after
        Seconds from the first failure to when people take a broken node out that nobody named.
    stops_at
        After how many identical failures a run is stopped until it is mended; null: never.
    knows_stragglers
        Whether slow nodes are left out where that pays.
    """

    name: str
    crash: Delay
    hang: Delay
    act: float = 0.0
    names_node: float = 0.0
    blames_innocent: float = 0.0
    recall: float = 1.0
    missed_seconds: float = 600.0
    false_alarms_per_job_day: float = 0.0
    drains_after: float = NEVER
    stops_at: int | None = None
    knows_stragglers: bool = False


HUMAN_SECONDS = 1_800.0
TIMER_SECONDS = 600.0
BASELINE = Operator(
    "baseline", always(TIMER_SECONDS), always(TIMER_SECONDS), drains_after=HUMAN_SECONDS
)
"""The timer ends a run, Slurm starts it again on any nodes; people drain a node that broke it."""
HUMAN = replace(
    BASELINE,
    name="human",
    crash=always(HUMAN_SECONDS),
    hang=always(HUMAN_SECONDS),
    names_node=1.0,
    stops_at=2,
)
ORACLE = Operator(
    "oracle", always(0.0), always(0.0), names_node=1.0, stops_at=2, knows_stragglers=True
)


def from_results(results: Mapping[str, Mapping[str, Any]]) -> Operator:
    """Return Relume as its stored benches measured it.

    Crashes are settled as on a real Slurm (`loop`); hangs of known families are found as in `hang`,
    or by the timer of the job's own collectives where that comes sooner; culprits are named as in
    the simulated `episodes`, and false alarms come as often as `false-alarms` can't rule out.

    Parameters
    ----------
    results
        Stored results by the id of their bench.

    Raises
    ------
    InputError
        When a result, or a measure in it, isn't there.
    """

    def value(bench: str, measure: str) -> float:
        try:
            found = results[bench]["measures"][measure]
        except KeyError as error:
            raise InputError(
                f"measure {measure} of bench {bench}",
                found="no stored result of it",
                hint=f"relume bench run {bench} --store",
            ) from error
        return float(found["value"] if isinstance(found, dict) else found)

    settled, worst = (value("loop", f"crash_settled_seconds{end}") for end in ("", "_worst"))
    timer = TIMER_SECONDS + settled
    middle, late, latest = (
        min(timer, value("hang", f"known_{part}_seconds")) for part in ("p50", "p95", "largest")
    )
    return Operator(
        "relume",
        crash=Delay(((0.0, settled), (0.5, settled), (1.0, worst))),
        hang=Delay(((0.0, middle), (0.5, middle), (0.95, late), (1.0, latest))),
        act=value("loop", "hang_released_seconds") - value("loop", "hang_settled_seconds"),
        names_node=value("episodes", "culprit_node"),
        blames_innocent=value("episodes", "exclusions_of_others")
        / float(results["episodes"]["corpus"]["episodes"]),
        recall=value("episodes", "kind"),
        missed_seconds=timer,
        false_alarms_per_job_day=_worst_rate(results.get("false-alarms", {})),
        drains_after=HUMAN_SECONDS,
        stops_at=2,
    )


def _worst_rate(result: Mapping[str, Any]) -> float:
    """Return the upper bound of false alarms per job-day in the worst regime that has a bar."""
    bounds = [
        result["measures"][f"{regime}_per_job_day"]["high"] for regime in result.get("bars", {})
    ]
    if not bounds:
        raise InputError(
            "false alarms per job-day",
            found="no stored result of bench false-alarms",
            hint="relume bench run false-alarms --store",
        )
    return float(max(bounds))
