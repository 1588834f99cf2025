"""The jobs: what is to go wrong in each, how it is submitted, what it says of itself."""

from __future__ import annotations

import json
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from enum import StrEnum
from pathlib import Path

from relume.benchmarks.slurm.lab import SlurmLab
from relume.clock import from_seconds
from relume.errors import UnreachableError

NODES = 4
SAVE_EVERY = 5
PROGRAM = Path(__file__).parents[1] / "slurm" / "job" / "train.py"
TORCH = Path(".venv-torch/bin/python")
"""Where `scripts/torch-environment.sh` puts the Python that runs it, from the checkout's root."""
XID_79 = (
    "NVRM: Xid (PCI:0000:3b:00): 79, pid='<unknown>', name=<unknown>, GPU has fallen off the bus."
)
"""What the NVIDIA driver prints of a GPU that is gone: its grammar, our GPU."""


class FaultKind(StrEnum):
    """What happens to a rank."""

    SIGKILL = "sigkill"
    SIGSTOP = "sigstop"
    PYTHON = "python"


@dataclass(frozen=True, slots=True)
class Fault:
    """Something that goes wrong before `step` is done.

    A null `attempt` means in each of them, a null `rank` all ranks. `kernel_text` is what the
    kernel of the rank's node logs at that moment, null for nothing.
    """

    kind: FaultKind
    step: int
    attempt: int | None = 0
    rank: int | None = 2
    kernel_text: str | None = None

    @property
    def checkpoint(self) -> int:
        """The step at which the next attempt has to begin."""
        return self.step // SAVE_EVERY * SAVE_EVERY


@dataclass(frozen=True, slots=True, kw_only=True)
class Plan:
    """One job to be run: `name` is unique, `comment` opts in or doesn't."""

    name: str
    faults: tuple[Fault, ...]
    steps: int = 45
    step_seconds: float = 0.2
    comment: str = ""


def opted_in(name: str) -> str:
    """Return the comment of a job that asks for Relume.

    >>> opted_in("killed-1")
    '{"relume": {"run": "killed-1"}}'
    """
    return json.dumps({"relume": {"run": name}})


@dataclass(frozen=True, slots=True)
class Happened:
    """One line of a job's own history; `at` is UTC microseconds."""

    what: str
    attempt: int
    step: int
    rank: int
    node: str
    at: int


@dataclass(frozen=True, slots=True)
class History:
    """What a job says of itself, over all its attempts, in the order of the lines."""

    events: Sequence[Happened] = field(default_factory=tuple)

    @classmethod
    def parse(cls, text: str) -> History:
        """Read the text of a ``history.jsonl``; a last line without an end is left out.

        >>> line = '{"what": "step", "attempt": 0, "step": 3, "rank": 0, "node": "n1", "time": 2.5}'
        >>> History.parse(line + chr(10) + line[:20]).events
        (Happened(what='step', attempt=0, step=3, rank=0, node='n1', at=2500000),)
        """
        whole = text[: text.rfind("\n") + 1]
        return cls(tuple(_happened(json.loads(line)) for line in whole.splitlines()))

    def fault_at(self, attempt: int) -> int | None:
        """When the first rank failed, null if none did."""
        return self._first("fault", attempt)

    def launched_at(self, attempt: int) -> int | None:
        """When Slurm had started the batch script, null if it never did."""
        return self._first("launch", attempt)

    def began_at(self, attempt: int) -> int | None:
        """When the last of the ranks had loaded the checkpoint, null if none did."""
        return max((one.at for one in self._of("begin", attempt)), default=None)

    def began_with(self, attempt: int) -> int | None:
        """The step with which it began, null if it never did."""
        return next((one.step for one in self._of("begin", attempt)), None)

    def first_step_at(self, attempt: int) -> int | None:
        """When the first step was done, null if none was."""
        return self._first("step", attempt)

    def nodes(self, attempt: int) -> frozenset[str]:
        """The nodes on which ranks began."""
        return frozenset(one.node for one in self._of("begin", attempt))

    def faulty_nodes(self, attempt: int) -> frozenset[str]:
        """The nodes of the ranks that failed."""
        return frozenset(one.node for one in self._of("fault", attempt))

    @property
    def attempts(self) -> int:
        """How many attempts began."""
        return len({one.attempt for one in self.events if one.what == "begin"})

    @property
    def ended(self) -> bool:
        """Whether the last step was done."""
        return any(one.what == "end" for one in self.events)

    @property
    def starting(self) -> bool:
        """Whether an attempt has not done its first step: until then it takes whole cores."""
        launched = {one.attempt for one in self.events if one.what == "launch"}
        return not launched or self.first_step_at(max(launched)) is None

    @property
    def recovering(self) -> bool:
        """Whether an attempt has failed and the next one has not done a step."""
        faults = {one.attempt for one in self.events if one.what == "fault"}
        return any(self.first_step_at(attempt + 1) is None for attempt in faults)

    def _first(self, what: str, attempt: int) -> int | None:
        return min((one.at for one in self._of(what, attempt)), default=None)

    def _of(self, what: str, attempt: int) -> Iterable[Happened]:
        return (one for one in self.events if (one.what, one.attempt) == (what, attempt))


