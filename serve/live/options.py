"""What the live runner is told: by the configuration, or by a test."""

from __future__ import annotations

from dataclasses import dataclass, field, replace

from relume.advice import Mode, Operation
from relume.models.hang.settings import HangSettings
from relume.models.lemons.quarantine import QuarantineSettings
from relume.models.policy.policy import Policy, Preset
from relume.models.straggler.settings import StragglerSettings
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
    compact_seconds
        Time from one merging of the lake's small segments to the next; 0 for never.
    watch
        Policy, mode, and how long a first sign is left to settle.
    state_seconds, state_beside
        How often its state is kept, 0 for never; whether by a process of its own.
    """

    cluster: str = ""
    zone: str = "UTC"
    log_roots: tuple[str, ...] = ()
    kernel_logs: tuple[str, ...] = ()
    tick_seconds: float = 1.0
    compact_seconds: float = 600.0
    watch: WatchSettings = field(default_factory=WatchSettings)
    state_seconds: float = 300.0
    state_beside: bool = False

    @classmethod
    def of(cls, settings: Settings) -> RunnerOptions:
        """Return the options that a configuration means."""
        serve = settings.serve
        name = settings.cluster.name
        return cls(
            cluster="" if name == ClusterSettings().name else name,
            zone=settings.cluster.timezone,
            log_roots=serve.log_roots,
            kernel_logs=serve.kernel_logs,
            tick_seconds=serve.tick_seconds,
            compact_seconds=serve.compact_seconds,
            state_seconds=serve.state_seconds,
            state_beside=True,
            watch=WatchSettings(
                policy=policy_of(settings),
                diagnosis=diagnosis_of(settings),
                hang=hang_of(settings),
                straggler=StragglerSettings(
                    budget=settings.straggler.false_alarms_per_job_day,
                    effect=settings.straggler.effect_ratio,
                ),
                suspects_stragglers=settings.straggler.suspicions,
                quarantine=quarantine_of(settings),
                mode=Mode(serve.mode),
                settle_seconds=serve.settle_seconds,
            ),
        )


def policy_of(settings: Settings) -> Policy:
    """Return the limits that a configuration means: its preset, and what it names beside it."""
    section = settings.policy
    written = {name: getattr(section, name) for name in section.model_fields_set - {"preset"}}
    if "numeric" in written:
        written["numeric"] = Operation(section.numeric.upper())
    if written.get("window_restarts") == 0:
        written["window_restarts"] = None
    return replace(Policy.of(Preset(section.preset)), **written)


def quarantine_of(settings: Settings) -> QuarantineSettings:
    """Return which nodes a configuration has kept from jobs."""
    return QuarantineSettings(**settings.quarantine.model_dump())


def hang_of(settings: Settings) -> HangSettings:
    """Return the thresholds of the hang detector that a configuration means."""
    hang = settings.hang
    return HangSettings.of_budget(
        hang.false_alarms_per_job_day,
        suspicion_seconds=hang.suspicion_seconds,
        suspicions_per_day=hang.suspicions_per_day,
        actionable_seconds=hang.actionable_seconds,
    )
