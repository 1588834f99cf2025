from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import msgspec
import pytest
from hypothesis import given
from hypothesis import strategies as st

from recording import SECOND, START, TRACEBACK, entry, judging, logged, recorded, steps
from relume.advice import Advice
from relume.dataset import AttemptEntry, Incident, LogFile
from relume.errors import InputError
from relume.ingest.importing import import_units, units_of
from relume.ingest.lake import LakeWriter
from relume.models.scoring.score import score
from relume.serve.backtest.outcome import Outcome
from relume.serve.backtest.results import RESULTS_FILE, About, Results, UnitResult
from relume.serve.backtest.run import Recording
from relume.verdict import Domain, Kind

ABOUT = About(data="made up", digest="d", settings="s", version="v")
UNITS = [UnitResult(unit=f"u{n}", attempts=[]) for n in range(4)]


def crashed(folder: Path, number: int, **changes: object) -> AttemptEntry:
    start = START + number * 1000 * SECOND
    log = logged(folder, f"{number}.out", [*steps(30, start=start), *TRACEBACK])
    incident = Incident(
        incident_id=f"i{number}",
        attempt=entry(number).attempt,
        kind=Kind.CRASH,
        domain=Domain.WORKLOAD,
        onset=start + 30 * SECOND,
        visible=start + 30 * SECOND,
        end=start + 35 * SECOND,
    )
    given = {"files": (log,), "start": start, "end": start + 35 * SECOND, "incidents": (incident,)}
    return entry(number, **(given | changes))


def test_what_was_added_is_there_when_it_is_opened_again(tmp_path: Path) -> None:
    with Results(tmp_path, ABOUT) as results:
        for unit in UNITS[:2]:
            results.add(unit)
    with Results(tmp_path, ABOUT) as results:
        assert results.done == {"u0", "u1"}
        results.add(UNITS[2])
        assert list(results.read()) == UNITS[:3]


@given(st.data())
def test_a_kill_at_any_byte_leaves_whole_results_only(
    tmp_path_factory: pytest.TempPathFactory, data: st.DataObject
) -> None:
    folder = tmp_path_factory.mktemp("results")
    with Results(folder, ABOUT) as results:
        for unit in UNITS:
            results.add(unit)
    path = folder / RESULTS_FILE
    whole = path.read_bytes()
    kept = data.draw(st.integers(0, len(whole)))
    path.write_bytes(whole[:kept])
    with Results(folder, ABOUT) as results:
        assert len(results.done) == whole[:kept].count(b"\n")
        for unit in UNITS:
            if unit.unit not in results.done:
                results.add(unit)
    assert path.read_bytes() == whole


@given(order=st.permutations(UNITS), missing=st.sets(st.sampled_from([u.unit for u in UNITS])))
def test_results_are_arranged_whatever_order_they_came_in(
    tmp_path_factory: pytest.TempPathFactory, order: list[UnitResult], missing: set[str]
) -> None:
    """Those that nobody names keep their order, after the others."""
    folder = tmp_path_factory.mktemp("results")
    names = [unit.unit for unit in UNITS if unit.unit not in missing]
    with Results(folder, ABOUT) as results:
        for unit in order:
            results.add(unit)
        results.arrange(names)
        with pytest.raises(InputError, match="another backtest"):
            Results(folder, ABOUT)
        results.add(UnitResult(unit="late", attempts=[]))
        others = [unit.unit for unit in order if unit.unit in missing]
        assert [unit.unit for unit in results.read()] == [*names, *others, "late"]
    with Results(folder, ABOUT) as results:
        results.arrange([*names, "never heard of"])
        assert [unit.unit for unit in results.read()] == [*names, *others, "late"]


def test_results_of_other_data_or_settings_are_left_alone(tmp_path: Path) -> None:
    with Results(tmp_path, ABOUT):
        pass
    with pytest.raises(InputError, match="other settings"):
        Results(tmp_path, msgspec.structs.replace(ABOUT, settings="other"))


def test_a_damaged_result_is_named(tmp_path: Path) -> None:
    with Results(tmp_path, ABOUT) as results:
        for unit in UNITS:
            results.add(unit)
    path = tmp_path / RESULTS_FILE
    path.write_bytes(path.read_bytes().replace(b"u1", b'u"1'))
    with pytest.raises(InputError, match=r"results\.jsonl line 2"):
        Results(tmp_path, ABOUT)


def test_what_nobody_read_was_not_quiet(tmp_path: Path) -> None:
    lost = entry(1, files=(LogFile(path="gone.out"),), start=START, end=START + 86_400 * SECOND)
    recorded(tmp_path, replace(lost, state="COMPLETED", exit_code=0))
    recording = Recording(tmp_path)
    with Results(tmp_path / "out", recording.about(judging())) as results:
        recording.replay(judging(), results)
        outcome = Outcome(recording, results)
        report = score(outcome.attempts())
        assert "gone.out" in outcome.unread[lost.attempt][0]
    assert report.false_alarms.jobs.days == 0
    assert report.counts.without_exposure == 1


