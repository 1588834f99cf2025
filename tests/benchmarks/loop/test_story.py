from __future__ import annotations

from looping import asked, came_back, make_record, seen
from relume.advice import Operation
from relume.benchmarks.loop.scenarios import GPU_LOST
from relume.benchmarks.loop.story import tell
from relume.benchmarks.loop.training import XID_79
from relume.verdict import Evidence


def test_a_story_is_told_in_order_from_the_failure_on() -> None:
    evidence = Evidence("xid_79", "root", "kern.log", 0, f"node3 kernel: {XID_79}")
    victim = Evidence("generic_traceback", "warning", "7.out", 9, "[rank1]: Traceback")
    decided = seen(
        10.5, Operation.RESTART_EXCLUDING, exclude_nodes=("node3",), evidence=(victim, evidence)
    )
    record = make_record(
        GPU_LOST,
        history=came_back(("node1", "node2", "node4", "node5")),
        advice=(seen(0.5, settled=False), decided),
        commands=(
            asked(0.2, "scontrol", "requeuehold", "7", by="helper"),
            asked(11, "scontrol", "update", "JobId=7", "ExcNodeList=node3"),
            asked(11.2, "scontrol", "update", "JobId=7", 'AdminComment={"relume": {}}'),
            asked(11.5, "scontrol", "release", "7"),
        ),
    )
    told = [line.split(" s  ")[-1].strip() for line in tell(record).splitlines()]
    assert told == [
        "job 7 trains on node[1-4]",
        "rank 2 on node3 is killed at step 23",
        "the helper holds the job before it ends FAILED: scontrol requeuehold 7",
        "Relume sees a crash (gpu_lost, hardware) and waits for more evidence",
        "Relume decides: RESTART_EXCLUDING without node3; crash (gpu_lost, hardware), rule xid_79",
        f"xid_79: node3 kernel: {XID_79}",
        "relume control changes it: scontrol update JobId=7 ExcNodeList=node3",
        "relume control lets it go: scontrol release 7",
        "Slurm starts job 7 again",
        "job 7 goes on from the checkpoint of step 20 on node[1-2,4-5]",
        "first step after the checkpoint: step 20",
        "the job is COMPLETED: all 45 steps are done",
    ]
    assert "    +10.5 s  Relume decides" in tell(record)
    assert "     -8.0 s  job 7 trains" in tell(record)
