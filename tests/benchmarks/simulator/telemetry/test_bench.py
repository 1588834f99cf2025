from __future__ import annotations

from relume.benchmarks.simulator.telemetry.bench import Seen, measures_of
from relume.dataset import Incident, Origin
from relume.models.scoring.alarm import Alarm
from relume.models.scoring.attempt import ScoredAttempt
from relume.verdict import Domain, Kind

SECOND = 1_000_000
ATTEMPT = "simulated/7@0.0"


def scored(kind: Kind, *alarms: Alarm) -> ScoredAttempt:
    incident = Incident(
        incident_id=f"{kind.value} {len(alarms)}",
        attempt=ATTEMPT,
        kind=kind,
        domain=Domain.HARDWARE,
        culprit_nodes=("gpu-1",),
        onset=100 * SECOND,
        end=700 * SECOND,
    )
    return ScoredAttempt(
        attempt=ATTEMPT,
        title=ATTEMPT,
        origin=Origin.SIMULATED,
        start=0,
        end=700 * SECOND,
        nodes=1,
        incidents=(incident,),
        alarms=alarms,
    )


def alarm(kind: Kind, domain: Domain, *nodes: str) -> Alarm:
    return Alarm(
        attempt=ATTEMPT, kind=kind, time=110 * SECOND, domain=domain, nodes=nodes, settled=True
    )


def test_a_failure_that_was_missed_counts_as_told_wrong_and_stragglers_are_apart() -> None:
    seen = Seen(bytes=5_000_000, write_cpu_seconds=0.5)
    for attempt in (
        scored(Kind.CRASH, alarm(Kind.CRASH, Domain.HARDWARE, "gpu-1")),
        scored(Kind.CRASH, alarm(Kind.CRASH, Domain.NETWORK, "gpu-2")),
        scored(Kind.HANG),
        scored(Kind.STRAGGLER, alarm(Kind.STRAGGLER, Domain.UNKNOWN)),
    ):
        matching = seen.report.add(attempt)
        assert matching is not None
        seen.note(matching)
    assert seen.domains == seen.nodes == [True, False, False]
    measures = measures_of(seen)
    recalls = {name: measures[f"{name}_recall"] for name in ("crash", "hang", "straggler")}
    assert [one["value"] for one in recalls.values()] == [1.0, 0.0, 1.0]  # type: ignore[index]
    assert measures["crash_p50_seconds"] == 10.0
    assert measures["write_mb_per_cpu_second"] == 10.0
