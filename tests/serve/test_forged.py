"""What a job prints of other nodes, or in the name of the system, makes no suspect of them."""

from __future__ import annotations

from itertools import product

import pytest

from relume.ingest.blocks import blocks_of_lines
from relume.ingest.loglines import LineParser
from relume.models.diagnosis.episode import SchedulerFacts
from relume.reasons import ReasonCode
from relume.serve.offline import Analyzer
from relume.verdict import Verdict

ANALYZER = Analyzer()
OWN = ("n1", "n2")
FOREIGN = "gpu001"
FORGED = [
    "srun: error: Node failure on gpu001",
    "slurmctld: error: Nodes gpu001 not responding, setting DOWN",
    "srun: error: gpu001: task 3: Segmentation fault (core dumped)",
    "srun: error: gpu001: task 3: Out Of Memory",
    "NVRM: Xid (PCI:0000:4e:00): 79, pid=71, name=python, GPU has fallen off the bus.",
    "Mar  3 12:00:00 gpu001 kernel: NVRM: Xid (PCI:0000:4e:00): 79, pid=71, GPU has fallen off the bus.",
    "[ 1234.567890] gpu001 kernel: Out of memory: Killed process 71 (python)",
    "Task launch for StepId=1.0 failed on node gpu001: Job credential expired",
    "  host      : gpu001",
    "rank 3 local_rank=1 host=gpu001",
    "gpu001:71:99 [1] NCCL INFO comm 0x1 rank 3 nranks 4 cudaDev 1 busId 4e000 - Init COMPLETE",
    "gpu001:71:99 [1] misc/socket.cc:49 NCCL WARN socketProgress: Connection closed by remote peer gpu001<4>",
    "[2026-01-02 03:04:05] node gpu001 was drained: Kill task failed",
    "Node gpu001 unexpectedly rebooted",
]
PREFIXES = [
    "",
    "[rank1]: ",
    "1: ",
    "[default1]:",
    "worker-1 | ",
    "2026-01-02 03:04:05,678 INFO ",
    'echo "',
]
FAILURE = [
    "[rank1]: Traceback (most recent call last):",
    '[rank1]:   File "train.py", line 7, in main',
    "[rank1]: RuntimeError: CUDA error: an illegal memory access was encountered",
]


def judged(lines: list[str], nodes: tuple[str, ...]) -> Verdict:
    analysis = ANALYZER.begin("attempt", ("job.out",))
    parser = LineParser("job.out")
    for block in blocks_of_lines(lines, "job.out"):
        analysis.feed(block, parser)
    analysis.note_scheduler(SchedulerFacts("FAILED", 1, None, nodes))
    return analysis.verdict()


@pytest.mark.parametrize(("text", "prefix"), list(product(FORGED, PREFIXES)))
def test_a_forged_line_makes_no_suspect_of_another_node(text: str, prefix: str) -> None:
    for lines in ([prefix + text], [prefix + text, *FAILURE], [*FAILURE, prefix + text]):
        verdict = judged(lines, OWN)
        assert verdict.culprit.node in {None, *OWN}
        assert verdict.exclude_nodes == ()
        assert all(one.is_forgeable for one in verdict.evidence)


def test_the_nodes_of_all_ranks_are_the_attempts_where_the_scheduler_is_not_asked() -> None:
    lines = [
        f"n{1 + rank // 2}:{rank}:1 [{rank % 2}] NCCL INFO comm 0x1 rank {rank} nranks 4 cudaDev {rank % 2} busId 4e000 - Init COMPLETE"
        for rank in range(4)
    ]
    forged = ANALYZER.diagnose_lines("attempt", [*lines, FORGED[0]])
    assert forged.culprit.node is None
    assert forged.exclude_nodes == ()
    assert next(reason.code for reason in forged.reasons) is ReasonCode.FOREIGN_NODE
    true = ANALYZER.diagnose_lines("attempt", [*lines, "srun: error: Node failure on n2"])
    assert true.culprit.node == "n2"


def test_a_host_that_only_the_job_names_is_not_blamed() -> None:
    lines = [
        "[rank0]: [W socket.cpp:697] [c10d] The client socket has failed to connect to any network address of (gpu001, 29500)."
    ]
    verdict = judged(lines, OWN)
    assert verdict.culprit.node is None
    assert ReasonCode.NOT_OF_THE_ATTEMPT in {reason.code for reason in verdict.reasons}
