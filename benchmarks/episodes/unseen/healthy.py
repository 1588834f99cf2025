"""Heads of jobs, places of ranks, and steps."""

from __future__ import annotations

FORMS: dict[str, tuple[str, ...]] = {
    "header": (
        "cluster spec: hosts=$names procs_per_host=$per_node procs=$ranks",
        "[launch] allocation $job -> $names | world $ranks | local world $per_node",
        "MACHINES: $names; NGPUS=$per_node; TOTAL=$ranks",
    ),
    "places": (
        "mesh: process $rank of $ranks sits on $node, accelerator $gpu",
        "worker up rank=$rank/$ranks host=$node dev=$gpu pid=$pid",
        "bind rank $rank -> $node slot $gpu (numa 0)",
    ),
    "progress": (
        "[train] it $step | nll $loss | 118.4 samples/s | mem 61.0G",
        "step=$step train_loss=$loss lr=3.0e-04 step_time=1.84s",
        "Epoch 0 | Batch $step | Loss $loss | Time 1.9s",
    ),
}
