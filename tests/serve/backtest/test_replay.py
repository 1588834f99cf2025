from __future__ import annotations

import gzip
from dataclasses import replace
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from typer.testing import CliRunner

from recording import SECOND, START, TRACEBACK, clock, entry, judging, logged, recorded, steps
from relume.advice import Advice, Operation
from relume.cli import app
from relume.dataset import AttemptEntry, DatasetHeader, LogFile, Origin
from relume.events import SchedulerEvent
from relume.ingest.datasets import read_dataset, write_dataset
from relume.ingest.importing import import_units, units_of
from relume.ingest.lake import LakeReader, LakeWriter
from relume.serve.backtest.lakes import lake_units
from relume.serve.backtest.replay import Replayed, replay_unit, ticked
from relume.serve.backtest.results import Results
from relume.serve.backtest.run import Recording
from relume.serve.backtest.sources import Unit
from relume.serve.backtest.units import dataset_units
from relume.serve.live.judge import Judge
from relume.verdict import Kind
from ticking import Eager, advice_of


def replayed(
    folder: Path, *entries: AttemptEntry, nodes: tuple[LogFile, ...] = ()
) -> dict[str, Replayed]:
    """What came of all attempts of a data set; of a lake of it the same."""
    dataset = recorded(folder, *entries, nodes=nodes)
    found = _replay(dataset_units(dataset))
    with LakeWriter(folder / "lake") as lake:
        assert not import_units(lake, units_of([folder])).refused
    again = _replay(lake_units(LakeReader(folder / "lake")))
    assert {name: _advice(one) for name, one in found.items()} == {
        name: _advice(one) for name, one in again.items()
    }
    return found


def _replay(units: object) -> dict[str, Replayed]:
    results: dict[str, Replayed] = {}
    for unit in units:  # type: ignore[attr-defined]
        assert isinstance(unit, Unit)
        results |= replay_unit(unit, judging().analyzer, judging().settings, "UTC")
    return results


def _advice(one: Replayed) -> list[Advice]:
    return [finding.advice for finding in one.decisions]


def only(found: dict[str, Replayed]) -> Replayed:
    [one] = found.values()
    return one


def test_a_crash_is_found_in_the_second_after_it(tmp_path: Path) -> None:
    log = logged(tmp_path, "7.out", [*steps(60), *TRACEBACK])
    one = only(replayed(tmp_path, entry(files=(log,), start=START, end=START + 61 * SECOND)))
    [advice] = _advice(one)
    assert (advice.kind, advice.operation, advice.settled) == (
        Kind.CRASH,
        Operation.RESTART,
        True,
    )
    assert advice.created_at == START + 61 * SECOND
    assert (one.extent.start, one.extent.end) == (START, START + 61 * SECOND)
    assert (one.first_step, one.last_step) == (1, 60)


def test_without_accounting_the_clocks_say_when_it_ran(tmp_path: Path) -> None:
    log = logged(tmp_path, "7.out", [*steps(60), *TRACEBACK])
    one = only(replayed(tmp_path, entry(files=(log,), state=None)))
    assert (one.extent.start, one.extent.end) == (START + 2 * SECOND, START + 61 * SECOND)
    [advice] = _advice(one)
    assert (advice.kind, advice.operation) == (Kind.CRASH, Operation.OBSERVE)


def test_a_healthy_attempt_leads_to_nothing(tmp_path: Path) -> None:
    log = logged(tmp_path, "7.out", [*steps(60), "Training complete."])
    one = only(replayed(tmp_path, entry(files=(log,), state="COMPLETED", exit_code=0)))
    assert _advice(one) == []
    assert one.verdict is not None
    assert one.verdict.kind is Kind.BENIGN


