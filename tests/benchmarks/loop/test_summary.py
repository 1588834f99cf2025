from __future__ import annotations

from typing import Any

from looping import FAILED_AT, RESTARTED, SECOND, asked, make_record, seen
from relume.benchmarks.loop.killing import TARGETS, Killed
from relume.benchmarks.loop.record import NEVER_SECONDS
from relume.benchmarks.loop.scenarios import KILLED, STOPPED, STRANGER
from relume.benchmarks.loop.summary import Findings, bars, measures, notes
from relume.verdict import Kind

HANG = (seen(95, kind=Kind.HANG, settled=False), seen(105, kind=Kind.HANG))

KILLS = [Killed(target, FAILED_AT + SECOND * at) for target in TARGETS for at in (0, 5, 40)]


def make_findings(**changes: Any) -> Findings:
    quick = make_record(KILLED)
    slow = make_record(
        KILLED,
        plan=KILLED.plan(2),
        advice=(seen(1.5, settled=False), seen(12)),
        commands=(RESTARTED[0], asked(13, "scontrol", "release", "7")),
    )
    fields: dict[str, Any] = {
        "runs": {KILLED: [quick, slow], STOPPED: [make_record(STOPPED, advice=HANG)]},
        "survivors": [make_record(KILLED)],
        "kills": KILLS,
    }
    return Findings(**(fields | changes))


def test_medians_are_over_all_crashes_and_hangs_apart() -> None:
    found = measures(make_findings(), settle_seconds=10.0)
    assert found["killed_as_expected"] == 2
    assert found["crash_generation_1_seconds"] == 1.0
    assert found["crash_generation_1_seconds_worst"] == 1.5
    assert found["crash_released_seconds"] == 12.0
    assert found["crash_released_after_settling_seconds"] == 2.0
    assert found["crash_first_step_seconds"] == 15.5
    assert found["hang_generation_1_seconds"] == 95.0
    assert found["failures_during_kills"] == found["jobs_through_kills"] == 1


def test_every_bar_has_its_measure_and_is_reached() -> None:
    findings = make_findings()
    found = measures(findings, settle_seconds=10.0)
    wanted = bars(findings, moments=3)
    assert all(bar.passes(found[name]) for name, bar in wanted.items())
    assert not bars(findings, moments=4)["kills_of_both"].passes(found["kills_of_both"])


def test_what_went_wrong_fails_its_bar_and_is_named() -> None:
    again = (*RESTARTED, asked(12, "scontrol", "requeuehold", "7"))
    stranger = make_record(STRANGER)
    findings = make_findings(
        runs={
            KILLED: [make_record(KILLED, excluded=frozenset({"node2"}))],
            STRANGER: [stranger],
        },
        survivors=[make_record(KILLED, plan=KILLED.plan(9), commands=again)],
        observed_commands=1,
        lost=["one"],
        foreign=["two"],
        unlike_replay=["three"],
    )
    found = measures(findings, settle_seconds=10.0)
    failed = {name for name, bar in bars(findings, 3).items() if not bar.passes(found[name])}
    assert failed == {
        "killed_as_expected",
        "stranger_as_expected",
        "commands_without_opt_in",
        "commands_in_mode_observe",
        "jobs_not_well_after_kills",
        "repeated_requeues",
        "lost_advice",
        "foreign_holds_touched",
        "advice_unlike_replay",
    }
    said = notes(findings)
    assert set(said["complaints"]) == {"killed-1", "stranger-1", "killed-9"}
    assert (said["lost_advice"], said["foreign_holds"]) == (["one"], ["two"])
    assert said["unlike_replay"] == ["three"]


def test_a_crash_that_was_never_noticed_counts_as_very_late() -> None:
    findings = make_findings(
        runs={KILLED: [make_record(KILLED, advice=(), commands=(), restarts=0)]}
    )
    found = measures(findings, settle_seconds=10.0)
    failed = {name for name, bar in bars(findings, 3).items() if not bar.passes(found[name])}
    assert {"crash_generation_1_seconds", "crash_released_after_settling_seconds"} <= failed
    assert found["hang_generation_1_seconds"] == NEVER_SECONDS


def test_it_is_told_which_step_of_a_recovery_was_hit() -> None:
    hit = notes(make_findings())["kills_while_waiting_for"]
    assert hit == {"generation 1": 3, "settled generation": 3}


def test_notes_hold_the_times_of_each_recovery() -> None:
    (times,) = notes(make_findings())["seconds"]["killed-2"]
    assert times == {
        "generation_1": 1.5,
        "settled": 12.0,
        "released": 13.0,
        "launched": 12.0,
        "begun": 15.0,
        "first_step": 15.5,
    }
