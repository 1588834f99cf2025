from __future__ import annotations

from dataclasses import replace

import pytest
from hypothesis import given
from hypothesis import strategies as st

from relume.slurm.paths import OutputNames, output_path

JOB = OutputNames(
    raw_job_id=1020,
    array_job_id=None,
    array_task_id=None,
    user="ada",
    job_name="n m",
    batch_host="node1",
    work_dir="/w",
)
TASK = replace(JOB, raw_job_id=1022, array_job_id=1021, array_task_id=7)


# What Slurm 22.05 made of these patterns (the default ones: see sbatch(1)).
@pytest.mark.parametrize(
    ("pattern", "names", "path"),
    [
        ("", JOB, "/w/slurm-1020.out"),
        ("", TASK, "/w/slurm-1021_7.out"),
        ("/logs/%x-%j", JOB, "/logs/n m-1020"),
        ("p/%A_%a-%3a-%j-%J", TASK, "/w/p/1021_7-007-1022-1022"),
        ("%A_%a", JOB, "/w/1020_4294967294"),
        ("%N-%u-%s-%t-%n", JOB, "/w/node1-ada-batch-0-0"),
        ("%12j", JOB, "/w/0000001020"),
        ("%5x", JOB, "/w/n m"),
        ("rel%%j", JOB, "/w/rel%j"),
        ("%z-end%", JOB, "/w/%z-end%"),
        (r"back\%j\x", JOB, "/w/back%jx"),
        (r"back\\%j", JOB, r"/w/back\%j"),
    ],
)
def test_patterns_are_replaced_as_slurm_does(pattern: str, names: OutputNames, path: str) -> None:
    assert output_path(pattern, names) == path


def test_a_path_with_the_node_is_unknown_until_there_is_one() -> None:
    waiting = replace(JOB, batch_host=None)
    assert output_path("%N.out", waiting) is None
    assert output_path(r"\%N.out", waiting) == "/w/%N.out"
    assert output_path("%%N.out", waiting) == "/w/%N.out"


@given(st.text())
def test_any_pattern_gives_an_absolute_path(pattern: str) -> None:
    path = output_path(pattern, JOB)
    assert path is not None
    assert path.startswith("/")
