"""From what was found to the numbers and bars of the bench. Pure."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from statistics import median
from typing import Any

from relume.benchmarks.loop.killing import TARGETS, Killed
from relume.benchmarks.loop.record import NEVER_SECONDS, Record, Recovery, seconds_of
from relume.benchmarks.loop.scenarios import Scenario, survived
from relume.benchmarks.result import Bar, Measure

GENERATION_1_SECONDS = 2.0
RELEASE_SECONDS = 4.0
"""What may come on top of the time that evidence is given to settle."""
_MOMENTS = {
    "generation_1": "durable_at",
    "settled": "settled_at",
    "released": "released_at",
    "launched": "launched_at",
    "begun": "began_at",
    "first_step": "stepped_at",
}
"""Names of measures, and of the times that they are about."""


@dataclass(slots=True, kw_only=True)
class Findings:
    """What a run of the bench found.

    Attributes
    ----------
    runs
        The records of each scenario.
    observed_commands
        Commands that may change something, of all given while the controller only observed.
    survivors
        The jobs that ran while Relume was being killed.
    kills
        What was killed when.
    lost
        Advice that was seen durable and isn't there any more, or never came to its end; in words.
    foreign
        What was done to jobs that others hold, in words.
    unlike_replay
        Advice that a replay of the lake doesn't repeat, in words.
    """

    runs: Mapping[Scenario, Sequence[Record]] = field(default_factory=dict)
    observed_commands: int = 0
    survivors: Sequence[Record] = ()
    kills: Sequence[Killed] = ()
    lost: Sequence[str] = ()
    foreign: Sequence[str] = ()
    unlike_replay: Sequence[str] = ()

    @property
    def complaints(self) -> dict[str, list[str]]:
        """What was wrong, by the name of the run; runs in which all was well are left out."""
        judged = [
            (record, list(scenario.complaints(record)))
            for scenario, records in self.runs.items()
            for record in records
        ]
        judged += [(record, list(survived(record))) for record in self.survivors]
        return {record.plan.name: words for record, words in judged if words}

    def recoveries(self, *, crash: bool) -> list[Recovery]:
        """Return the recoveries of crashes or of hangs, in all scenarios that ask for one."""
        return [
            recovery
            for scenario, records in self.runs.items()
            if scenario.recovers and scenario.crash is crash
            for record in records
            for recovery in record.recoveries()
        ]


def measures(findings: Findings, settle_seconds: float) -> dict[str, Measure]:
    """Return the numbers of the bench. A time that never came counts as `NEVER_SECONDS`."""
    wrong = findings.complaints
    found: dict[str, Measure] = {
        f"{scenario.id}_as_expected": sum(record.plan.name not in wrong for record in records)
        for scenario, records in findings.runs.items()
    }
    for kind, crash in (("crash", True), ("hang", False)):
        found |= dict(_times(kind, findings.recoveries(crash=crash)))
    released = median(seconds_of(findings.recoveries(crash=True), "released_at") or [NEVER_SECONDS])
    strangers = [r for scenario, rs in findings.runs.items() if not scenario.opts_in for r in rs]
    return found | {
        "crash_released_after_settling_seconds": round(released - settle_seconds, 2),
        "commands_without_opt_in": sum(len(record.commands) for record in strangers),
        "commands_in_mode_observe": findings.observed_commands,
        **{
            f"kills_of_{target}": sum(kill.target == target for kill in findings.kills)
            for target in TARGETS
        },
        "failures_during_kills": sum(len(record.faults) for record in findings.survivors),
        "jobs_through_kills": len(findings.survivors),
        "jobs_not_well_after_kills": sum(r.plan.name in wrong for r in findings.survivors),
        "repeated_requeues": sum(
            max(0, record.requeues - len(record.faults), record.restarts - len(record.faults))
            for record in findings.survivors
        ),
        "lost_advice": len(findings.lost),
        "foreign_holds_touched": len(findings.foreign),
        "advice_unlike_replay": len(findings.unlike_replay),
    }


def bars(findings: Findings, moments: int) -> dict[str, Bar]:
    """Return what the measures must reach."""
    expected = {
        f"{scenario.id}_as_expected": Bar("==", len(records))
        for scenario, records in findings.runs.items()
    }
    nothing = (
        "commands_without_opt_in",
        "commands_in_mode_observe",
        "jobs_not_well_after_kills",
        "repeated_requeues",
        "lost_advice",
        "foreign_holds_touched",
        "advice_unlike_replay",
    )
    return {
        **expected,
        "crash_generation_1_seconds": Bar("<=", GENERATION_1_SECONDS),
        "crash_released_after_settling_seconds": Bar("<=", RELEASE_SECONDS),
        **{name: Bar("==", 0) for name in nothing},
        **{f"kills_of_{target}": Bar(">=", moments) for target in TARGETS},
    }


def notes(findings: Findings) -> dict[str, Any]:
    """Return what the numbers were made from: each recovery's times, and all complaints."""
    return {
        "seconds": {
            record.plan.name: [_seconds(recovery) for recovery in record.recoveries()]
            for records in findings.runs.values()
            for record in records
        },
        "kills_while_waiting_for": dict(_stages(findings)),
        "complaints": findings.complaints,
        "lost_advice": list(findings.lost),
        "foreign_holds": list(findings.foreign),
        "unlike_replay": list(findings.unlike_replay),
    }


def _stages(findings: Findings) -> Counter[str]:
    """What recoveries were waiting for when something was killed; one kill may hit several."""
    recoveries = [one for record in findings.survivors for one in record.recoveries()]
    stages = (one.stage(kill.at) for kill in findings.kills for one in recoveries)
    return Counter(stage for stage in stages if stage is not None)


def _times(kind: str, recoveries: Sequence[Recovery]) -> Iterator[tuple[str, float]]:
    for name, moment in _MOMENTS.items():
        seconds = seconds_of(recoveries, moment) or [NEVER_SECONDS]
        yield f"{kind}_{name}_seconds", round(median(seconds), 2)
        yield f"{kind}_{name}_seconds_worst", round(max(seconds), 2)


def _seconds(recovery: Recovery) -> dict[str, float | None]:
    taken = {name: recovery.seconds(moment) for name, moment in _MOMENTS.items()}
    return {name: None if one is None else round(one, 2) for name, one in taken.items()}
