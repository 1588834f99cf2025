"""Failures are told apart by cause, rule and words; hosts, ranks and numbers don't count."""

from __future__ import annotations

from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from relume.models.policy.fingerprint import LENGTH, fingerprint
from relume.verdict import Domain, Evidence, Kind, Locator, Mention, Retry, Verdict


def verdict(text: str | None = "KeyError: 'x'", line: int = 3, **changes: Any) -> Verdict:
    shown = () if text is None else (Evidence("some_rule", "root", "job.log", line, text),)
    fields: dict[str, Any] = {
        "attempt": "lab/7@1767323045.1",
        "kind": Kind.CRASH,
        "cause": "some_cause",
        "domain": Domain.WORKLOAD,
        "root_line": None if text is None else line,
        "root_file": None if text is None else "job.log",
        "culprit": Locator(),
        "retry": Retry.UNCLEAR,
        "operation": "RESTART",
        "confidence": 0.9,
        "rule": "some_rule",
        "evidence": shown,
    }
    return Verdict(**(fields | changes))


def test_it_is_the_same_wherever_and_whenever_it_happens() -> None:
    text = "[rank{0}]: OSError: [Errno 28] No space left: '/ckpt/{1}/s_{0}' on gpu-{1}"
    first = verdict(text.format(3, "a17"), line=9, confidence=0.4, attempt="lab/7@1767323045.0")
    again = verdict(text.format(12, "c04"), line=2000, culprit=Locator(rank=12))
    assert fingerprint(first) == fingerprint(again)
    assert len(fingerprint(first)) == LENGTH


@pytest.mark.parametrize(
    "other",
    [
        verdict("KeyError: 'y'"),
        verdict(None),
        verdict(kind=Kind.HANG),
        verdict(cause="another_cause"),
        verdict(cause=None),
        verdict(rule="another_rule"),
        verdict(rule=None),
    ],
)
def test_another_kind_cause_rule_or_text_is_another_failure(other: Verdict) -> None:
    assert fingerprint(other) != fingerprint(verdict())


def test_only_the_root_line_counts() -> None:
    beside = Evidence("other", "cascade", "job.log", 4, "anything else")
    root = verdict().evidence[0]
    assert fingerprint(verdict(evidence=(beside, root))) == fingerprint(verdict())


def test_nodes_that_the_lines_name_are_masked() -> None:
    def on(node: str) -> Verdict:
        text = f"lost contact to {node} after 3 s"
        return verdict(text, mentions=(Mention(Locator(node=node), 3, "job.log"),))

    assert fingerprint(on("frontier")) == fingerprint(on("zeus"))


@pytest.mark.parametrize("cause", ["user_exception", "tensor_mismatch", "gpu_device_assert", None])
def test_an_exception_of_the_workload_is_told_by_the_code_that_raised_it(cause: str | None) -> None:
    def raised(place: str | None, **changes: Any) -> str:
        return fingerprint(verdict("AssertionError", raised_in=place, **{"cause": cause} | changes))

    assert raised("train.py:step") != raised("train.py:save")
    assert raised("train.py:step") != raised("data.py:step")
    assert raised("a/train.py:step") != raised("b/train.py:step")
    assert raised("train.py:step") != raised(None)
    for anywhere in ("gpu_out_of_memory", "host_out_of_memory"):
        assert raised("train.py:step", cause=anywhere) == raised(None, cause=anywhere)
    assert raised("train.py:step", domain=Domain.NETWORK) == raised(None, domain=Domain.NETWORK)


@given(st.from_regex(r"/[a-z0-9/_-]{0,80}x", fullmatch=True))
def test_where_a_long_line_was_cut_does_not_count(path: str) -> None:
    words = "RuntimeError: NCCL communicator was aborted, see the log of the other ranks " * 20
    cut = f"could not write {path}: {words}"[:500]
    assert fingerprint(verdict(cut)) == fingerprint(verdict(f"could not write /a/b: {words}"[:500]))


@given(st.text())
def test_any_line_has_a_fingerprint(text: str) -> None:
    assert fingerprint(verdict(text)) == fingerprint(verdict(text))


def test_text_that_is_no_unicode_has_a_fingerprint() -> None:
    assert fingerprint(verdict("broken \udcff byte"))
