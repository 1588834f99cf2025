"""A real `relume serve` process for benches and tests that need one without a Slurm."""

from __future__ import annotations

from relume.benchmarks.serving.jobs import running_job, snapshot_of
from relume.benchmarks.serving.service import CLUSTER, ServiceProcess

__all__ = ["CLUSTER", "ServiceProcess", "running_job", "snapshot_of"]
