"""The closed loop on a real Slurm: jobs that fail, `relume serve` and `relume control` beside them.

Bench `loop` measures it, `make demo-slurm` shows it. Slurm is real, on one machine; the jobs are
small and their faults injected.
"""
