"""Numbers on pages: nodes and goodput, counted from the ledger."""

from __future__ import annotations

import msgspec
import pytest

from advising import make_advice, make_attempt
from paging import NOW, SECOND, Site
from relume.advice import Operation, Scope
from relume.benchmarks.page.filling import fill
from relume.events import Actor
from relume.models.fleet.nodes import NodeState
from relume.models.lemons.online import Fault
from relume.models.lemons.quarantine import Hold
from relume.serve.ledger import LabelRecord
from relume.serve.live.fleet import FleetState
from relume.serve.page import goodput, nodes
from relume.verdict import Domain, Evidence

HOUR = 3600 * SECOND


def put_fleet(site: Site) -> None:
    def fault(node: str, at: int) -> Fault:
        evidence = (Evidence("xid_79", "root", "kern.log", 3, "<b>Xid 79</b>", at, "kernel"),)
        return Fault(node=node, at=at, domain=Domain.HARDWARE, words="GPU lost", evidence=evidence)

    state = FleetState(
        nodes={
            "n1": NodeState(partitions=("gpu",)),
            "n2": NodeState(is_out=True, is_drained=True, reason="fan <i>", actor=Actor.ADMIN),
            "n3": NodeState(),
            "n4": NodeState(),
        },
        faults=[fault("n1", NOW - 9 * SECOND), fault("n1", NOW - SECOND), fault("n3", NOW)],
        out=["n9"],
        holds={"n1": Hold(NOW - HOUR, 2.0)},
    )
    site.ledger.put_fleet("lab", msgspec.json.encode(state).decode())


def test_nodes_come_the_worst_first(site: Site) -> None:
    put_fleet(site)
    hold = make_advice(
        scope=Scope.NODE, operation=Operation.HOLD, exclude_nodes=("n1",), expires_at=NOW + HOUR
    )
    site.ledger.put_advice(hold)
    twin = site.twin("/nodes")
    assert [one["node"] for one in twin["nodes"]] == ["n1", "n2", "n3", "n9"]
    assert (twin["total"], twin["out"], twin["held"], twin["faulty"]) == (4, 1, 1, 2)
    first = twin["nodes"][0]
    assert (first["advice_id"], first["fault_count"]) == (hold.advice_id, 2)
    assert first["faults"][0]["at"] == NOW - SECOND
    page = site.page("/nodes")
    assert "▲ out, drained fan <i> by admin" in page.text
    assert "<b>Xid 79</b>" in page.text
    assert page.named("i") == []


def test_many_nodes_are_cut_and_unknown_documents_said(
    site: Site, monkeypatch: pytest.MonkeyPatch
) -> None:
    put_fleet(site)
    site.ledger.put_fleet("old", '{"nodes": 7}')
    monkeypatch.setattr(nodes, "PAGE", 2)
    twin = site.twin("/nodes")
    assert (len(twin["nodes"]), twin["is_cut"], twin["unread"]) == (2, True, ["old"])
    assert "cluster old was written by another version" in site.page("/nodes").text


def test_when_nothing_is_wrong_with_any_node(site: Site) -> None:
    state = FleetState(nodes={"n1": NodeState()})
    site.ledger.put_fleet("lab", msgspec.json.encode(state).decode())
    assert "No node is out of service" in site.page("/nodes").text


def test_goodput_counts_the_time_that_is_asked_for(site: Site) -> None:
    def put(number: int, **changes: object) -> None:
        name = f"lab/{number}@1767323045.0"
        fields = {"attempt": name, "nodes": ("a",), "submit_time": None, "ended": True} | changes
        site.ledger.put_attempt(make_attempt(**fields))

    put(1, state="FAILED", start_time=NOW - 4 * HOUR, end_time=NOW - 2 * HOUR)
    put(2, state="RUNNING", ended=False, start_time=NOW - HOUR)
    put(3, state="COMPLETED", start_time=NOW - 900 * HOUR, end_time=NOW - 800 * HOUR)
    put(4, state="FAILED")
    twin = site.twin("/goodput?days=1")
    assert (twin["attempts"], twin["failed"], twin["running"]) == (2, 1, 1)
    assert twin["gpu_hours"] == pytest.approx(3 * 8)
    assert sum(one["share"] for one in twin["buckets"]) == pytest.approx(1)
    assert twin["left_out"] == {goodput.NO_TIME: 1}
    rate = twin["failures_per_1000_node_days"]
    assert rate["value"] == pytest.approx(1000 / (3 / 24))
    assert rate["low"] < rate["value"] < rate["high"]
    page = site.page("/goodput?days=90")
    assert next(one["class"] for one in page.named("rect")) == "bucket b-productive"


def test_attempts_of_one_job_that_overlap_are_left_out_and_named(site: Site) -> None:
    for count in (0, 1):
        name, start = f"lab/1@1767323045.{count}", NOW - HOUR
        site.ledger.put_attempt(
            make_attempt(attempt=name, start_time=start, end_time=NOW, ended=True)
        )
    twin = site.twin("/goodput")
    assert (twin["attempts"], twin["left_out"]) == (1, {goodput.OVERLAP: 1})


def test_restarts_are_counted_by_what_became_of_them(
    site: Site, monkeypatch: pytest.MonkeyPatch
) -> None:
    site.clock.advance(0)
    for number in range(3):
        attempt = f"lab/{number}@1767323045.0"
        site.ledger.put_advice(
            make_advice(attempt=attempt, created_at=NOW - 1, decided_at=NOW, expires_at=NOW + 1)
        )
    site.ledger.put_advice(make_advice(attempt="lab/9@1767323045.0"))
    twin = site.twin("/goodput?days=1")
    assert twin["restarts"] == {"PENDING": 4, "CONVERGED": 0, "ABANDONED": 0}
    assert twin["converged"]["value"] is None
    monkeypatch.setattr(goodput, "MAX_ATTEMPTS", 0)
    site.ledger.put_attempt(make_attempt())
    assert site.twin("/goodput")["is_cut"]


def test_rules_are_scored_by_what_people_say(site: Site) -> None:
    advice = fill(site.ledger, NOW, 12)
    for one, right in ((advice[0], True), (advice[6], False)):
        label = LabelRecord(advice_id=one.advice_id, right=right, who="ada", why="so <b>", at=NOW)
        site.ledger.put_label(label)
    twin = site.twin("/scoreboard?days=7")
    [rule] = [one for one in twin["board"]["rules"] if one["rule"] == "xid_79"]
    assert (rule["alarms"], rule["true"], rule["false"], rule["unlabelled"]) == (2, 1, 1, 0)
    assert rule["precision"]["low"] < 0.5 < rule["precision"]["high"]
    assert twin["false_total"] == 1
    page = site.page("/scoreboard?days=7")
    assert "xid_79 ✕ crash 2 1 1 0 50.0 %" in page.text
    assert "wrong, says ada : so <b>" in page.text.replace("ada:", "ada :")
