"""Whether ranks called the same collective: its kind, and the counts and types that must agree.

Shapes don't matter, counts do. Some collectives may have other counts on each rank (all-to-all;
lists of uneven tensors, which PyTorch turns into `_broadcast_oop` and `_reduce_oop`), some on the
root alone. Source: NCCL's documentation of its collectives, `ProcessGroupNCCL.cpp`.
"""

from __future__ import annotations

from math import prod
from typing import NamedTuple

from relume.events import Collective

_EQUAL_BOTH = frozenset(
    {
        "all_reduce",
        "allreduce_coalesced",
        "_all_gather_base",
        "all_gather_into_tensor_coalesced",
        "all_gather_single",
        "all_gather",
        "_reduce_scatter_base",
        "reduce_scatter_tensor_coalesced",
        "reduce_scatter_single",
        "reduce_scatter",
        "broadcast",
        "barrier",
        "all_reduce_barrier",
    }
)
_EQUAL_INPUT = frozenset({"reduce", "gather"})
_EQUAL_OUTPUT = frozenset({"scatter"})
_ONE_WAY = frozenset({"broadcast", "_broadcast_oop", "reduce", "_reduce_oop", "gather", "scatter"})
"""Collectives in which some ranks may be through before others have come."""


class Signature(NamedTuple):
    """What all ranks of one collective must have alike; null where they need not."""

    kind: str
    inputs: tuple[int, ...] | None
    outputs: tuple[int, ...] | None
    dtypes: tuple[str, ...]


def kind_of(operation: str) -> str:
    """Name of a collective without its backend.

    >>> kind_of("nccl:all_reduce"), kind_of("nccl2:send 0->1")
    ('all_reduce', 'send')
    """
    return operation.rpartition(":")[2].partition(" ")[0]


def ends_together(collective: Collective) -> bool:
    """Whether nobody is through with it before everybody has come."""
    return kind_of(collective.operation) not in _ONE_WAY


def signature(collective: Collective) -> Signature:
    """Return what the other ranks' collective must have alike.

    >>> one = Collective(
    ...     group="0",
    ...     sequence_number=1,
    ...     operation="nccl:all_reduce",
    ...     state="started",
    ...     input_sizes=((2, 3),),
    ...     output_sizes=((2, 3),),
    ...     input_dtypes=("Float",),
    ... )
    >>> signature(one)
    Signature(kind='all_reduce', inputs=(6,), outputs=(6,), dtypes=('Float',))
    """
    kind = kind_of(collective.operation)
    inputs = tuple(map(prod, collective.input_sizes))
    outputs = tuple(map(prod, collective.output_sizes))
    return Signature(
        kind,
        inputs if kind in _EQUAL_BOTH | _EQUAL_INPUT else None,
        outputs if kind in _EQUAL_BOTH | _EQUAL_OUTPUT else None,
        tuple(sorted({*collective.input_dtypes, *collective.output_dtypes})),
    )


def difference(one: Signature, other: Signature) -> str | None:
    """Say in what two signatures differ; null when they agree."""
    if one.kind != other.kind:
        return f"{one.kind} against {other.kind}"
    if one.dtypes and other.dtypes and one.dtypes != other.dtypes:
        return f"{one.kind} of {'/'.join(one.dtypes)} against {'/'.join(other.dtypes)}"
    if (one.inputs, one.outputs) != (other.inputs, other.outputs):
        return f"{one.kind} of {_counts(one)} elements against {_counts(other)}"
    return None


def _counts(one: Signature) -> str:
    return "+".join(map(str, one.inputs or one.outputs or ())) or "no"
