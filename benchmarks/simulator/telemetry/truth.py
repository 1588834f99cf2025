"""What happened to one simulated attempt: how it is told, and the labels that say so."""

from __future__ import annotations

from dataclasses import dataclass
from random import Random

from relume.benchmarks.episodes.staging import Told, make_stage, tell
from relume.benchmarks.simulator.faults import NO_NODE, FaultTable
from relume.benchmarks.simulator.parameters import Cause, Parameters
from relume.benchmarks.simulator.recording import Ended, Stay
from relume.benchmarks.simulator.runs import Failure, Pace
from relume.benchmarks.simulator.telemetry.causes import PREEMPTED, stories_of
from relume.benchmarks.simulator.telemetry.joblog import steps_done, told_from
from relume.benchmarks.simulator.telemetry.site import Job, micros, moment, node_name, slurm_micros
from relume.dataset import Incident
from relume.verdict import Domain, Kind

LABEL_SOURCE = "simulated"
_IDLE_SECONDS = 600.0


@dataclass(frozen=True, slots=True)
class Truth:
    """The faults of a simulation, and how they are told.

    `words` seeds the words, and nothing else.
    """

    parameters: Parameters
    faults: FaultTable
    words: str

    def told(self, job: Job, stay: Stay, noticed: float) -> Told | None:
        """Tell the end of an attempt, from its failure on; null where nothing happened to it.

        `noticed` is when somebody noticed a failure whose end isn't recorded.
        """
        names = [node_name(number) for number in stay.nodes.tolist()]
        if stay.ended is Ended.PREEMPTED:
            begin = told_from(stay)
            draw = f"{self.words}/{job.run}/{stay.number}"
            stage = make_stage(names, job.job_id, moment(begin))
            return tell(PREEMPTED, stage, draw, seconds=stay.end - begin)
        failure = stay.failure
        if failure is None:
            return None
        until = noticed if stay.ended is Ended.RUNNING else stay.end
        return self._tell(failure, names, job.job_id, until - failure.at, steps_done(job, stay))

    def told_idle(self, failure: Failure) -> Told:
        """Tell a fault of a node on which nobody ran: only its system log counts."""
        return self._tell(failure, [node_name(failure.node)], 1, _IDLE_SECONDS, 0)

    def incidents(
        self, stay: Stay, attempt: str, told: Told | None, last: float
    ) -> tuple[Incident, ...]:
        """Return the labels of an attempt: slow times, and its failure.

        That cost progress from the `last` step on: the one that was under way is lost.
        """
        found = [*self._slow(stay, attempt)]
        if stay.failure is not None and told is not None:
            found.append(self._failed(stay, stay.failure, attempt, told, last))
        return tuple(found)

    def cause_of(self, failure: Failure) -> Cause:
        """Return the cause of a failure."""
        return self.parameters.causes[int(self.faults.cause[failure.fault])]

    def slow_node(self, stay: Stay, pace: Pace) -> str | None:
        """Return the node by which an attempt is slow; null for one that is slow by itself."""
        if not pace.of_node:
            return None
        draw = Random(f"{self.words}/{stay.run}/{stay.number}/{pace.at}")
        return node_name(draw.choice(stay.nodes.tolist()))

    def _tell(
        self, failure: Failure, nodes: list[str], job_id: int, seconds: float, step: int
    ) -> Told:
        cause, hangs = self.cause_of(failure), bool(self.faults.is_hang[failure.fault])
        culprit = None if failure.node == NO_NODE else node_name(failure.node)
        stage = make_stage(nodes, job_id, moment(failure.at), culprit=culprit)
        return tell(
            stories_of(cause.name, Domain(cause.domain), of_node=culprit is not None),
            stage,
            # What comes again says the same again.
            f"{self.words}/fault {failure.fault}",
            seconds=seconds,
            step=step,
            fits=lambda told: told.shows_hang == hangs,
        )

    def _failed(
        self, stay: Stay, failure: Failure, attempt: str, told: Told, last: float
    ) -> Incident:
        cause = self.cause_of(failure)
        domain = Domain(cause.domain)
        return Incident(
            incident_id=f"{attempt} {cause.name}",
            attempt=attempt,
            kind=Kind.HANG if told.shows_hang else Kind.CRASH,
            domain=None if domain is Domain.UNKNOWN else domain,
            culprit_nodes=() if failure.node == NO_NODE else (node_name(failure.node),),
            culprit_ranks=() if told.truth.rank is None else (told.truth.rank,),
            onset=micros(last),
            end=max(micros(failure.at), slurm_micros(stay.end)),
            label_source=LABEL_SOURCE,
            watchdog=told.shows_hang,
        )

    def _slow(self, stay: Stay, attempt: str) -> list[Incident]:
        found = []
        for pace, end in stay.slow_times():
            node = self.slow_node(stay, pace)
            found.append(
                Incident(
                    incident_id=f"{attempt} slow at {pace.at:.0f}",
                    attempt=attempt,
                    kind=Kind.STRAGGLER,
                    domain=Domain.WORKLOAD if node is None else Domain.HARDWARE,
                    culprit_nodes=() if node is None else (node,),
                    onset=micros(pace.at),
                    end=micros(end),
                    severity=f"{pace.factor:g}",
                    label_source=LABEL_SOURCE,
                )
            )
        return found
