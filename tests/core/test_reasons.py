"""Every reason has a code for programs and words for people."""

from __future__ import annotations

import pytest

from making import make_episode, make_hit, make_signature
from relume.models.diagnosis.diagnose import diagnose
from relume.models.signatures.rule import Tier
from relume.reasons import Cited, Reason, ReasonCode
from relume.records import case_record, verdict_record


@pytest.mark.parametrize("code", ReasonCode)
def test_every_code_has_words(code: ReasonCode) -> None:
    line = Cited("late", "a.log", 9, by=Cited("early", "a.log", 3))
    said = Reason(code, (line,), count=4, detail="DETAIL").sentence
    assert said
    assert "{" not in said
    assert "None" not in said
    assert "None" not in Reason(code, (line,), detail="").sentence


def test_what_was_ruled_out_is_told_with_what_rules_it_out() -> None:
    device = make_signature("device", tier=Tier.EXCEPTION, category="gpu", specificity=60)
    follow = make_signature("follow", tier=Tier.EXCEPTION, specificity=5)
    verdict = diagnose(make_episode(make_hit(device, 3), make_hit(follow, 9)))
    [reason] = [r for r in verdict.reasons if r.code is ReasonCode.UNSPECIFIC_AFTER_KNOWN]
    assert reason.lines == (Cited("follow", "job.log", 9, by=Cited("device", "job.log", 3)),)
    assert reason.sentence in verdict.why
    told = verdict_record(verdict)["reasons"]
    assert {
        "code": "unspecific_after_known",
        "count": 1,
        "detail": None,
        "lines": [
            {
                "rule": "follow",
                "line": 9,
                "file": "job.log",
                "by": {"rule": "device", "line": 3, "file": "job.log", "by": None},
            }
        ],
    } in told
    assert [one["code"] for one in case_record(verdict)["reasons"]] == [
        reason.code.value for reason in verdict.reasons
    ]
