"""A simulated cluster as a data set: what `relume backtest` and `relume lake import` read."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field
from itertools import groupby
from pathlib import Path

from relume.benchmarks.ingest.room import require_room
from relume.benchmarks.simulator.faults import DAY
from relume.benchmarks.simulator.recording import Stay
from relume.benchmarks.simulator.simulate import Living, Setting
from relume.benchmarks.simulator.telemetry import accounting, metrics
from relume.benchmarks.simulator.telemetry.joblog import JobLog, told_from
from relume.benchmarks.simulator.telemetry.nodelogs import NodeLogs
from relume.benchmarks.simulator.telemetry.site import PACES, Job, node_name, slurm_micros
from relume.benchmarks.simulator.telemetry.truth import Truth
from relume.dataset import AttemptEntry, DatasetHeader, LogFile, Origin
from relume.errors import InputError
from relume.ingest.datasets import Dataset, write_dataset

MAX_NODE_DAYS = 1_000
"""Of more there would be too many files and lines; the fast form has no such limit."""
_LINE_BYTES, _METRIC_BYTES_A_DAY = 400, 4_000_000
LOGS, ACCOUNTING = "logs", "sacct.txt"
_EXIT = {"COMPLETED": (0, 0), "PREEMPTED": (0, 15), "REQUEUED": (0, 15), "RUNNING": (None, None)}


def write_telemetry(living: Living, folder: Path, *, words: str | None = None) -> Dataset:
    """Write what a simulated cluster left behind into a new folder, and return it as a data set.

    Job logs are written line by line; held are the lines of faults and one attempt a run.

    Parameters
    ----------
    living
        The cluster, after its life under one operator.
    folder
        Gets `dataset.toml`, `attempts.jsonl`, `logs/`, `nodes/`, `metrics/` and `sacct.txt`.
    words
        Seeds names, words and noise, none of the truth; by default the seed of the setting.

    Raises
    ------
    InputError
        When there is something in the folder, it can't be written, or the cluster is too large.
    """
    require_small(living.setting)
    seed = str(living.setting.seed) if words is None else words
    truth = Truth(living.parameters, living.faults, seed)
    try:
        if folder.exists() and any(folder.iterdir()):
            raise InputError(
                str(folder), found="a folder with files", expected="a new or an empty folder"
            )
        (folder / LOGS).mkdir(parents=True, exist_ok=True)
        require_room("telemetry", folder, expected_bytes(living))
        return _Writer(living, truth, seed, folder).write()
    except OSError as error:
        raise InputError(
            f"cannot write to {folder}", found=str(error), expected="a folder that can be written"
        ) from error


def require_small(setting: Setting) -> None:
    """Refuse a cluster of which there would be too much telemetry.

    Raises
    ------
    InputError
        For one of more than `MAX_NODE_DAYS`.
    """
    if setting.nodes * setting.days > MAX_NODE_DAYS:
        raise InputError(
            f"telemetry of {setting.nodes} nodes over {setting.days:g} days",
            found=f"{setting.nodes * setting.days:.0f} node-days",
            expected=f"at most {MAX_NODE_DAYS}",
            hint="fewer --nodes or --days",
        )


def expected_bytes(living: Living) -> int:
    """Return about how much is written at most: steps at the quickest pace, and metrics."""
    seconds = sum(stay.end - stay.started for stay in living.recording.stays)
    node_days = living.setting.nodes * living.setting.days
    return round(seconds / PACES[0] * _LINE_BYTES + node_days * _METRIC_BYTES_A_DAY)


@dataclass(slots=True)
class _Writer:
    living: Living
    truth: Truth
    words: str
    folder: Path
    nodes: NodeLogs = field(default_factory=NodeLogs)
    rows: list[str] = field(default_factory=lambda: [accounting.HEADER])

    def write(self) -> Dataset:
        setting, recording = self.living.setting, self.living.recording
        entries = sorted(self._entries(), key=lambda entry: (entry.start or 0, entry.attempt))
        for failure in recording.idle:
            self.nodes.add(self.truth.told_idle(failure), failure.at, setting.days * DAY)
        seconds = setting.days * DAY
        logs = self.nodes.write(self.folder, setting.nodes, seconds, self.words)
        text = "".join(f"{row}\n" for row in self.rows)
        (self.folder / ACCOUNTING).write_text(text, encoding="utf-8", newline="")
        metrics.write(self.living, self.truth, self.folder, self.words)
        header = DatasetHeader(
            name=f"simulated, {setting.nodes} nodes, {setting.days:g} days, seed {setting.seed}",
            origin=Origin.SIMULATED,
            description=f"Under operator {self.living.operator.name}; labels are the truth.",
            node_logs=tuple(logs),
        )
        return write_dataset(self.folder, header, entries)

    def _entries(self) -> Iterator[AttemptEntry]:
        numbers = {plan.name: number for number, plan in enumerate(self.living.plans)}
        stays = sorted(self.living.recording.stays, key=lambda s: (numbers[s.run], s.number))
        for run, group in groupby(stays, key=lambda stay: stay.run):
            job = Job.of(run, numbers[run], self.words)
            attempts = list(group)
            for place, stay in enumerate(attempts):
                before = attempts[place - 1] if place else None
                comes_again = place + 1 < len(attempts)
                yield self._entry(job, stay, before, comes_again=comes_again)

    def _entry(
        self, job: Job, stay: Stay, before: Stay | None, *, comes_again: bool
    ) -> AttemptEntry:
        noticed = self.living.noticed.get(stay.attempt_name, stay.end)
        told = self.truth.told(job, stay, noticed)
        if told is not None:
            self.nodes.add(told, told_from(stay), self.living.setting.days * DAY)
        state = accounting.state_of(stay, "FAILED" if told is None else told.truth.state)
        self.rows.append(accounting.row(job, stay, state, before=before, comes_again=comes_again))
        attempt = job.attempt(stay)
        log = JobLog(job, stay, self.words, told)
        files = self._files(log)
        exit_code, signal = _EXIT.get(state, (1, 0))
        return AttemptEntry(
            attempt=attempt,
            name=f"{stay.run}, attempt {stay.number}",
            user=job.user,
            job_name=job.name,
            nodes=tuple(map(node_name, stay.nodes.tolist())),
            start=slurm_micros(stay.started),
            end=slurm_micros(stay.end),
            state=state,
            exit_code=exit_code,
            signal=signal,
            files=files,
            incidents=self.truth.incidents(stay, attempt, told, log.last),
        )

    def _files(self, log: JobLog) -> tuple[LogFile, ...]:
        job, stay, told = log.job, log.stay, log.told
        name = f"{LOGS}/{job.job_id}-{stay.number}"
        with (self.folder / f"{name}.out").open("w", encoding="utf-8", newline="") as stream:
            stream.writelines(f"{line}\n" for line in log.lines())
        files = [LogFile(path=f"{name}.out", stream="stdout")]
        at = told_from(stay)
        words = [] if told is None else [w.text for w in told.controller if at + w.at <= stay.end]
        if words:
            path = f"{name}.slurmctld.log"
            text = "".join(f"{word}\n" for word in words)
            (self.folder / path).write_text(text, encoding="utf-8", newline="")
            files.append(LogFile(path=path, stream="slurmctld"))
        return tuple(files)
