"""What the service is like right now, read when Prometheus asks: its parts and open incidents."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator

from prometheus_client.core import GaugeMetricFamily, Metric
from prometheus_client.registry import Collector

from relume.errors import RelumeError, UnreachableError
from relume.serve.api.ports import Readiness
from relume.serve.api.probe import LEDGER, LedgerProbe
from relume.serve.ledger import IncidentRecord, Ledger
from relume.verdict import Health

MAX_COUNTED = 100_000
"""Open incidents that are counted, at most."""
_FAR = 2**62


class ServiceState(Collector):
    """Collects what is not counted anywhere. All labels are from closed sets: no job is named."""

    def __init__(self, ledger: Ledger, readiness: Readiness, probe: LedgerProbe) -> None:
        self._ledger, self._readiness, self._probe = ledger, readiness, probe

    def collect(self) -> Iterator[Metric]:
        """Return the parts of the service and the open incidents; none of those when unknown."""
        parts = GaugeMetricFamily(
            "relume_part_healthy",
            "Whether a part of the service is healthy, as /readyz says; unknown is 0, too.",
            labels=("part",),
        )
        for name, part in self._readiness().items():
            parts.add_metric((name,), float(part.status is Health.HEALTHY))
        incidents = GaugeMetricFamily(
            "relume_open_incidents",
            "Incidents that go on, by kind and by what is advised.",
            labels=("kind", "operation"),
        )
        try:
            going_on = self._going_on()
        except RelumeError:
            parts.add_metric((LEDGER,), 0.0)
        else:
            parts.add_metric((LEDGER,), 1.0)
            counts = Counter((one.kind.value, one.operation.value) for one in going_on)
            for labels, count in sorted(counts.items()):
                incidents.add_metric(labels, count)
        yield parts
        yield incidents

    def _going_on(self) -> list[IncidentRecord]:
        """Ask for incidents, unless the ledger gives no sign of life: that took half a minute."""
        found = self._probe.status()
        if found.status is not Health.HEALTHY:
            raise UnreachableError("ledger", found=found.reason or found.status.value)
        return self._ledger.going_on(_FAR, MAX_COUNTED)