def test_a_silence_is_a_hang_after_the_rule_s_patience(tmp_path: Path) -> None:
    log = logged(tmp_path, "7.out", steps(60))
    long = entry(files=(log,), state="CANCELLED", start=START, end=START + 1200 * SECOND)
    suspected, first = only(replayed(tmp_path, long)).findings[:2]
    assert (suspected.is_suspicion, first.is_suspicion) == (True, False)
    assert first.advice.kind is Kind.HANG
    # The last step is read at 61 s: 300 s are patience, and the second after them tells.
    assert suspected.advice.created_at == START + (61 + 31) * SECOND
    assert first.advice.created_at == START + (61 + 301) * SECOND


def test_a_log_whose_end_is_lost_is_no_silence(tmp_path: Path) -> None:
    whole = gzip.compress("".join(f"{line}\n" for line in steps(60)).encode())
    (tmp_path / "7.out.gz").write_bytes(whole[:-8])  # all lines are there, but who knows that
    cut = entry(files=(LogFile(path="7.out.gz"),), state="COMPLETED", exit_code=0)
    long = replace(cut, start=START, end=START + 9000 * SECOND)
    # A lake holds the lines, and not that there may have been more.
    found = _replay(dataset_units(recorded(tmp_path, long)))
    assert only(found).findings == []


def test_an_attempt_that_still_runs_at_the_end_isn_t_called_over(tmp_path: Path) -> None:
    log = logged(tmp_path, "7.out", steps(60))
    runs = entry(files=(log,), state="RUNNING", start=START, end=START + 120 * SECOND)
    assert _advice(only(replayed(tmp_path, runs))) == []


def test_a_log_without_clocks_is_no_silence(tmp_path: Path) -> None:
    log = logged(tmp_path, "7.out", [f"iter {n}: loss 3.9, time 1000.00ms" for n in range(60)])
    timed = entry(files=(log,), state="CANCELLED", start=START, end=START + 9000 * SECOND)
    assert [one.kind for one in _advice(only(replayed(tmp_path, timed)))] == []


def test_a_crash_in_a_log_without_any_clock_is_found_at_its_end(tmp_path: Path) -> None:
    log = logged(tmp_path, "7.out", ["step one", *TRACEBACK])
    one = only(replayed(tmp_path, entry(files=(log,))))
    assert not one.extent.is_timed
    assert [advice.kind for advice in _advice(one)] == [Kind.CRASH]


def test_a_gpu_fault_in_a_node_s_own_log_names_the_node(tmp_path: Path) -> None:
    fault = "Mar  4 07:01:00 gpu-a02 kernel: NVRM: Xid (PCI:0000:3b:00): 79, GPU has fallen off the bus."
    old = "Mar  3 07:01:00 gpu-a02 kernel: NVRM: Xid (PCI:0000:3b:00): 79, GPU has fallen off the bus."
    kernel = logged(tmp_path, "kern.log", [old, fault], node="gpu-a02", stream="kernel")
    log = logged(tmp_path, "7.out", [*steps(60), *TRACEBACK])
    failed = entry(files=(log,), start=START, end=START + 65 * SECOND)
    last = _advice(only(replayed(tmp_path, failed, nodes=(kernel,))))[-1]
    assert (last.operation, last.exclude_nodes) == (Operation.RESTART_EXCLUDING, ("gpu-a02",))


def test_a_log_of_a_node_that_is_not_there_is_missing(tmp_path: Path) -> None:
    kernel = LogFile(path="gone.log", node="gpu-a02", stream="kernel")
    log = logged(tmp_path, "7.out", steps(60))
    entries = [entry(files=(log,)), entry(8, files=(log,), nodes=("gpu-a01",))]
    sources = [
        source
        for unit in dataset_units(recorded(tmp_path, *entries, nodes=(kernel,)))
        for source in unit.attempts
    ]
    assert [len(source.missing) for source in sources] == [1, 0]
    assert "gone.log" in sources[0].missing[0]


