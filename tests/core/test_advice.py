"""Advice: ids that last, fields that can't contradict each other, what a replay must repeat."""

from __future__ import annotations

import dataclasses
import math
import re
from enum import StrEnum
from pathlib import Path
from typing import Any

import msgspec
import pytest

from relume.advice import (
    Advice,
    Answer,
    Approval,
    Budget,
    Disposition,
    Mode,
    Operation,
    Reconciliation,
    RequestKind,
    Scope,
    advice_id,
    comparable,
    subject,
)
from relume.errors import InputError
from relume.identity import AttemptId
from relume.verdict import Domain, Evidence, Kind

ATTEMPT = "lab/123@1767323045.0"
REJECTED = Approval(Answer.REJECTED, "on call", None, 1)
NOT_COMPARED = {
    "advice_id",
    "requests",
    "missing_evidence",
    "budget",
    "mode",
    "settled",
    "created_at",
    "decided_at",
    "expires_at",
    "supersedes",
    "measured",
    "reconciliation",
    "approval",
}


def advice(**fields: Any) -> Advice:
    """A valid settled RESTART of generation 2, with `fields` changed; the id follows."""
    values: dict[str, Any] = {
        "attempt": ATTEMPT,
        "generation": 2,
        "operation": Operation.RESTART,
        "kind": Kind.CRASH,
        "domain": Domain.HARDWARE,
        "cause": "gpu_lost",
        "confidence": 0.9,
        "rule": "xid_79",
        "evidence": (Evidence("xid_79", "root", "kernel.log", 3, "NVRM: Xid", 5),),
        "budget": Budget(used=1, left=2),
        "mode": Mode.MONITOR,
        "settled": True,
        "created_at": 100,
        "decided_at": 100,
        "expires_at": 200,
        "supersedes": advice_id(ATTEMPT, 1),
    } | fields
    about = subject(
        values["attempt"], values.get("scope", Scope.ATTEMPT), values.get("exclude_nodes", ())
    )
    return Advice(**({"advice_id": advice_id(about, values["generation"])} | values))


EXCLUDING: dict[str, Any] = {
    "operation": Operation.RESTART_EXCLUDING,
    "exclude_nodes": ("n1", "n2"),
}


def test_the_id_of_an_advice_never_changes() -> None:
    # Written down: ids in ledgers must stay valid whatever is done to the code.
    assert advice_id(ATTEMPT, 1) == "bf8dbdeb-87ab-5e5b-807e-00f802de4168"
    assert advice_id(AttemptId.parse(ATTEMPT), 1) == advice_id(ATTEMPT, 1)


def test_ids_differ_by_attempt_and_generation() -> None:
    pairs = [(ATTEMPT, 1), (ATTEMPT, 2), ("lab/123@1767323045.1", 1), ("lab/123@1767323045.1", 2)]
    assert len({advice_id(*pair) for pair in pairs}) == len(pairs)


@pytest.mark.parametrize(
    "fields",
    [
        {},
        EXCLUDING,
        {"scope": Scope.NODE, "operation": Operation.OBSERVE, "exclude_nodes": ("n1",)},
        {"scope": Scope.CLUSTER, "operation": Operation.HOLD},
        {"generation": 1, "settled": False, "decided_at": None, "supersedes": None},
        {"confidence": 0, "budget": Budget(0, None)},
        {"confidence": 1.0, "rule": None, "cause": None},
        {"reconciliation": Reconciliation(Disposition.CONVERGED, observed_generation=2)},
        {"expires_at": 101, "decided_at": 150},
        {"mode": Mode.APPROVE, "approval": REJECTED},
    ],
)
def test_valid_advice(fields: dict[str, Any]) -> None:
    assert advice(**fields).attempt == ATTEMPT


@pytest.mark.parametrize(
    ("fields", "message"),
    [
        ({"generation": 0}, "generation 0; expected 1 or more"),
        ({"advice_id": advice_id(ATTEMPT, 1)}, "an id of another subject or generation"),
        ({"supersedes": advice_id(ATTEMPT, 2)}, "supersedes itself"),
        ({"expires_at": 100}, "expires at once"),
        ({"decided_at": 99}, "decided before it was created"),
        ({"reconciliation": Reconciliation(observed_generation=3)}, "observed_generation 3"),
        ({"reconciliation": Reconciliation(observed_generation=0)}, "observed_generation 0"),
        ({"confidence": 1.01}, "confidence 1.01"),
        ({"confidence": -0.01}, "confidence -0.01"),
        ({"confidence": math.nan}, "confidence nan"),
        ({"exclude_nodes": ("n1",)}, "1 nodes to exclude with RESTART, scope attempt"),
        ({"operation": Operation.RESTART_EXCLUDING}, "0 nodes to exclude with RESTART_EXCLUDING"),
        ({"scope": Scope.NODE}, "0 nodes to exclude with RESTART, scope node"),
        (EXCLUDING | {"settled": False}, "in an unsettled generation"),
        (EXCLUDING | {"exclude_nodes": ("n1", "n1")}, "named twice"),
        ({"scope": Scope.CLUSTER}, "RESTART for a cluster; expected HOLD"),
    ],
)
def test_advice_that_contradicts_itself_cannot_be_made(
    fields: dict[str, Any], message: str
) -> None:
    with pytest.raises(InputError, match=f"advice [0-9a-f-]+; found .*{message}"):
        advice(**fields)


