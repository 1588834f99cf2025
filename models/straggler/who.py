"""Who is to blame for a slow job: a node, the job itself, or nobody can tell.

Most slow jobs are slow by themselves: of those in arXiv:2505.05713 a bad worker explains the most
part in 1.7 %; uneven stages and sequences do so usually. So a node needs evidence of its own:
either its ranks work longer than their peers before the collective, or its hardware says so. "Slow,
but not the node" is as good an answer, and takes no node away.

The rules are tried in order; the first one that applies decides.
"""

from __future__ import annotations

from relume.models.straggler.evidence import Answer, Blame, Evidence
from relume.models.straggler.looks import LOOKS
from relume.verdict import Domain


def who(evidence: Evidence) -> Answer:
    """Say who is to blame. Pure and total: without evidence it is unknown.

    Examples
    --------
    >>> import numpy as np
    >>> from relume.models.straggler.ranks import RankTimes
    >>> times = np.full((20, 4), 5.0)
    >>> times[:, 2] = 6.0
    >>> slow = RankTimes(times, (0, 1, 2, 3), ("n1", "n1", "n2", "n2"))
    >>> answer = who(Evidence(1.2, ranks=slow))
    >>> answer.blame.value, answer.cause, answer.nodes, answer.ranks
    ('node', 'slow_worker', ('n2',), (2,))
    >>> who(Evidence(1.2, waits=0.9)).blame.value
    'not the node'
    >>> who(Evidence(1.2)).blame.value
    'unknown'
    """
    parts = evidence.ranks.decompose() if evidence.ranks is not None else None
    for look in LOOKS:
        answer = look(evidence, parts)
        if answer is not None:
            return answer
    cause = "gradual_drift" if evidence.is_gradual else None
    return Answer(Blame.UNKNOWN, cause, Domain.UNKNOWN, 0.5, why=("nothing tells who is slow",))