def test_what_only_the_scheduler_tells_is_no_detection(tmp_path: Path) -> None:
    made = crashed(tmp_path, 1)
    log = logged(tmp_path, "calm.out", steps(30, start=made.start or 0))
    recorded(tmp_path, replace(made, files=(log,)))
    recording = Recording(tmp_path)
    with Results(tmp_path / "out", recording.about(judging())) as results:
        recording.replay(judging(), results)
        report = score(Outcome(recording, results).attempts())
    assert report.counts.told_by_scheduler > 0
    assert (report.detection.all.true_positives, report.detection.all.misses) == (0, 1)


def test_two_backtests_don_t_write_to_one_folder(tmp_path: Path) -> None:
    with Results(tmp_path, ABOUT), pytest.raises(InputError, match="another backtest"):
        Results(tmp_path, ABOUT)


def test_rubbish_in_their_place_is_named(tmp_path: Path) -> None:
    (tmp_path / "backtest.json").write_text("{")
    with pytest.raises(InputError, match=r"backtest\.json"):
        Results(tmp_path, ABOUT)


def test_a_backtest_that_is_gone_on_with_gives_what_one_in_one_go_gives(tmp_path: Path) -> None:
    data = tmp_path / "data"
    data.mkdir()
    recorded(data, *(crashed(data, number) for number in range(3)))
    recording = Recording(data)
    about = recording.about(judging())
    with Results(tmp_path / "whole", about) as results:
        recording.replay(judging(), results)
        whole = list(results.read())
    with Results(tmp_path / "parts", about) as results:
        results.add(whole[1])
    with Results(tmp_path / "parts", about) as results:
        recording.replay(judging(), results)
        parts = {one.unit: one for one in results.read()}
    assert parts == {one.unit: one for one in whole}
    assert len(parts) == 3


def test_advice_is_kept_as_the_ledger_would_have_it(tmp_path: Path) -> None:
    recorded(tmp_path, crashed(tmp_path, 1))
    recording = Recording(tmp_path)
    with Results(tmp_path / "out", recording.about(judging())) as results:
        recording.replay(judging(), results)
        [unit] = results.read()
    [attempt] = unit.attempts
    advice = attempt.advice[0].advice
    assert isinstance(advice, Advice)
    assert (advice.attempt, advice.kind, advice.generation) == (attempt.attempt, Kind.CRASH, 1)
    assert attempt.verdict is not None
    assert (attempt.verdict["kind"], attempt.nodes, attempt.state) == ("crash", 2, "FAILED")


def test_the_score_is_that_of_the_labels_of_now(tmp_path: Path) -> None:
    """One crash found after a second, one alarm on a healthy attempt, one nobody knows of."""
    data = tmp_path / "data"
    data.mkdir()
    entries = [
        crashed(data, 1),
        crashed(data, 2, incidents=()),
        crashed(data, 3, incidents=None),
    ]
    recorded(data, *entries)
    recording = Recording(data)
    with Results(tmp_path / "out", recording.about(judging())) as results:
        recording.replay(judging(), results)
        report = score(Outcome(recording, results).attempts())
    assert (report.counts.attempts, report.counts.labelled) == (3, 2)
    crash = report.detection.by_kind[Kind.CRASH]
    assert (crash.true_positives, crash.misses, crash.false_positives) == (1, 0, 1)


def test_a_corrected_label_is_scored_without_a_new_replay(tmp_path: Path) -> None:
    logs = tmp_path / "logs"
    logs.mkdir()
    made = crashed(logs, 1)
    made = replace(made, files=tuple(replace(f, path=str(logs / f.path)) for f in made.files))
    scores = []
    for name, labelled in (("wrong", replace(made, incidents=())), ("right", made)):
        recorded(tmp_path / name, labelled)
        recording = Recording(tmp_path / name)
        with Results(tmp_path / "out", recording.about(judging())) as results:
            recording.replay(judging(), results)
            scores.append(score(Outcome(recording, results).attempts()).detection.all)
    assert [(one.true_positives, one.false_positives) for one in scores] == [(0, 1), (1, 0)]


def test_labels_of_attempts_that_are_not_there_are_told(tmp_path: Path) -> None:
    data = tmp_path / "data"
    data.mkdir()
    recorded(data, crashed(data, 1), crashed(data, 2))
    one = tmp_path / "one"
    one.mkdir()
    recorded(one, crashed(one, 1))
    with LakeWriter(tmp_path / "lake") as lake:
        import_units(lake, units_of([one]))
    recording = Recording(tmp_path / "lake", data)
    with Results(tmp_path / "out", recording.about(judging())) as results:
        recording.replay(judging(), results)
        outcome = Outcome(recording, results)
        assert len(list(outcome.attempts())) == 1
        assert outcome.not_replayed == [entry(2).attempt]


def test_other_rules_settings_or_zones_are_another_backtest() -> None:
    mine = judging()
    others = [
        replace(mine, zone="Europe/Berlin"),
        replace(mine, progress=("step {step}",)),
        replace(mine, settings=replace(mine.settings, settle_seconds=3.0)),
    ]
    assert len({mine.digest(), *(other.digest() for other in others)}) == 4


def test_labels_belong_to_lakes_only(tmp_path: Path) -> None:
    recorded(tmp_path, crashed(tmp_path, 1))
    with pytest.raises(InputError, match="--labels"):
        Recording(tmp_path, tmp_path)
