"""How long it took until something was found, by kind (metrics section 5)."""

from __future__ import annotations

from dataclasses import dataclass, field

from relume.dataset import Incident
from relume.models.scoring.attempt import SECOND
from relume.models.scoring.matching import Found, Matching
from relume.models.scoring.spread import Spread, spread
from relume.verdict import Kind


@dataclass(slots=True)
class Latencies:
    """Latencies of one kind, in seconds.

    Attributes
    ----------
    detect, censored
        From the onset to the alarm; of misses, to the end of the incident.
    floor
        From the onset to the first instant at which any input shows it: not the detector's fault.
    detector, detector_censored
        From that instant to the alarm; of misses, to the end of the incident.
    advise
        From the onset to durable Advice.
    missed
        Incidents that were not found.
    without_clock
        Incidents that were found, but the onset or the alarm has no time.
    """

    detect: list[float] = field(default_factory=list)
    censored: list[float] = field(default_factory=list)
    floor: list[float] = field(default_factory=list)
    detector: list[float] = field(default_factory=list)
    detector_censored: list[float] = field(default_factory=list)
    advise: list[float] = field(default_factory=list)
    missed: int = 0
    without_clock: int = 0

    def spreads(self) -> dict[str, Spread]:
        """Return the spread of each by the names of metrics section 5."""
        return {
            "time_to_detect": spread(self.detect, censored=self.censored, missed=self.missed),
            "floor": spread(self.floor),
            "detector_latency": spread(
                self.detector, censored=self.detector_censored, missed=self.missed
            ),
            # Not being advised isn't known of an incident that was found: only misses are counted.
            "time_to_advice": spread(self.advise, censored=self.censored, missed=self.missed),
        }


@dataclass(slots=True)
class LatencyTable:
    """Latencies by kind."""

    by_kind: dict[Kind, Latencies] = field(default_factory=dict)

    def add(self, matching: Matching, attempt_end: int | None) -> None:
        """Count one attempt."""
        for found in matching.found:
            self._add_found(found)
        for missed in matching.missed:
            self._add_missed(missed, attempt_end)

    def _add_found(self, found: Found) -> None:
        incident, time = found.incident, found.alarm.first.time
        latencies = self._of(incident)
        if incident.onset is None or time is None:
            latencies.without_clock += 1
        else:
            latencies.detect.append((time - incident.onset) / SECOND)
        if incident.visible is not None and time is not None:
            latencies.detector.append((time - incident.visible) / SECOND)
        advised = [
            one.advice_time
            for one in found.alarms
            if one.advice_time is not None and not one.told_by_scheduler
        ]
        if incident.onset is not None and advised:
            latencies.advise.append((min(advised) - incident.onset) / SECOND)

    def _add_missed(self, incident: Incident, attempt_end: int | None) -> None:
        latencies = self._of(incident)
        latencies.missed += 1
        end = attempt_end if incident.end is None else incident.end
        if end is None:
            return
        if incident.onset is not None:
            latencies.censored.append(max(end - incident.onset, 0) / SECOND)
        if incident.visible is not None:
            latencies.detector_censored.append(max(end - incident.visible, 0) / SECOND)

    def _of(self, incident: Incident) -> Latencies:
        latencies = self.by_kind.setdefault(incident.kind, Latencies())
        if incident.visible is not None and incident.onset is not None:
            latencies.floor.append((incident.visible - incident.onset) / SECOND)
        return latencies
