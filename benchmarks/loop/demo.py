"""``make demo-slurm``: one job on a real Slurm loses a GPU, and Relume brings it back."""

from __future__ import annotations

import argparse
import sys
from pathlib import Path

from relume.benchmarks.loop import scenarios
from relume.benchmarks.loop.pool import Pool
from relume.benchmarks.loop.site import Site, SiteSettings, cleaned_up_on_sigterm
from relume.benchmarks.loop.story import tell
from relume.benchmarks.loop.training import NODES, TORCH, require_torch
from relume.benchmarks.loop.watch import AdviceWatch
from relume.benchmarks.slurm.packages import install_slurm
from relume.errors import RelumeError

_SECONDS = 180.0
_SETTINGS = SiteSettings(nodes=NODES + 1)


def main(arguments: list[str] | None = None) -> int:
    """Run the demo and print its story. Returns 0 when the job came back as it should."""
    given = _parser().parse_args(arguments)
    try:
        with cleaned_up_on_sigterm():
            return _show(given.folder, require_torch(given.python))
    except RelumeError as error:
        sys.stderr.write(f"relume: {error}\n")
        return error.exit_code
    except KeyboardInterrupt:
        sys.stderr.write("relume: ended before its time; everything was stopped\n")
        return 130


def _show(folder: Path, python: Path) -> int:
    install_slurm()
    scenario = scenarios.GPU_LOST
    _say(
        f"Starting a Slurm of {_SETTINGS.nodes} nodes on this machine, with relume serve, relume "
        f"control and its helper.\nA PyTorch job trains on {NODES} of the nodes, one rank each. At "
        f"step {scenario.fault.step} rank {scenario.fault.rank} is killed,\nand the kernel log of "
        "its node says that a GPU is gone. It takes about a minute.\n"
    )
    with Site(folder, python, _SETTINGS) as site, AdviceWatch(site.ledger) as watch:
        pool = Pool(site=site, watch=watch, seconds=_SECONDS)
        (record,) = pool.run(iter([scenario.plan(1)]))
    _say(tell(record))
    _say(
        "\nSlurm makes a requeued job wait (6 s here), and PyTorch takes some seconds to start.\n\n"
        f"the job's log      {folder}/jobs/{record.job_id}.out\n"
        f"kernel logs        {folder}/kernel/\n"
        f"lake and ledger    {folder}/data/\n"
        f"logs of the parts  {folder}/logs/"
    )
    complaints = list(scenario.complaints(record))
    for words in complaints:
        sys.stderr.write(f"relume: not as it should be: {words}\n")
    return 1 if complaints else 0


def _say(text: str) -> None:
    sys.stdout.write(f"{text}\n")
    sys.stdout.flush()


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(prog="relume.benchmarks.loop.demo", description=__doc__)
    parser.add_argument("--folder", type=Path, default=Path("relume-demo/slurm"))
    parser.add_argument("--python", type=Path, default=TORCH, help="a Python that has PyTorch")
    return parser


if __name__ == "__main__":
    sys.exit(main())
