"""What the live runner is told: by the configuration, or by a test."""

from __future__ import annotations

from dataclasses import dataclass, field

from relume.advice import Mode, Operation
from relume.models.hang.gap import GapSettings
from relume.models.policy.view import Policy
from relume.serve.configured import diagnosis_of
from relume.serve.live.watch import WatchSettings
from relume.settings import ClusterSettings, Settings


@dataclass(frozen=True, slots=True, kw_only=True)
class RunnerOptions:
    """What is read, and how it is decided.

    Attributes
    ----------
    cluster
        Whose snapshots are taken in; empty: those of the first one that comes.
    zone
        IANA name of the zone of clocks that name none.
    log_roots
        Folders below which jobs' logs may be read.
    kernel_logs
        Paths of nodes' kernel logs, with ``{node}`` in them.
    tick_seconds
        Time from one step to the next.
    watch
        Policy, mode, and how long a first sign is left to settle.
    """

    cluster: str = ""
    zone: str = "UTC"
    log_roots: tuple[str, ...] = ()
    kernel_logs: tuple[str, ...] = ()
    tick_seconds: float = 1.0
    watch: WatchSettings = field(default_factory=WatchSettings)

    @classmethod
    def of(cls, settings: Settings) -> RunnerOptions:
        """Return the options that a configuration means."""
        serve, policy = settings.serve, settings.policy
        name = settings.cluster.name
        return cls(
            cluster="" if name == ClusterSettings().name else name,
            zone=settings.cluster.timezone,
            log_roots=serve.log_roots,
            kernel_logs=serve.kernel_logs,
            tick_seconds=serve.tick_seconds,
            watch=WatchSettings(
                policy=Policy(
                    max_restarts=policy.max_restarts,
                    identical_failures=policy.identical_failures,
                    exclusion_cap=policy.exclusion_cap,
                    hold_seconds=policy.hold_seconds,
                    advice_seconds=policy.advice_seconds,
                    numeric=Operation(policy.numeric.upper()),
                ),
                diagnosis=diagnosis_of(settings),
                gaps=GapSettings(actionable_seconds=serve.hang_seconds),
                mode=Mode(serve.mode),
                settle_seconds=serve.settle_seconds,
            ),
        )