@dataclass(frozen=True, slots=True)
class TrainingJob:
    """A job that was submitted."""

    plan: Plan
    job_id: str
    folder: Path

    def history(self) -> History:
        """Return what it says of itself so far."""
        path = self.folder / "history.jsonl"
        return History.parse(path.read_text(encoding="utf-8") if path.exists() else "")


@dataclass(frozen=True, slots=True)
class Trainer:
    """Submits jobs. `python` has PyTorch; `kernel_log` has the placeholder ``{node}``."""

    lab: SlurmLab
    python: Path
    runs: Path
    outputs: Path
    kernel_log: str

    def submit(self, plan: Plan) -> TrainingJob:
        """Submit a job of `NODES` nodes, one rank on each."""
        folder = self.runs / plan.name
        folder.mkdir(parents=True)
        faults = [self._as_json(fault) for fault in plan.faults]
        (folder / "faults.json").write_text(json.dumps(faults), encoding="utf-8")
        job_id = self.lab.submit(
            _script(self.python, folder, plan),
            f"--nodes={NODES}",
            f"--ntasks={NODES}",
            f"--job-name={plan.name}",
            f"--output={self.outputs}/%j.out",
            "--time=30",
            *([f"--comment={plan.comment}"] if plan.comment else []),
        )
        return TrainingJob(plan, job_id, folder)

    def _as_json(self, fault: Fault) -> dict[str, object]:
        return {
            "attempt": fault.attempt,
            "step": fault.step,
            "rank": fault.rank,
            "fault": fault.kind,
            "kernel_log": self.kernel_log if fault.kernel_text is not None else None,
            "kernel_text": fault.kernel_text,
        }


def require_torch(python: Path = TORCH) -> Path:
    """Return the absolute path of a Python that has PyTorch.

    Raises
    ------
    UnreachableError
        When it isn't there.
    """
    if not python.exists():
        raise UnreachableError(
            "PyTorch for the training jobs",
            found=f"no {python}",
            expected="the environment that `make torch` makes, in the root of a checkout",
            hint="run `make torch`, then this from that folder",
        )
    return python.absolute()


def _script(python: Path, folder: Path, plan: Plan) -> str:
    # One dead rank ends the step, as launchers of training jobs have it; gloo keeps to loopback.
    launch = '{"what": "launch", "attempt": %d, "step": 0, "rank": 0, "node": "%s", "time": %s}'
    return f"""\
export RUN_FOLDER='{folder}' STEPS={plan.steps} STEP_SECONDS={plan.step_seconds}
export SAVE_EVERY={SAVE_EVERY} GLOO_SOCKET_IFNAME=lo OMP_NUM_THREADS=1
printf '{launch}\\n' "${{SLURM_RESTART_COUNT:-0}}" "$SLURMD_NODENAME" "$(date +%s.%6N)" \\
    >>"$RUN_FOLDER/history.jsonl"
srun --kill-on-bad-exit=1 '{python}' '{PROGRAM}'
"""


def _happened(document: dict[str, object]) -> Happened:
    words = {name: document[name] for name in ("what", "attempt", "step", "rank", "node")}
    return Happened(**words, at=from_seconds(float(str(document["time"]))))  # type: ignore[arg-type] # our own