def test_a_fault_of_the_day_before_is_nobody_s(tmp_path: Path) -> None:
    old = "Mar  3 07:01:00 gpu-a02 kernel: NVRM: Xid (PCI:0000:3b:00): 79, GPU has fallen off the bus."
    kernel = logged(tmp_path, "kern.log", [old], node="gpu-a02", stream="kernel")
    log = logged(tmp_path, "7.out", [*steps(60), *TRACEBACK])
    failed = entry(files=(log,), start=START, end=START + 65 * SECOND)
    last = _advice(only(replayed(tmp_path, failed, nodes=(kernel,))))[-1]
    assert (last.operation, last.exclude_nodes) == (Operation.RESTART, ())


def test_the_second_identical_failure_of_a_run_stops_it(tmp_path: Path) -> None:
    later = START + 600 * SECOND
    first = logged(tmp_path, "1.out", [*steps(60), *TRACEBACK])
    second = logged(tmp_path, "2.out", [*steps(60, start=later), *TRACEBACK])
    found = replayed(
        tmp_path,
        entry(1, run="llm", files=(first,), start=START, end=START + 65 * SECOND),
        entry(2, run="llm", files=(second,), start=later, end=later + 65 * SECOND),
    )
    operations = [[advice.operation for advice in _advice(one)][-1] for one in found.values()]
    assert operations == [Operation.RESTART, Operation.STOP]


def test_a_log_that_isn_t_there_is_waited_for_and_named(tmp_path: Path) -> None:
    dataset = recorded(tmp_path, entry(files=(LogFile(path="gone.out"),), start=START, end=START))
    [unit] = dataset_units(dataset)
    assert "gone.out" in unit.attempts[0].missing[0]
    one = only(replay_unit(unit, judging().analyzer, judging().settings, "UTC"))
    first, *_, last = _advice(one)
    assert (first.settled, last.settled) == (False, True)
    assert last.created_at == START + 10 * SECOND


@pytest.mark.parametrize("jump", ["1970-01-01 00:00:01", "2299-01-01 00:00:00"])
def test_a_clock_that_is_years_off_costs_no_years(tmp_path: Path, jump: str) -> None:
    log = logged(tmp_path, "7.out", [*steps(30), f"[{jump}] iter 31: loss 3.9", *steps(5, 32)])
    one = only(replayed(tmp_path, entry(files=(log,), state="COMPLETED", exit_code=0)))
    assert [advice for advice in _advice(one) if advice.operation is not Operation.OBSERVE] == []