@pytest.mark.parametrize(("used", "left"), [(-1, 0), (0, -1)])
def test_a_budget_holds_counts(used: int, left: int) -> None:
    with pytest.raises(InputError, match=f"found {used} used, {left} left"):
        Budget(used, left)


@pytest.mark.parametrize("reason", [None, ""])
def test_what_is_abandoned_has_a_reason(reason: str | None) -> None:
    with pytest.raises(InputError, match="ABANDONED without a reason"):
        Reconciliation(Disposition.ABANDONED, reason)
    assert Reconciliation(Disposition.ABANDONED, "the user cancelled it").reason


def test_json_gives_back_what_was_put_in() -> None:
    one = advice(**EXCLUDING, requests=(RequestKind.FR_PIPE,), missing_evidence=("kernel log",))
    assert msgspec.json.decode(msgspec.json.encode(one), type=Advice) == one


def test_json_that_contradicts_itself_is_refused() -> None:
    text = msgspec.json.encode(advice()).replace(b'"generation":2', b'"generation":3')
    with pytest.raises(InputError, match="an id of another"):
        msgspec.json.decode(text, type=Advice)


@pytest.mark.parametrize(
    "fields",
    [
        {"created_at": 7, "decided_at": 8, "expires_at": 9},
        {"mode": Mode.ACT, "budget": Budget(0, None)},
        {"supersedes": None, "requests": (RequestKind.RAS,), "missing_evidence": ("x",)},
        {"reconciliation": Reconciliation(Disposition.CONVERGED)},
        {"mode": Mode.APPROVE, "approval": REJECTED},
    ],
)
def test_a_replay_may_differ_in_what_depends_on_the_site(fields: dict[str, Any]) -> None:
    assert comparable(advice(**fields)) == comparable(advice())


@pytest.mark.parametrize(
    "fields",
    [
        {"attempt": "lab/123@1767323045.1"},
        {"generation": 3},
        {"operation": Operation.STOP},
        EXCLUDING,
        {"kind": Kind.HANG},
        {"domain": Domain.NETWORK},
        {"cause": None},
        {"confidence": math.nextafter(0.9, 1)},
        {"rule": "xid_74"},
        {"evidence": (Evidence("xid_79", "root", "kernel.log", 3, "NVRM: Xid", 6),)},
    ],
)
def test_a_replay_may_not_differ_in_the_decision(fields: dict[str, Any]) -> None:
    assert comparable(advice(**fields)) != comparable(advice())


def test_every_field_is_compared_or_left_out_on_purpose() -> None:
    names = {field.name for field in dataclasses.fields(Advice)}
    assert set(comparable(advice())) == names - NOT_COMPARED


@pytest.fixture(scope="module")
def page(repository: Path) -> str:
    return (repository / "docs/formats/advice.md").read_text(encoding="utf-8")


def test_every_field_is_documented_in_order(page: str) -> None:
    table = page.split("| field |", 1)[1].split("\n\n", 1)[0]
    rows = re.findall(r"^\| (\w+) \| [^|]+ \| (yes|no) \|", table, re.MULTILINE)
    fields = dataclasses.fields(Advice)
    assert rows == [(field.name, "yes" if "None" in str(field.type) else "no") for field in fields]


@pytest.mark.parametrize(
    "values", [Operation, RequestKind, Mode, Scope, Answer, Disposition, Kind, Domain]
)
def test_every_value_is_documented(values: type[StrEnum], page: str) -> None:
    assert f"| {values.__name__} | {', '.join(f'`{value}`' for value in values)} |" in page


def test_who_has_to_answer_and_when_it_may_be_carried_out() -> None:
    waits = advice(mode=Mode.APPROVE)
    assert (waits.is_waiting, waits.is_actionable) == (True, False)
    for change in ({"mode": Mode.ACT}, {"mode": Mode.MONITOR}, {"operation": Operation.OBSERVE}):
        assert not advice(**{"mode": Mode.APPROVE, **change}).is_waiting
    unsettled = {"settled": False, "generation": 1, "supersedes": None}
    assert not advice(mode=Mode.APPROVE, **unsettled).is_waiting
    for answer in Answer:
        answered = advice(mode=Mode.APPROVE, approval=Approval(answer, "on call", "so", 7))
        assert not answered.is_waiting
        assert answered.is_actionable is (answer is Answer.APPROVED)
    assert advice(mode=Mode.ACT).is_actionable
    with pytest.raises(InputError, match="mode approve only"):
        advice(mode=Mode.ACT, approval=REJECTED)


@pytest.mark.parametrize(
    ("who", "why"),
    [("", None), ("a\x1b", None), ("a" * 201, None), ("a", "x" * 10_001), ("a", "\ud800")],
)
def test_an_answer_has_a_name_and_words(who: str, why: str | None) -> None:
    with pytest.raises(InputError):
        Approval(Answer.APPROVED, who, why, 0)
