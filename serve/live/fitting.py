"""What the row of a job may say, so that all of it can be kept."""

from __future__ import annotations

from collections.abc import Mapping
from types import MappingProxyType

from relume.errors import InputError, shown
from relume.slurm.job import SlurmJob

_SMALL, _LARGE = 2**31, 2**62
_BOUNDS: Mapping[str, int] = MappingProxyType(
    {
        "raw_job_id": _LARGE,
        "submit_time": _LARGE,
        "start_time": _LARGE,
        "end_time": _LARGE,
        "deadline": _LARGE,
        "time_limit_seconds": _LARGE,
        "priority": _LARGE,
        "exit_code": _SMALL,
        "signal": _SMALL,
        "num_nodes": _SMALL,
    }
)
"""Below which a number is, and above the negative of it: the columns of events hold no others."""


def require_fit(job: SlurmJob) -> None:
    """Refuse a job with a number that can't be kept: it would be found where all the others are.

    Raises
    ------
    InputError
        For a number that is out of range.
    """
    for name, bound in _BOUNDS.items():
        value = getattr(job, name)
        if value is not None and not -bound < value < bound:
            raise InputError(
                f"{name} of job {shown(job.job_id)}",
                found=shown(value),
                expected=f"a number between -{bound} and {bound}",
            )
