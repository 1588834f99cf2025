"""Numeric failures: the first bad step is the root, whoever ends the program later."""

from __future__ import annotations

from dataclasses import replace

import pytest

from making import LOG, make_episode, make_hit, make_signature
from relume.features.progress.assess import ProgressAssessment, ProgressState
from relume.features.progress.numerics import Trouble
from relume.models.diagnosis.diagnose import diagnose
from relume.models.signatures.rule import Signature
from relume.reasons import ReasonCode
from relume.serve.offline import Analyzer
from relume.verdict import Domain, Kind

CHECK = make_signature("loss_check", kind=Kind.NUMERIC, cause="non_finite_numbers")
CRASH = make_signature("exception")


def troubled(**changes: object) -> ProgressAssessment:
    calm = make_episode().progress
    known = {
        "state": ProgressState.ADVANCING,
        "trouble": Trouble.NOT_FINITE,
        "trouble_line": 4,
        "trouble_file": LOG,
        "trouble_step": 120,
        "trouble_points": 7,
    }
    return replace(calm, **(known | changes))  # type: ignore[arg-type]


@pytest.mark.parametrize("trouble", Trouble)
def test_it_is_reported_with_step_and_line_and_not_acted_on(trouble: Trouble) -> None:
    verdict = diagnose(make_episode(progress=troubled(trouble=trouble)))
    assert (verdict.kind, verdict.cause, verdict.root_line) == (Kind.NUMERIC, trouble.value, 4)
    assert (verdict.domain, verdict.operation) == (Domain.WORKLOAD, "OBSERVE")
    assert not verdict.culprit
    assert any("from step 120 on" in why for why in verdict.why)


def test_slowness_beside_it_is_the_lesser_trouble_and_standing_still_the_greater() -> None:
    slow = diagnose(make_episode(progress=troubled(state=ProgressState.SLOWING)))
    still = diagnose(make_episode(progress=troubled(state=ProgressState.STOPPED)))
    assert (slow.kind, still.kind) == (Kind.NUMERIC, Kind.HANG)


def test_the_check_that_ends_the_program_comes_after_the_first_bad_step() -> None:
    verdict = diagnose(make_episode(make_hit(CHECK, 90), progress=troubled()))
    assert (verdict.kind, verdict.root_line, verdict.rule) == (Kind.NUMERIC, 4, "loss_check")
    [reason] = [one for one in verdict.reasons if one.code is ReasonCode.NOT_FINITE]
    assert reason.lines[0].line == 90


@pytest.mark.parametrize(
    ("rule", "changes"),
    [
        (CHECK, {"trouble": None}),
        (CHECK, {"trouble_line": 95}),
        (CHECK, {"trouble_file": "other.log"}),
        (CRASH, {}),
    ],
)
def test_else_the_check_is_where_it_says(rule: Signature, changes: dict[str, object]) -> None:
    verdict = diagnose(make_episode(make_hit(rule, 90), progress=troubled(**changes)))
    assert verdict.root_line == 90


def test_from_lines_to_a_verdict() -> None:
    steps = [f"iter {n}: loss 3.1, time 400.00ms" for n in range(1, 20)]
    bad = [f"iter {n}: loss nan, time 400.00ms" for n in range(20, 30)]
    verdict = Analyzer().diagnose_lines("job", [*steps, *bad])
    assert (verdict.kind, verdict.root_line) == (Kind.NUMERIC, 19)
    survived = Analyzer().diagnose_lines("job", [*steps, *bad, *steps_from(30)])
    assert survived.kind is Kind.BENIGN


def test_a_loss_scale_that_gives_up_is_numeric() -> None:
    falling = [
        f"[deepspeed] OVERFLOW! Rank 0 Skipping step. Attempted loss scale: {scale}, reducing to "
        f"{max(scale // 2, 1)}"
        for scale in (8, 4, 2, 1, 1, 1)
    ]
    end = "Exception: Current loss scale already at minimum - cannot decrease scale anymore."
    verdict = Analyzer().diagnose_lines("job", [*falling, end])
    assert (verdict.kind, verdict.rule) == (Kind.NUMERIC, "loss_scale_exhausted")
    assert verdict.root_line == 3
    assert verdict.operation == "OBSERVE"


def steps_from(first: int) -> list[str]:
    return [f"iter {n}: loss 3.0, time 400.00ms" for n in range(first, first + 20)]
