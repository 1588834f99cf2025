"""``python -m relume.benchmarks.slurm up|measure|down FOLDER``: a lab to try things in by hand."""

from __future__ import annotations

import argparse
import sys
from pathlib import Path

from relume.benchmarks.slurm.lab import SlurmLab
from relume.benchmarks.slurm.measure import measure
from relume.benchmarks.slurm.settings import LabSettings
from relume.errors import RelumeError


def main(arguments: list[str] | None = None) -> int:
    """Start, measure or stop a lab; `up` prints how to talk to it."""
    given = _parser().parse_args(arguments)
    settings = LabSettings(
        nodes=given.nodes,
        base_port=given.base_port,
        accounting=given.accounting,
        epilog_slurmctld=given.epilog,
    )
    try:
        lab = SlurmLab(given.folder, settings)
        if given.verb == "down":
            lab.stop()
        elif given.verb == "measure":
            for name, milliseconds in measure(lab, given.jobs).items():
                sys.stdout.write(f"{milliseconds:8.1f} ms  {name}\n")
        else:
            lab.start()
            sys.stdout.write(f"export SLURM_CONF={lab.slurm_conf}\n")
    except RelumeError as error:
        sys.stderr.write(f"{error}\n")
        return error.exit_code
    return 0


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(prog="relume.benchmarks.slurm", description=__doc__)
    parser.add_argument("verb", choices=["up", "measure", "down"])
    parser.add_argument("folder", type=Path, help="where the lab lives; at most 60 characters")
    parser.add_argument("--nodes", type=int, default=LabSettings().nodes)
    parser.add_argument("--base-port", type=int, help="the first port; free ones by default")
    parser.add_argument("--accounting", action=argparse.BooleanOptionalAction, default=True)
    parser.add_argument("--jobs", type=int, default=1000, help="how many jobs to measure with")
    parser.add_argument("--epilog", type=Path, help="EpilogSlurmctld")
    return parser


if __name__ == "__main__":
    sys.exit(main())
