"""Who is blamed, by which line, and whom that leaves out of the next attempt."""

from __future__ import annotations

from collections.abc import Collection
from dataclasses import dataclass

from relume.models.diagnosis.consequences import is_forgeable, is_undated
from relume.models.diagnosis.locating import ADDRESS
from relume.models.diagnosis.order import Root
from relume.models.signatures.hit import Hit
from relume.models.signatures.rule import Exclude
from relume.reasons import Reason
from relume.slurm.nodes import short_name
from relume.verdict import Domain, Locator


@dataclass(frozen=True, slots=True)
class Blame:
    """The culprit (empty when nobody is named), a better root line if one was found, and why.

    `is_sure` is false where the node follows from what is usual only: nothing excludes it then.
    """

    where: Locator = Locator()
    hit: Hit | None = None
    reasons: tuple[Reason, ...] = ()
    is_sure: bool = True


def exclusions(
    blame: Blame, root: Root, own: Collection[str] = (), *, alone: bool = False
) -> tuple[str, ...]:
    """Nodes to leave out of the next attempt: only on hardware-grade evidence against a host.

    `own` are the short names of the attempt's nodes, empty when unknown: log text never gets
    another one excluded, nor does a line that a process of the job printed in the name of the
    kernel or of Slurm, nor one of a system log that doesn't tell when it was. `alone` says that the
    node is the only one of the attempt that failed so: then its own nodes must be known.
    """
    node, signature = blame.where.node, root.hit.signature
    if node is None or ADDRESS.match(node) or not blame.is_sure:
        return ()
    if alone:
        return (node,) if short_name(node) in own and not is_forgeable(root.hit) else ()
    if signature.domain is Domain.WORKLOAD:
        return ()
    if is_forgeable(root.hit) or is_undated(root.hit) or (own and short_name(node) not in own):
        return ()
    return (node,) if signature.exclude is Exclude.YES else ()
