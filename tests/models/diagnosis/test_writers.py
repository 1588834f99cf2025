"""Who wrote lines whose prefixes no grammar knows."""

from __future__ import annotations

import pytest

from relume.serve.offline import Analyzer
from relume.verdict import Locator

ANALYZER = Analyzer()
HEAD = "SLURM_JOB_NODELIST=gpu-a[01-02] SLURM_NTASKS=8 SLURM_NTASKS_PER_NODE=4"
LOST = (
    "torch.distributed.DistNetworkError: Failed to recv, got 0 bytes. Connection was likely closed."
)
FAULT = "RuntimeError: CUDA error: uncorrectable ECC error encountered"


@pytest.mark.parametrize("form", ["~{} {}", "unit-{} / {}", "<<{}>> {}", "({}) {}"])
def test_the_rank_is_the_number_that_differs(form: str) -> None:
    lines = [
        HEAD,
        form.format(6, FAULT),
        *(form.format(rank, LOST) for rank in (0, 1, 2, 3, 4, 5, 7)),
    ]
    verdict = ANALYZER.diagnose_lines("attempt", lines)
    assert (verdict.culprit.node, verdict.culprit.rank) == ("gpu-a02", 6)


@pytest.mark.parametrize("prefix", ["<gpu-a02> ", "gpu-a02 :: ", "ERROR gpu-a02 "])
def test_a_word_that_is_one_of_the_attempts_nodes_tells_the_node(prefix: str) -> None:
    verdict = ANALYZER.diagnose_lines("attempt", [HEAD, prefix + FAULT])
    assert verdict.culprit.node == "gpu-a02"


@pytest.mark.parametrize("prefix", ["<gpu-a09> ", "lost gpu-a02: "])
def test_a_foreign_host_and_a_sentence_tell_nothing(prefix: str) -> None:
    verdict = ANALYZER.diagnose_lines("attempt", [HEAD, prefix + FAULT])
    assert verdict.culprit == Locator()


@pytest.mark.parametrize(
    ("front", "node"),
    [
        ("gpu-a02:8123 [3] ", "gpu-a02"),
        ("gpu-a02:8123:8140 [3] ", "gpu-a02"),
        ("gpu-a09:8123 [3] ", None),
    ],
)
def test_libraries_begin_with_their_own_host(front: str, node: str | None) -> None:
    victims = [f"[rank{rank}]: {LOST}" for rank in range(6)]
    trouble = f"[rank7]: {front}quux: the widget is broken, cannot go on"
    verdict = ANALYZER.diagnose_lines(
        "attempt", ["SLURM_JOB_NODELIST=gpu-a[01-02]", trouble, *victims]
    )
    assert verdict.root_line == 1
    assert verdict.culprit.node == node