def test_ticks_come_after_what_landed_by_then() -> None:
    judge = Judge(judging().analyzer, judging().settings)
    event = SchedulerEvent(source="x", attempt=entry().attempt, state="RUNNING")
    times = (SECOND // 2, SECOND, 14 * SECOND + 1)
    seen: list[int] = []
    for one in ticked([(time, replace(event, event_time=time)) for time in times], judge, "lab"):
        judge.take(one)
        assert one.event_time is not None  # type: ignore[union-attr]
        seen.append(one.event_time)  # type: ignore[union-attr, arg-type]
        if len(seen) == 6:
            break
    # Nothing can change for a while: the next ones are as late as they may be.
    assert seen == [SECOND // 2, SECOND, SECOND, 11 * SECOND, 14 * SECOND + 1, 15 * SECOND]


pauses = st.lists(st.sampled_from([1, 1, 1, 2, 7, 31, 61, 299, 302, 700, 2000]), max_size=30)
endings = st.sampled_from([(), TRACEBACK, ("Training complete.",), ("NCCL WARN call failed",)])


@settings(max_examples=25)
@given(pauses, endings, st.integers(0, 2500), st.sampled_from(["FAILED", "COMPLETED", "RUNNING"]))
def test_fewer_ticks_change_nothing(
    tmp_path_factory: pytest.TempPathFactory,
    pauses: list[int],
    ending: tuple[str, ...],
    silence: int,
    state: str,
) -> None:
    folder, second, lines = tmp_path_factory.mktemp("ticks"), 0, []
    for n, pause in enumerate(pauses):
        second += pause
        lines.append(f"[{clock(second)}] iter {n}: loss 3.9, time 1000.00ms")
        lines += ending if n == len(pauses) // 2 else ()
    log = logged(folder, "7.out", [*lines, *ending])
    end = START + (second + silence) * SECOND
    recorded(folder, entry(files=(log,), start=START, end=end, state=state))
    [unit] = dataset_units(read_dataset(folder))
    assert advice_of(unit, Judge) == advice_of(unit, Eager)


def test_bars_between_two_clocks_are_no_silence(tmp_path: Path) -> None:
    bars = [f" {n}%|###  | {n}/100 [00:{n:02d}<00:10, 1.00it/s]" for n in range(60)]
    lines = [f"[{clock(0)}] starting", *bars, f"[{clock(900)}] saved", *bars[:20]]
    log = logged(tmp_path, "7.out", lines)
    assert _advice(only(replayed(tmp_path, entry(files=(log,), state=None)))) == []


def test_many_rank_files_are_merged_by_time(tmp_path: Path) -> None:
    texts = [
        [f"[{clock(n)}] rank {rank} iter {n}: loss 1.0" for n in range(20)] for rank in range(3)
    ]
    texts[1] += [f"[{clock(21)}] " + TRACEBACK[0], *TRACEBACK[1:]]
    files = tuple(logged(tmp_path, f"rank_{rank}.log", lines) for rank, lines in enumerate(texts))
    [advice] = _advice(only(replayed(tmp_path, entry(files=files))))
    assert advice.kind is Kind.CRASH
    assert advice.created_at == START + 22 * SECOND


XID = "gpu-a02 kernel: NVRM: Xid (PCI:0000:3b:00): 79, GPU has fallen off the bus."


def operations(found: dict[str, Replayed]) -> list[Operation]:
    return [advice.operation for one in found.values() for advice in _advice(one)]


@pytest.mark.parametrize("behind", [400, 2000, 7 * 3600])
def test_clocks_that_are_not_the_scheduler_s_show_no_silence(tmp_path: Path, behind: int) -> None:
    """Another zone, or a clock that is wrong: the log seems to end long before the attempt does."""
    log = logged(tmp_path, "7.out", steps(900, start=START - behind * SECOND))
    done = entry(files=(log,), state="COMPLETED", start=START, end=START + 901 * SECOND)
    one = only(replayed(tmp_path, done))
    assert _advice(one) == []
    assert "its clocks begin before the attempt" in one.extent.missing[0]


def test_a_crash_in_a_log_of_another_zone_is_found_all_the_same(tmp_path: Path) -> None:
    log = logged(tmp_path, "7.out", [*steps(60, start=START - 7200 * SECOND), *TRACEBACK])
    failed = entry(files=(log,), start=START, end=START + 61 * SECOND)
    last = _advice(only(replayed(tmp_path, failed)))[-1]
    assert (last.kind, last.cause) == (Kind.CRASH, "user_exception")


@pytest.mark.parametrize("ahead", [400, 7200, 8 * 3600])
def test_a_log_that_begins_after_the_attempt_is_not_lost(tmp_path: Path, ahead: int) -> None:
    """Another zone, on the other side of ours: all lines would come when nobody looks any more."""
    log = logged(tmp_path, "7.out", [*steps(60, start=START + ahead * SECOND), *TRACEBACK])
    one = only(replayed(tmp_path, entry(files=(log,), start=START, end=START + 61 * SECOND)))
    [advice] = _advice(one)
    assert (advice.kind, advice.cause, one.last_step) == (Kind.CRASH, "user_exception", 60)
    assert one.extent.end == START + 61 * SECOND
    assert "its clocks begin after the attempt" in one.extent.missing[0]


@pytest.mark.parametrize("stream", [None, "stderr"])
def test_a_log_that_ends_long_after_the_attempt_is_named(
    tmp_path: Path, stream: str | None
) -> None:
    log = logged(tmp_path, "7.out", [*steps(900, start=START + 400 * SECOND), *TRACEBACK])
    log = replace(log, stream=stream)
    one = only(replayed(tmp_path, entry(files=(log,), start=START, end=START + 901 * SECOND)))
    assert "its clocks go on after the attempt" in one.extent.missing[0]
    assert _advice(one)[-1].cause == "user_exception"


@pytest.mark.parametrize("count", [3, 10, 11, 60])
def test_steps_without_clocks_after_a_clock_are_no_silence(tmp_path: Path, count: int) -> None:
    bare = [f"iter {n}: loss 3.9, time 60000.00ms" for n in range(count)]
    for name, lines in (("end", bare), ("between", [*bare, f"[{clock(1200)}] done"])):
        folder = tmp_path / name
        folder.mkdir()
        log = logged(folder, "7.out", [*steps(12), *lines])
        done = entry(files=(log,), state="COMPLETED", start=START, end=START + 1200 * SECOND)
        assert operations(replayed(folder, done)) == []


def test_of_a_file_that_two_attempts_appended_to_each_gets_its_lines(tmp_path: Path) -> None:
    later = START + 600 * SECOND
    both = [*steps(60), *TRACEBACK, *steps(300, start=later), "Training complete."]
    log = logged(tmp_path, "both.out", both)
    first = entry(1, run="llm", files=(log,), start=START, end=START + 65 * SECOND)
    second = entry(2, run="llm", files=(log,), start=later, end=later + 305 * SECOND)
    found = replayed(tmp_path, first, replace(second, state="COMPLETED", exit_code=0))
    one, two = found.values()
    assert {advice.cause for advice in _advice(one)} == {"user_exception"}
    assert (one.last_step, two.first_step, two.last_step) == (60, 1, 300)
    assert _advice(two) == []


def test_a_first_clock_that_is_years_old_is_not_the_start(tmp_path: Path) -> None:
    lines = ["[2019-01-02 03:04:05] built", *steps(600), "Training complete."]
    log = logged(tmp_path, "7.out", lines)
    one = only(replayed(tmp_path, entry(files=(log,), state="COMPLETED", exit_code=0)))
    assert one.extent.start == START + 2 * SECOND
    assert _advice(one) == []


def test_lines_that_are_dated_after_the_end_keep_their_order(tmp_path: Path) -> None:
    log = logged(tmp_path, "7.out", [*steps(60), *TRACEBACK, *steps(2, 62)])
    failed = entry(files=(log,), start=START, end=START + 59 * SECOND)
    one = only(replayed(tmp_path, failed))
    assert (one.first_step, _advice(one)[-1].cause) == (1, "user_exception")


@pytest.mark.parametrize("before", ["Mar  1 07:00:00", "Mar  4 06:00:00"])
def test_a_kernel_that_said_nothing_for_days_is_believed(tmp_path: Path, before: str) -> None:
    lines = [f"{before} gpu-a02 kernel: usb 1-1: new device", f"Mar  4 07:01:00 {XID}"]
    kernel = logged(tmp_path, "kern.log", lines, node="gpu-a02", stream="kernel")
    log = logged(tmp_path, "7.out", [*steps(60), *TRACEBACK])
    failed = entry(files=(log,), start=START, end=START + 65 * SECOND)
    last = _advice(only(replayed(tmp_path, failed, nodes=(kernel,))))[-1]
    assert (last.operation, last.exclude_nodes) == (Operation.RESTART_EXCLUDING, ("gpu-a02",))


@pytest.mark.parametrize("name", ["gpu-a02.lab.example", "GPU-A02"])
def test_a_node_is_known_by_its_other_names(tmp_path: Path, name: str) -> None:
    kernel = logged(tmp_path, "k", [f"Mar  4 07:01:00 {XID}"], node=name, stream="kernel")
    log = logged(tmp_path, "7.out", [*steps(60), *TRACEBACK])
    failed = entry(files=(log,), start=START, end=START + 65 * SECOND)
    last = _advice(only(replayed(tmp_path, failed, nodes=(kernel,))))[-1]
    assert last.exclude_nodes == ("gpu-a02",)


@pytest.mark.parametrize(
    "comment", [None, "my own words", '{"relume": {"max_restarts": 2}}', "[1]"]
)
def test_tries_are_joined_by_the_run_of_the_data_set(tmp_path: Path, comment: str | None) -> None:
    entries = []
    for number in (1, 2):
        start = START + number * 1000 * SECOND
        log = logged(tmp_path, f"{number}.out", [*steps(60, start=start), *TRACEBACK])
        times = {"start": start, "end": start + 65 * SECOND}
        entries.append(entry(number, run="llm", comment=comment, files=(log,), **times))
    found = replayed(tmp_path, *entries).values()
    last = [_advice(one)[-1].operation for one in found]
    assert last == [Operation.RESTART, Operation.STOP]


def test_a_log_that_goes_away_while_it_is_read_is_named(tmp_path: Path) -> None:
    log = logged(tmp_path, "7.out", steps(60))
    recorded(tmp_path, entry(files=(log,), start=START, end=START + 65 * SECOND))
    [unit] = dataset_units(read_dataset(tmp_path))
    (tmp_path / "7.out").unlink()
    one = only(replay_unit(unit, judging().analyzer, judging().settings, "UTC"))
    assert "7.out" in one.extent.missing[0]
    assert _advice(one)[-1].settled


@pytest.mark.parametrize("back", [900, 3600])
def test_a_clock_that_is_set_back_shows_no_silence(tmp_path: Path, back: int) -> None:
    """As in the hour that autumn repeats."""
    lines = [*steps(600), *steps(back + 100, start=START + (600 - back) * SECOND)]
    log = logged(tmp_path, "7.out", lines)
    one = only(replayed(tmp_path, entry(files=(log,), state="COMPLETED", exit_code=0)))
    assert _advice(one) == []


def test_a_lake_keeps_the_zone_of_its_clocks(tmp_path: Path) -> None:
    log = logged(tmp_path, "7.out", steps(900, start=START + 3600 * SECOND))
    done = entry(files=(log,), state="COMPLETED", start=START, end=START + 901 * SECOND)
    header = DatasetHeader(name="winter", origin=Origin.SIMULATED, timezone="Europe/Berlin")
    write_dataset(tmp_path, header, [done])
    imported = CliRunner().invoke(
        app, ["lake", "import", str(tmp_path), "--lake", str(tmp_path / "l")]
    )
    assert imported.exit_code == 0, imported.output
    lake = Recording(tmp_path / "l")
    assert (lake.zone, lake.origin) == ("Europe/Berlin", Origin.SIMULATED)
    for recording in (lake, Recording(tmp_path)):
        with Results(tmp_path / f"out {recording.name}", recording.about(judging())) as results:
            recording.replay(judging(), results)
            [unit] = results.read()
        [one] = unit.attempts
        assert (one.missing, one.advice, one.last_step) == ([], [], 900)
    other = tmp_path / "other"
    write_dataset(other, DatasetHeader(name="summer"), [entry(8)])
    refused = CliRunner().invoke(app, ["lake", "import", str(other), "--lake", str(tmp_path / "l")])
    assert "a lake of its own" in str(refused.exception)


def test_a_hang_of_unknown_cause_shows_lines_with_its_finding(tmp_path: Path) -> None:
    seal = f"[{clock(61)}] vault: seal 4 is broken, nobody may go on"
    log = logged(tmp_path, "7.out", [*steps(60), seal])
    one = only(
        replayed(
            tmp_path, entry(files=(log,), state="RUNNING", start=START, end=START + 980 * SECOND)
        )
    )
    verdict = one.decisions[0].verdict
    assert verdict is not None
    assert verdict.kind is Kind.HANG
    assert verdict.unrecognised[0].text == seal
