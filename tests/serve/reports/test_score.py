from __future__ import annotations

import io
from typing import Any

from rich.console import Console

from alarming import HARDWARE, WORKLOAD, make_alarm, make_attempt, make_incident
from relume.models.scoring.attempt import ScoredAttempt
from relume.models.scoring.document import Provenance, to_document
from relume.models.scoring.score import score
from relume.serve.reports.score import caption, render
from relume.verdict import Kind

MADE = Provenance(
    corpus="march",
    corpus_hash="0123456789abcdef",
    version="1.2.3",
    wall_seconds=2.5,
    cores=2,
    seeds=(7, 8),
)


def shown(*attempts: ScoredAttempt, provenance: Provenance | None = MADE) -> list[str]:
    document = to_document(score(attempts), provenance)
    texts = []
    for table in render(document):
        out = io.StringIO()
        Console(file=out, width=600).print(table)
        texts.append(out.getvalue())
    return texts


def crash(**said: Any) -> ScoredAttempt:
    incident = make_incident(1000, 2000, domain=HARDWARE, cause="gpu_lost", culprit_nodes=("n1",))
    return make_attempt((incident,), make_alarm(1100, **said))


def test_every_table_says_where_its_numbers_come_from() -> None:
    said = {"domain": HARDWARE, "cause": "gpu_lost", "nodes": ("n1",), "excluded_nodes": ("n1",)}
    tables = shown(crash(**said, rule="xid", confidence=0.9))
    assert len(tables) == 7
    for text in tables:
        assert "march (0123456789abcdef); recorded; 1 of 1 attempts labelled" in text
        assert "incidents: 1 crash; 0.116 job-days; 0.463 node-days" in text
        assert "Wilson" in text
        assert "seeds: 7, 8" in text
        assert "relume 1.2.3; 2.5 s on 2 cores" in text


def test_values_stand_beside_their_intervals() -> None:
    detection, false, latency, attribution, exclusions, sure, rules = shown(
        crash(cause="gpu_lost", nodes=("n2", "n1"), rule="xid", excluded_nodes=("n1", "n2")),
        make_attempt((), make_alarm(50, rule="xid", domain=WORKLOAD)),
    )
    assert "kind crash" in detection
    assert "0.500 [0.095, 0.905]" in detection  # Wilson of 1 of 2
    assert "domain workload" in detection
    assert "mean of the kinds" in detection
    assert "per 1000 node-days" in false
    assert "onset to alarm" in latency
    assert "100" in latency
    assert "nodes, among the first five" in attribution
    assert "innocent nodes in a list (mean)" in exclusions
    assert "ECE 0.500" in sure
    assert "xid" in rules


def test_without_anything_to_show_there_are_no_such_tables() -> None:
    detection, false = shown(provenance=None)
    assert "provenance not given; no attempts" in detection
    assert "all (micro-average)" in detection
    assert "per job-day" in false
    assert " - " in false


def test_what_is_in_no_share_is_still_shown() -> None:
    short = make_incident(1000, 1010, Kind.HANG)
    detection, false, *_ = shown(
        make_attempt((short,)),
        make_attempt(None, make_alarm(5)),
        make_attempt((), make_alarm(5), start=None),
        make_attempt((make_incident(),), make_alarm(5)),
        make_attempt((), make_alarm(5), ignore=[(0, 10)]),
    )
    for words in (
        "transient incidents, not counted",
        "alarms on unlabelled attempts",
        "incidents without a clock",
        "alarms in ignore intervals",
    ):
        assert words in detection
    assert "where the exposure isn't known" in false


def test_a_hostile_name_of_a_rule_is_shown_as_text() -> None:
    *_, rules = shown(make_attempt((), make_alarm(5, rule="[red]x[/red]\x1b[31m")))
    assert "[red]x[/red]\ufffd[31m" in rules


def test_attempts_of_unknown_size_are_in_no_node_days() -> None:
    report = score([make_attempt((), nodes=None), make_attempt()])
    assert "0.463 node-days without 1 attempt of unknown size" in caption(to_document(report))


def test_one_core_is_one() -> None:
    made = Provenance(corpus="c", corpus_hash="h", version="1", wall_seconds=1.0, cores=1)
    assert caption(to_document(score([]), made)).endswith("1.0 s on 1 core")


def test_what_only_the_scheduler_told_has_a_row_of_its_own_where_there_is_any() -> None:
    words = "known from the scheduler's word alone"
    assert words not in shown(crash())[0]
    [line] = [one for one in shown(crash(told_by_scheduler=True))[0].splitlines() if words in one]
    assert line.split()[-1] == "1"
