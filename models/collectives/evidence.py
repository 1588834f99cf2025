"""Everything that the dumps of one attempt come to, for a diagnosis to join with its logs."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field

from relume.dumps import Dumps
from relume.models.collectives.finding import CollectiveFinding
from relume.models.collectives.judge import judge
from relume.models.collectives.ras import RasFinding, judge_ras
from relume.models.collectives.stacks import StackFinding, judge_stacks


@dataclass(frozen=True, slots=True)
class DumpEvidence:
    """What recorders, stacks and RAS show; null where there are none, or where they show nothing.

    `nodes` are those that dumps tell of their ranks, `files` the dumps of the ranks. `refused` are
    dumps that were not used, in words.
    """

    collectives: CollectiveFinding | None = None
    stacks: StackFinding | None = None
    ras: RasFinding | None = None
    nodes: Mapping[int, str] = field(default_factory=dict)
    files: Mapping[int, str] = field(default_factory=dict)
    refused: tuple[str, ...] = ()

    @property
    def shows_failure(self) -> bool:
        """Whether any of them shows that somebody holds up the job."""
        return bool(self.collectives or self.stacks or self.ras)


def judge_dumps(dumps: Dumps, refused: tuple[str, ...] = ()) -> DumpEvidence:
    """Judge all dumps of an attempt, each kind for itself."""
    ranks = {rank for dump in dumps.ranks for group in dump.groups for rank in group.ranks}
    stacks = {stack.rank: stack.node for stack in dumps.stacks if stack.rank is not None}
    named = {dump.rank: dump.node for dump in dumps.ranks}
    nodes = {r: node for r, node in {**stacks, **named}.items() if node is not None}
    return DumpEvidence(
        collectives=judge(dumps.ranks) if dumps.ranks else None,
        stacks=judge_stacks(dumps.stacks),
        ras=judge_ras(dumps.ras, len(ranks) or None),
        nodes=nodes,
        files={dump.rank: dump.file for dump in dumps.ranks},
        refused=refused,
    )
