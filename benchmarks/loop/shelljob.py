"""Jobs of a few lines of shell: they step, keep a checkpoint, and fail as they are told to.

They start at once and need nothing but a shell, where it is Relume that is looked at and not the
training.
"""

from __future__ import annotations

import shlex
from dataclasses import dataclass

from relume.benchmarks.loop.site import Site
from relume.benchmarks.loop.training import XID_79

STEPS, FAULT_STEP, SAVE_EVERY = 30, 12, 5
CUDA_ERROR = "[rank0]: RuntimeError: CUDA error: an illegal memory access was encountered"
_SCRIPT = """\
checkpoint={folder}/checkpoint
step=$(cat $checkpoint 2>/dev/null || echo 0)
while [ $step -lt {steps} ]; do
  step=$((step + 1)); sleep 0.2
  echo "iter $step: loss 3.9, time 200.00ms"
  [ $((step % {save_every})) -eq 0 ] && echo $step >$checkpoint
  if [ $step -eq {fault_step} ] && {when}; then
    {fault}
  fi
done
echo "Training complete."
"""
_FIRST = '[ "${SLURM_RESTART_COUNT:-0}" -eq 0 ]'


OPTED_IN = '{"relume": {}}'


@dataclass(frozen=True, slots=True, kw_only=True)
class ShellJob:
    """One job of one node.

    `fault` is what the shell does at `FAULT_STEP`, in the first attempt or in `every_attempt`.
    `comment` is the job's own.
    """

    name: str
    fault: str = ":"
    every_attempt: bool = False
    comment: str = OPTED_IN

    def submit(self, site: Site) -> str:
        """Submit it and return its job id."""
        folder = site.folder / "jobs" / self.name
        folder.mkdir()
        script = _SCRIPT.format(
            folder=shlex.quote(str(folder)),
            steps=STEPS,
            save_every=SAVE_EVERY,
            fault_step=FAULT_STEP,
            when="true" if self.every_attempt else _FIRST,
            fault=self.fault,
        )
        output = f"--output={folder}/job.out"
        return site.lab.submit(
            script, "--nodes=1", output, f"--comment={self.comment}", "--requeue"
        )


def says(line: str, *, then: str = ":") -> str:
    """Return a fault that prints a line, and then does something.

    >>> says("it is over", then="exit 1")
    "echo 'it is over'; exit 1"
    """
    return f"echo {shlex.quote(line)}; {then}"


def loses_gpu(site: Site) -> str:
    """Return a fault that the kernel of the node tells of, and that kills the job."""
    folder = f"{shlex.quote(str(site.folder / 'kernel'))}/$SLURMD_NODENAME"
    prefix = '"$(date +%Y-%m-%dT%H:%M:%S%:z)" "$SLURMD_NODENAME"'
    line = shlex.quote(f"kernel: {XID_79}")
    return f"mkdir -p {folder}; echo {prefix} {line} >>{folder}/kern.log; kill -9 $$"
