"""What lines that rules know say of where ranks run."""

from __future__ import annotations

from relume.serve.offline import Analyzer

ANALYZER = Analyzer()


def culprit(*lines: str) -> tuple[str | None, int | None]:
    where = ANALYZER.diagnose_lines("attempt", lines).culprit
    return where.node, where.rank


def test_srun_tells_the_node_of_a_task_that_is_a_rank() -> None:
    lines = [
        "12: RuntimeError: CUDA error: uncorrectable ECC error encountered",
        "srun: error: gpu-b03: task 12: Exited with exit code 1",
    ]
    assert culprit(*lines) == ("gpu-b03", 12)


def test_the_label_of_an_agent_is_no_rank() -> None:
    lines = [
        "SLURM_JOB_NODELIST=n[1-2] SLURM_NTASKS=2",
        "1:   global_ranks=[4, 5, 6, 7]",
        "0:   global_ranks=[0, 1, 2, 3]",
        "1: [rank6]: RuntimeError: CUDA error: uncorrectable ECC error encountered",
    ]
    assert culprit(*lines) == ("n2", 6)


def test_torchelastic_tells_the_node_of_the_rank_that_it_names() -> None:
    lines = [
        "[rank9]: RuntimeError: CUDA error: uncorrectable ECC error encountered",
        "Root Cause (first observed failure):",
        "[0]:",
        "  time      : 2026-01-02_03:04:05",
        "  host      : gpu-b07",
        "  rank      : 9 (local_rank: 1)",
        "  exitcode  : 1 (pid: 4711)",
    ]
    assert culprit(*lines) == ("gpu-b07", 9)


def test_the_pci_id_of_an_xid_tells_the_rank() -> None:
    lines = [
        "n1:411:902 [3] NCCL INFO ncclCommInitRank comm 0x5 rank 3 nranks 8 cudaDev 3 busId 4e000 - Init COMPLETE",
        "Mar  3 10:11:12 n1 kernel: NVRM: Xid (PCI:0000:4e:00): 79, pid=411, GPU has fallen off the bus.",
    ]
    assert culprit(*lines) == ("n1", 3)
