from __future__ import annotations

import json
from pathlib import Path
from random import Random

import pytest
from hypothesis import given
from hypothesis import strategies as st

from labelling import make_case
from relume.benchmarks.corpora.failure_cases import Case
from relume.benchmarks.corpora.mlperf import FOLDER
from relume.benchmarks.corpora.spliced import (
    Host,
    read_host,
    splice,
    timeout_seconds,
    why_not,
    write,
)
from relume.dataset import Origin
from relume.errors import InputError
from relume.ingest.datasets import Dataset, read_dataset
from relume.ingest.loglines import LineParser

SECOND = 1_000_000
START = 1_767_323_045_000
"""2026-01-02 03:04:05 UTC in milliseconds."""
ONSET = START * 1000 + 123


def mllog(seconds: float, key: str, value: object = None) -> str:
    record = {"time_ms": START + round(seconds * 1000), "key": key, "value": value}
    return f":::MLLOG {json.dumps(record)}"


def run(pace: float = 60, evaluations: int = 8) -> list[str]:
    """A healthy run with an evaluation every `pace` seconds."""
    lines = [mllog(0, "run_start")]
    for number in range(1, evaluations + 1):
        lines += [mllog(number * pace - 1, "block_stop"), mllog(number * pace, "eval_accuracy")]
    return [*lines, mllog(evaluations * pace + 1, "run_stop")]


def host(tmp_path: Path, lines: list[str]) -> Host | None:
    path = tmp_path / FOLDER / "site" / "system" / "bert" / "result_0.txt"
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text("\n".join(lines) + "\n", encoding="utf-8")
    return read_host(path)


def test_a_run_is_cut_after_the_warm_up_and_before_its_end(tmp_path: Path) -> None:
    made = host(tmp_path, run())
    assert made is not None
    keys = [json.loads(made.lines[place].partition(" ")[2])["key"] for place in made.places]
    assert keys[0] == "eval_accuracy"
    assert made.lines.index(mllog(180, "eval_accuracy")) == made.places[0]
    assert "run_stop" not in keys
    cuts = {made.cut(Random(seed)) for seed in range(200)}
    assert cuts <= set(made.places)
    assert len(cuts) > 3
    assert made.cut(Random(7)) == made.cut(Random(7))


@pytest.mark.parametrize(
    "lines",
    [
        run(pace=5),  # too short
        run(evaluations=2, pace=400),  # no warm-up
        [line for part in run() for line in (part, "no clock")],
        [f"3: {line}" for line in run()],  # prefixes of ranks
        [*run(), mllog(5, "late")],  # a clock that goes back
    ],
)
def test_other_runs_are_no_host(tmp_path: Path, lines: list[str]) -> None:
    assert host(tmp_path, lines) is None


def times(lines: tuple[str, ...]) -> list[int | None]:
    parser = LineParser("x.log", modified=ONSET / SECOND)
    return [parser.parse(line, number, 0).event_time for number, line in enumerate(lines)]


def test_the_lines_of_a_crash_come_at_once_and_end_the_attempt() -> None:
    made = splice(make_case(text=("Traceback", "ValueError: no")), ONSET)
    assert made.lines == ("Traceback", "ValueError: no")
    assert made.state == "FAILED"
    assert 0 <= made.end - ONSET < SECOND


def test_clocks_of_a_crash_move_to_the_onset_and_keep_their_distance() -> None:
    text = ("2024-05-06 07:08:09 step 7", "Traceback", "2024-05-06 07:08:39 lost")
    made = splice(make_case(text=text), ONSET)
    first, none, last = times(made.lines)
    assert first is not None
    assert (0 <= first - ONSET < SECOND, none) == (True, None)
    assert last == made.end == first + 30 * SECOND


@pytest.mark.parametrize(
    ("words", "seconds"),
    [
        ("Watchdog caught collective operation timeout: Timeout(ms)=1800000", 1800),
        ("watchdog got stuck for 480 seconds", 480),
        ("Heartbeat monitor timed out!", 600),
    ],
)
def test_the_words_of_a_watchdog_come_after_its_own_timeout(words: str, seconds: float) -> None:
    case = make_case(kind="hang", text=("[rank1]: step 7", f"[rank1]: {words}", "[rank1]: end"))
    assert timeout_seconds(case) == seconds
    made = splice(case, ONSET)
    before, *after = times(made.lines)
    assert before is None
    assert after == [made.end, made.end]
    assert 0 <= made.end - ONSET - seconds * SECOND < SECOND
    assert made.lines[1].endswith(f" {case.text[1]}")
    assert made.state == "FAILED"


