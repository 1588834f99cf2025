"""One live run from its lake on: scheduler and logs in, landed and judged, Advice out.

Nothing is published before the landings that led to it are durable. So a run that ends at any point
is gone on with by a new session: it judges again what the lake holds, comes to the same Advice, and
the ledger has it already.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Iterable, Sequence
from pathlib import Path

from relume.clock import MICROSECONDS_PER_SECOND
from relume.errors import InputError
from relume.events import SourceStatus, Tick
from relume.ingest.importing.position import PREFIX
from relume.ingest.lake import LakeReader, LakeWriter, Landing
from relume.ingest.lake.retention import BORN, JUDGE, STATE
from relume.serve.healthy import LakeHistory
from relume.serve.intake.bodies import Body, Outcome
from relume.serve.intake.pushes import Pushes
from relume.serve.ledger import AttemptRecord
from relume.serve.live.bookkeeping import Bookkeeper
from relume.serve.live.clusternodes import ClusterNodes
from relume.serve.live.follow import JobLogs, job_paths
from relume.serve.live.jobs import NO_ENDS, ClusterJobs, Ends, Taken
from relume.serve.live.judge import Judge
from relume.serve.live.kernel import KernelLogs
from relume.serve.live.naming import SCHEDULER
from relume.serve.live.owners import opener_of
from relume.serve.live.recent import RECENT_SECONDS
from relume.serve.live.remembered import Remembered
from relume.serve.live.state import LakePoint, StateKeeper, bound
from relume.serve.live.surroundings import Surroundings
from relume.slurm.job import SlurmSnapshot
from relume.verdict import Health

COMMIT_SECONDS = 5.0
"""How long lines and ticks that led to nothing may wait for their commit: each costs an fsync."""
TICK_SECONDS = 0.1
"""The least time from one tick to the next: each looks at every attempt."""
STATE_CURSOR = "state"
"""In the ledger: the commit of the newest state that was kept."""
STALE_SECONDS = 60.0
"""After so long without a snapshot nobody knows any more which jobs run."""


class Session:
    """Sources, lake, judge and ledger of one cluster. Not thread-safe.

    After an error of `step` or `take` it is of no more use: close it and open another one.

    Raises
    ------
    RelumeError
        When lake or ledger can't be opened, from every method when they can't be written.
    """

    def __init__(self, around: Surroundings) -> None:
        self._around, self._options = around, around.options
        self._now, self._ticked = 0, around.clock.steady()
        self._lake = LakeWriter(around.lake, clock=around.clock)
        try:
            positions = self._lake.positions
            _require_live(around.lake, positions)
            self._born_is_new = BORN not in positions
            self._born_at = int(positions.get(BORN, self.time()))
            self._healthy = LakeHistory(around.lake)
            self._states = _keeper(around)
            kept = self._states.newest(Remembered, self._is_usable)
            if kept is not None:
                self._healthy.resume(kept.value.history)
            known = self._healthy.history
            self._judge = Judge(
                around.analyzer,
                self._options.watch,
                self._options.zone,
                history=known,
                teaches=known,
            )
            self._books = Bookkeeper(around.ledger, self._judge, around.metrics)
            self._began: dict[str, int] = {}
            self._commits: deque[tuple[int, int]] = deque()
            self._needs_after = int(positions[STATE]) if STATE in positions else None
            if kept is None:
                self._replay(int(positions.get(JUDGE, "0")))
            else:
                self._remember(kept.value)
                self._replay(kept.point.sequence)
            self._committed_at = self._now
            self.cluster = self._options.cluster or self._watched_cluster()
            self._jobs, self._nodes = self._new_jobs(), ClusterNodes(self.cluster)
            files = {name: text for name, text in positions.items() if name[:5] == "file "}
            self._logs = JobLogs(self.cluster, files)
            self._books.landed_bytes = self._logs.landed_bytes
            kernel = {name: text for name, text in positions.items() if name[:7] == "kernel "}
            self._kernel = KernelLogs(self.cluster, self._options.kernel_logs, kernel)
            self._pushes = Pushes(self.cluster, around.ledger, self._judge, positions)
            self._pushes.recall(around.lake, self._options.zone, self._lake.sequence)
            self._resume()
        except BaseException:
            self._lake.close()
            raise
        self._snapshot_at: int | None = None
        self._scheduler_is_told = False
        self._tick_at = self._now

    def time(self) -> int:
        """Return the machine's time, but never one that was before, nor the same twice.

        Where the machine's clock was put back, time goes on from where it was.
        """
        clock, before = self._around.clock, self._ticked
        self._ticked = clock.steady()
        step = max(1, self._ticked - before)
        now = clock.now()
        self._now = now if now > self._now else self._now + step
        return self._now

    def step(self) -> int:
        """Read what is new, land it with a tick, judge it, publish; return the time."""
        now = self.time()
        landings: list[Landing] = []
        if self._snapshot_at is not None:
            landings += self._logs.poll(now)
            waited = now - self._snapshot_at
            if self._scheduler_is_told and waited > STALE_SECONDS * MICROSECONDS_PER_SECOND:
                self._scheduler_is_told = False
                landings.append(self._scheduler_status(now, "no snapshot for a minute"))
        elif not self._pushes.are_all:  # nobody knows what runs and whose the lines are: no clock
            return now
        landings += self._kernel.poll(now)
        landings += self._pushes.look(now, self._settle_seconds, self._logs.reads_any)
        self._tick(landings, now)
        self._land(landings, force=any(isinstance(one, SourceStatus) for one in landings))
        self._around.metrics.note_step(now, len(self._judge.watches), len(self._logs))
        return now

    def seconds_to_due(self) -> float | None:
        """Return how long until Advice may settle: a tick then is sooner than the next one."""
        due = self._judge.due_at(self._now)
        return None if due is None else (due - self._now) / MICROSECONDS_PER_SECOND

    def take_pushed(self, bodies: Sequence[Body]) -> list[Outcome]:
        """Land what was pushed, all of it durable then; without any, what landed is judged.

        It is judged at once, but for what comes within `TICK_SECONDS` of the last tick: that waits
        for the next call, see `waits_for_tick`.
        """
        now = self.time()
        pushed = self._pushes.take(bodies, now)
        if not self.cluster and self._pushes.cluster:
            self._watch(self._pushes.cluster)
        landings = pushed.landings
        if self._snapshot_at is None and self._pushes.note_blind():
            landings.append(self._scheduler_status(now, "no snapshot since the start"))
        if now - self._tick_at >= TICK_SECONDS * MICROSECONDS_PER_SECOND:
            self._tick(landings, now)
        self._land(landings, force=bool(bodies))
        if pushed.records:
            self._books.put_records(pushed.records.values())
            self._kernel.use(self._nodes_in_use())
        return pushed.outcomes

    @property
    def waits_for_tick(self) -> bool:
        """Whether something was pushed that no tick has followed yet."""
        return self._pushes.newest > self._tick_at

    @property
    def senders(self) -> tuple[int, int, float | None]:
        """How many senders push, how many stopped, and how far the last one is behind."""
        stopped = len(self._pushes.stale)
        return len(self._pushes) - stopped, stopped, self._pushes.lag_seconds(self._now)

    @property
    def stopped(self) -> list[str]:
        """Senders that don't push any more though jobs run whose logs they brought."""
        return self._pushes.missed

    @property
    def is_told_by_push(self) -> bool:
        """Whether it is pushes that tell of attempts, and not snapshots."""
        return self._pushes.are_all

    def left(self, snapshot: SlurmSnapshot) -> list[AttemptRecord]:
        """Return attempts that are over, and of which a snapshot doesn't tell how they ended."""
        return self._jobs.left(snapshot) if self.cluster == snapshot.cluster else []

    def take(self, snapshot: SlurmSnapshot, ends: Ends = NO_ENDS) -> Taken:
        """Take a snapshot of this session's cluster in; all that it says is durable then.

        `ends` is what accounting says of attempts that it leaves out.
        """
        if not self.cluster:
            self._watch(snapshot.cluster)
        now = self.time()
        self._pushes.note_snapshot()
        taken = self._jobs.take(snapshot, ends)
        landings: list[Landing] = [*self._nodes.take(snapshot, now), *taken.events]
        if not self._scheduler_is_told:
            self._scheduler_is_told = True
            landings.append(self._scheduler_status(now, None))
        for event in taken.events:
            self._pushes.note(event)
        self._land(landings, force=bool(landings))
        self._books.put_records(taken.records)
        self._follow(taken, snapshot.taken_at)
        self._logs.forget(taken.gone)
        self._snapshot_at = now
        return taken

    def refusal(self, cluster: str) -> InputError | None:
        """Return why snapshots of `cluster` are not taken in, null when they are."""
        if cluster == self.cluster or (cluster and not self.cluster):
            return None
        return InputError(
            "snapshot of the scheduler",
            found=f"cluster {cluster!r}",
            expected=f"{self.cluster!r}, which this service watches",
            hint="give each cluster a service and a data folder of its own; see cluster.name",
        )

    @property
    def books(self) -> Bookkeeper:
        """What knows of attempts and their logs."""
        return self._books

    def flush(self) -> LakePoint:
        """Commit what was appended, then tell what it led to; return the commit."""
        positions = {**self._logs.positions, **self._kernel.positions, JUDGE: self._horizon()}
        if self._born_is_new:
            positions[BORN] = str(self._born_at)
        positions |= self._pushes.positions(self._lake.sequence + 1, self._now)
        needed = self._states.needs_after
        if needed != self._needs_after:
            positions[STATE] = None if needed is None else str(needed)
        landed = self._lake.commit(positions)
        self._needs_after = needed
        self._committed_at, self._born_is_new = self._now, False
        self._commits.append((landed.sequence, self._now))
        self._logs.positions, self._kernel.positions = {}, {}
        for name in self._judge.watches:
            self._began.setdefault(name, landed.sequence)
        self._around.metrics.landed_rows.inc(landed.rows)
        self._books.publish(self._now)
        if self._books.retired:
            self._books.retired.clear()
            self._kernel.use(self._nodes_in_use())
        self._healthy.keep(self._now)
        point = LakePoint(landed.sequence, landed.committed_at)
        if self._states.is_due(self._now):
            self._keep(point)
        return point

    def seal(self, commits: int) -> bool:
        """Let what was committed be merged, if it is so many commits; say whether."""
        return self._lake.seal(commits)

    def finish(self) -> None:
        """Commit what was appended, and keep what is known: the next start takes seconds."""
        self._keep(self.flush(), is_last=True)

    def close(self) -> None:
        """Let go of the lake and of every file; what was not committed is read again."""
        self._states.close()
        self._logs.close()
        self._kernel.close()
        self._healthy.close()
        self._lake.close()

    def _land(self, landings: Sequence[Landing], *, force: bool) -> None:
        self._lake.append(landings)
        if force:
            self._lake.begin()
        advised = [self._books.take(landing) for landing in landings]
        waited = self._now - self._committed_at >= COMMIT_SECONDS * MICROSECONDS_PER_SECOND
        if force or any(advised) or waited:
            self.flush()
        self._books.note_progress(self._now)

    def _tick(self, landings: list[Landing], now: int) -> None:
        self._tick_at = now
        landings.append(Tick(event_time=now, observed_at=now, cluster=self.cluster))

    def _watch(self, cluster: str) -> None:
        """Take which cluster it is, as whoever said it first calls it."""
        self.cluster = self._logs.cluster = self._kernel.cluster = cluster
        self._pushes.use(cluster)
        self._jobs, self._nodes = self._new_jobs(), ClusterNodes(cluster)

    @property
    def _settle_seconds(self) -> float:
        return self._options.watch.settle_seconds

    def _scheduler_status(self, now: int, reason: str | None) -> SourceStatus:
        return SourceStatus(
            source=SCHEDULER,
            cluster=self.cluster,
            event_time=now,
            observed_at=now,
            status=Health.HEALTHY if reason is None else Health.UNKNOWN,
            reason=reason,
        )

    def _horizon(self) -> str:
        """The commit after which everything is needed to go on with the present attempts."""
        # Whoever was retired since the last commit isn't in the ledger yet, nor is their Advice.
        needed = self._judge.watches.keys() | set(self._books.retired)
        self._began = {name: at for name, at in self._began.items() if name in needed}
        # Attempts that nobody knows yet need the last minutes of their nodes.
        oldest = self._now - int(2 * RECENT_SECONDS * MICROSECONDS_PER_SECOND)
        while len(self._commits) > 1 and self._commits[1][1] < oldest:
            self._commits.popleft()
        recent = self._commits[0][0] if self._commits else self._lake.sequence + 1
        # An attempt that began since the last commit comes with the next one.
        return str(min([recent, *self._began.values()]) - 1)

    def _follow(self, taken: Taken, asked_at: int) -> None:
        for record in (*taken.running, *taken.records):
            if record.start_time is None or record.attempt not in self._judge.watches:
                continue
            self._follow_logs(record)
            for path, _ in job_paths(record.std_out, record.std_err):
                if not record.ended:
                    self._logs.still_running(record.attempt, path, asked_at)
            if record.ended:
                self._logs.end(record.attempt, self._now)
        if taken.records:
            self._kernel.use(self._nodes_in_use())

    def _follow_logs(self, record: AttemptRecord) -> None:
        if not self._options.log_roots:  # only what is pushed is read
            return
        for path, stream in job_paths(record.std_out, record.std_err):
            if not self._logs.reads(record.attempt, path):
                opener = opener_of(record.user, self._options.log_roots)
                self._logs.follow(record.attempt, path, stream, opener)

    def _nodes_in_use(self) -> set[str]:
        """The nodes of the attempts that are watched: those just ended, too."""
        return {node for watch in self._judge.watches.values() for node in watch.run_nodes}

    def _new_jobs(self) -> ClusterJobs:
        return ClusterJobs(self.cluster, self._around.ledger.newest_attempt, self._born_at)

    def _watched_cluster(self) -> str:
        return next((watch.run.cluster for watch in self._judge.watches.values()), "")

    def _keep(self, point: LakePoint, *, is_last: bool = False) -> None:
        """Keep what is known as of the last commit: all that it led to is told."""
        if not self._options.state_seconds:
            return
        self._healthy.close()
        # A ledger that doesn't have it is another one, or an older copy: it lacks Advice.
        self._around.ledger.put_cursor(STATE_CURSOR, str(point.sequence))
        complete, restored = self._books.done
        known = Remembered(
            sequence=point.sequence,
            now=self._now,
            judged=self._judge.judged(),
            history=self._healthy.history,
            began=self._began,
            commits=self._commits,
            complete=complete,
            restored=restored,
        )
        self._states.keep(known, point, self._now, last=is_last)

    def _is_usable(self, known: Remembered) -> bool:
        """Whether nobody took away since what healthy attempts taught, or what was told."""
        told = int(self._around.ledger.cursors().get(STATE_CURSOR, "0"))
        is_forgotten = len(known.history) > 0 and self._healthy.is_removed
        return told >= known.sequence and not is_forgotten

    def _remember(self, known: Remembered) -> None:
        self._now = max(self._now, known.now)
        self._judge.resume(known.judged)
        self._books.resume(known.complete, known.restored)
        self._began, self._commits = known.began, known.commits

    def _replay(self, horizon: int) -> None:
        if self._lake.sequence == 0:
            return
        reader = LakeReader(self._around.lake, zone=self._options.zone)
        for commit in reader.commits(horizon):
            for landing in reader.landings_of(commit):
                if isinstance(landing, Tick):
                    self._now = max(self._now, landing.event_time)
                self._books.take(landing)
            for name in self._judge.watches:
                self._began.setdefault(name, commit.first)
            self._commits.append((commit.sequence, commit.committed_at))
        self._books.publish(self._now)

    def _resume(self) -> None:
        """Go on with the logs of the attempts that were watched before."""
        for record in self._books.recover():
            if not self._judge.watches[record.attempt].landed:
                self._resume_logs(record)
            if not record.ended:
                self._jobs.know(record, self._now)
        self._kernel.use(self._nodes_in_use())

    def _resume_logs(self, record: AttemptRecord) -> None:
        self._follow_logs(record)
        if record.ended or self._judge.watches[record.attempt].ended_at is not None:
            self._logs.end(record.attempt, self._now)


def _keeper(around: Surroundings) -> StateKeeper:
    options = around.options
    return StateKeeper(
        around.lake,
        bound(options, around.analyzer),
        around.analyzer,
        seconds=options.state_seconds,
        beside=options.state_beside,
    )


def _require_live(lake: Path, positions: Iterable[str]) -> None:
    """Refuse a lake of recordings: their failures would be taken for new ones."""
    if any(name.startswith(PREFIX) for name in positions):
        raise InputError(
            f"lake {lake}",
            found="recordings that `relume lake import` brought",
            expected="a lake of live jobs",
            hint="set serve.folder to another folder",
        )
