"""A line of trouble that no rule knows is the root where all that is known follows from it."""

from __future__ import annotations

import pytest

from relume.serve.offline import Analyzer
from relume.verdict import Domain, Kind, Locator, Verdict

ANALYZER = Analyzer()
HEAD = "SLURM_JOB_NODELIST=gpu-a[01-02] SLURM_NTASKS=8 SLURM_NTASKS_PER_NODE=4"
LOST = (
    "torch.distributed.DistNetworkError: Failed to recv, got 0 bytes. Connection was likely closed."
)
STEPS = [f"[rank0]: step {n}/900 loss 2.{900 - n}" for n in range(1, 40)]
TROUBLE = "quux: the widget table is corrupt, cannot go on"


def verdict_of(*lines: str) -> Verdict:
    return ANALYZER.diagnose_lines("attempt", [HEAD, *STEPS, *lines])


def line_of(*lines: str) -> str | None:
    """The root among the lines after the steps."""
    found = verdict_of(*lines).root_line
    return None if found is None else [HEAD, *STEPS, *lines][found]


def lost(*ranks: int) -> list[str]:
    return [f"[rank{rank}]: {LOST}" for rank in ranks]


def test_the_first_that_one_process_says_is_the_root_where_the_others_only_lost_it() -> None:
    verdict = verdict_of(f"[rank6]: {TROUBLE}", *lost(0, 1, 2, 3, 4, 5, 7))
    assert verdict.kind is Kind.CRASH
    assert verdict.root_line == 1 + len(STEPS)
    assert (verdict.culprit.node, verdict.culprit.rank) == ("gpu-a02", 6)
    assert (verdict.cause, verdict.domain, verdict.rule) == (None, Domain.UNKNOWN, None)
    assert verdict.exclude_nodes == ()


@pytest.mark.parametrize(
    "noise",
    [
        "quux: the widget table has 12 rows",
        "quux: 0 errors, 0 aborted, 3 skipped",
        "WARNING: quux: the widget table is corrupt, a new one is made",
        '  File "/app/train.py", line 3, in lost',
    ],
)
def test_what_is_no_trouble_is_no_root(noise: str) -> None:
    line = line_of(f"[rank6]: {noise}", *lost(0, 1, 2, 3, 4, 5, 7))
    assert line is not None
    assert LOST in line


def test_what_a_known_cause_explains_needs_no_other() -> None:
    fault = "[rank3]: torch.OutOfMemoryError: CUDA out of memory. Tried to allocate 2.00 GiB."
    assert line_of(f"[rank6]: {TROUBLE}", fault, *lost(0, 1, 2, 4, 5, 7)) == fault


def test_what_all_say_is_the_root_and_nobody_is_to_blame() -> None:
    said = [f"[rank{rank}]: {TROUBLE}" for rank in range(8)]
    verdict = verdict_of(*said, "srun: error: gpu-a01: task 2: Exited with exit code 1")
    assert verdict.root_line == 1 + len(STEPS)
    assert verdict.culprit == Locator()


def test_a_launcher_that_says_that_something_ended_says_no_cause() -> None:
    ended = "overseer: the run was aborted, all else is being terminated"
    line = line_of(ended, *lost(0, 1, 2, 3, 4, 5, 7))
    assert line is not None
    assert LOST in line


def test_the_node_that_the_line_names_is_to_blame_and_not_who_says_so() -> None:
    told = "[rank1]: quux: gpu-a02 is stuck, the ring is lost"
    assert verdict_of(told, *lost(0, 2, 3)).culprit.node == "gpu-a02"


@pytest.mark.parametrize(("rank", "is_root"), [(6, True), (2, False)])
def test_in_a_merged_log_without_clocks_only_who_is_no_victim_may_come_later(
    rank: int, *, is_root: bool
) -> None:
    trouble = f"[rank{rank}]: {TROUBLE}"
    line = line_of(*lost(0, 1, 2, 3, 4, 5, 7), trouble)
    assert (line == trouble) is is_root


@pytest.mark.parametrize(("rank", "is_root"), [(6, True), (2, False)])
def test_in_a_hang_only_who_did_not_wait_is_to_blame(rank: int, *, is_root: bool) -> None:
    waits = (
        "[rank{0}]:[E ProcessGroupNCCL.cpp:474] [Rank {0}] Watchdog caught collective operation"
        " timeout: WorkNCCL(SeqNum=41, OpType=ALLREDUCE, Timeout(ms)=600000) ran for 600359"
        " milliseconds before timing out."
    )
    trouble = f"[rank{rank}]: {TROUBLE}"
    line = line_of(trouble, *(waits.format(other) for other in (0, 1, 2, 3, 4)))
    assert (line == trouble) is is_root