def test_what_an_excerpt_says_before_the_watchdog_comes_at_once() -> None:
    text = ("2024-05-06 07:08:09 step 7", "2024-05-06 07:38:00 heartbeat timed out")
    made = splice(make_case(kind="hang", text=text), ONSET)
    step, words = times(made.lines)
    assert step is not None
    assert 0 <= step - ONSET < SECOND
    assert words == made.end == step + 600 * SECOND


def test_a_hang_that_nothing_ends_is_silent_for_an_hour() -> None:
    made = splice(make_case(kind="hang", text=("validating",)), ONSET)
    assert made.lines == ("validating",)
    assert 3600 * SECOND <= made.end - ONSET < 3601 * SECOND
    assert made.state == "RUNNING"


@pytest.mark.parametrize(
    ("case", "reason"),
    [
        (make_case(), None),
        (make_case(kind="hang"), None),
        (make_case(kind="straggler"), "of kind straggler"),
        (make_case(kind="benign"), "without a failure"),
        (make_case(fault_domain="scheduler"), "without a failure"),
        (make_case(accept_kind=frozenset({"crash", "benign"})), "undecided"),
        (make_case(text=("[  12.345678] NVRM: Xid",)), "of a log that is no job's"),
        (make_case(text=(mllog(0, "eval_accuracy"),)), "with clocks that can't be moved"),
        (
            make_case(text=("2024-05-06 07:08:09 a", "2024-05-06 07:09:10 b")),
            "longer than a minute by their own clocks",
        ),
    ],
)
def test_what_cannot_be_spliced_is_left_out_by_reason(case: Case, reason: str | None) -> None:
    assert why_not(case) == reason


@given(
    st.lists(
        st.sampled_from(
            [
                "plain",
                "2024-05-06 07:08:09 early",
                "2024-05-06 07:08:59 late",
                "[rank1]:[E506 07:08:30.1 x.cpp:1] glog",
                "Watchdog caught: Timeout(ms)=1800000",
            ]
        ),
        min_size=1,
    ),
    st.sampled_from(["crash", "hang"]),
)
def test_nothing_of_a_case_comes_before_the_onset_or_after_the_end(
    text: list[str], kind: str
) -> None:
    case = make_case(kind=kind, text=tuple(text))
    made = splice(case, ONSET)
    known = [time for time in times(made.lines) if time is not None]
    assert all(ONSET <= time <= made.end for time in known)
    assert len(made.lines) == len(text)


def corpora(tmp_path: Path) -> Path:
    host(tmp_path, run())
    accept = {"line": [0], "domain": ["workload"], "culprit_optional": False, "culprit_also": []}
    cases = [
        {
            "id": name,
            "class": "made_up",
            "kind": kind,
            "fault_domain": "user",
            "root_cause_line": 0,
            "culprit": None,
            "text": [f"{name} is lost"],
            "accept": accept | {"kind": [kind]},
        }
        for name, kind in (("made-1", "crash"), ("made-2", "hang"), ("made-3", "benign"))
    ]
    (tmp_path / "cases.jsonl").write_text("\n".join(map(json.dumps, cases)), encoding="utf-8")
    return tmp_path


def made_in(folder: Path, data: Path) -> Dataset:
    write(data, folder)
    return read_dataset(folder)


def test_the_clock_of_the_last_good_line_is_the_onset(tmp_path: Path) -> None:
    dataset = made_in(tmp_path / "out", corpora(tmp_path))
    assert dataset.header.origin is Origin.SIMULATED
    assert "Left out of 3 cases: 1 without a failure." in dataset.header.description
    crash, hang = dataset.attempts()
    assert crash.incidents is not None
    (incident,) = crash.incidents
    path = Path(crash.files[0].path)
    *good, last = path.read_text(encoding="utf-8").splitlines()
    assert last == "made-1 is lost"
    assert good == run()[: len(good)]
    assert times(tuple(good))[-1] == incident.onset == incident.visible
    assert (crash.start, crash.end) == (START * 1000, incident.end)
    assert path.stat().st_mtime == pytest.approx((crash.end or 0) / SECOND)
    assert (crash.state, hang.state) == ("FAILED", "RUNNING")


def test_the_same_cuts_are_chosen_every_time(tmp_path: Path) -> None:
    data = corpora(tmp_path)
    once, again = made_in(tmp_path / "a", data), made_in(tmp_path / "b", data)
    assert once.digest() == again.digest()


def test_without_a_run_that_can_be_cut_there_is_no_data_set(tmp_path: Path) -> None:
    data = corpora(tmp_path)
    host(tmp_path, run(pace=5))
    with pytest.raises(InputError, match="no healthy run with a clock that is long enough"):
        write(data, tmp_path / "out")
    assert not (tmp_path / "out").exists()
