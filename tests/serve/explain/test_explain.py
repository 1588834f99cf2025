"""What is explained is what the detectors saw, and looking at it changes nothing."""

from __future__ import annotations

import json
from collections.abc import Sequence
from pathlib import Path
from typing import Any
from xml.etree import ElementTree as ET

import pytest
from typer.testing import CliRunner

from recording import SECOND, START, clock, entry, judging, logged, recorded
from relume.cli import app
from relume.errors import InputError
from relume.models.hang.detector import Level
from relume.models.hang.patience import Basis
from relume.serve.backtest.results import Results
from relume.serve.backtest.run import Recording
from relume.serve.explain.document import to_document
from relume.serve.explain.explain import Explained, explain, explain_log, find
from relume.serve.explain.plot import svg
from relume.serve.explain.words import why_hang, why_slow

JOB = f"lab/7@{START // SECOND + 7}.0"
runner = CliRunner()


def lines(times: Sequence[float], seconds: Sequence[float] | None = None) -> list[str]:
    """A step at each time, seconds after the start."""
    took = seconds or [1.0] * len(times)
    return [
        f"[{clock(at)}] iter {number}: loss 3.9, time {1000 * took[number - 1]:.2f}ms"
        for number, at in enumerate(times, start=1)
    ]


def explained(folder: Path, made: list[str], end: int, **changes: Any) -> Explained:
    folder.mkdir(exist_ok=True)
    log = logged(folder, "7.out", made)
    fields: dict[str, Any] = {"state": "COMPLETED", "exit_code": 0, "start": START}
    fields |= {"end": START + end * SECOND, "files": (log,)}
    recorded(folder, entry(**(fields | changes)))
    return explain(Recording(folder), "7", judging())


def pausing(folder: Path, pause: int) -> Explained:
    times = [*range(100), *range(100 + pause, 200 + pause)]
    return explained(folder, lines(times), times[-1] + 2)


@pytest.mark.parametrize(
    ("pause", "level", "said"),
    [
        (10, None, "nothing was suspected"),
        (100, Level.SUSPICION, "suspected, not called a hang"),
        (400, Level.ACTIONABLE, "called a hang: a silence of 401 s"),
    ],
)
def test_the_longest_silence_is_told_with_its_threshold_and_what_came_of_it(
    tmp_path: Path, pause: int, level: Level | None, said: str
) -> None:
    one = pausing(tmp_path / "data", pause)
    longest = one.seen.silences[0]
    assert longest.seconds == pytest.approx(pause + 1, abs=1)
    assert (longest.level, longest.ended, longest.phase) == (level, True, "train")
    assert longest.limits.basis is Basis.UNKNOWN
    assert longest.limits.suspicion_seconds == 30.0
    assert START + 99 * SECOND <= longest.since <= START + 100 * SECOND
    assert said in " ".join(why_hang(one))


def test_looking_changes_no_advice(tmp_path: Path) -> None:
    one = pausing(tmp_path / "data", 400)
    recording = Recording(tmp_path / "data")
    with Results(tmp_path / "out", recording.about(judging())) as results:
        recording.replay(judging(), results)
        [unit] = results.read()
    assert one.seen.advice == [result.advice for result in unit.attempts[0].advice]
    assert one.seen.advice


def test_gaps_spread_as_the_lines_did(tmp_path: Path) -> None:
    one = explained(tmp_path / "data", lines(range(0, 600, 3)), 600)
    spread = one.seen.phases["train"]
    assert spread.count == 199
    assert spread.quantile(0.5) == pytest.approx(3.0, rel=0.04)
    assert spread.longest == 3.0


def test_a_silence_that_nothing_ended_is_told(tmp_path: Path) -> None:
    one = explained(tmp_path / "data", lines(range(100)), 1000, state="CANCELLED", exit_code=None)
    last = one.seen.silences[0]
    assert (last.level, last.ended) == (Level.ACTIONABLE, False)
    assert last.seconds > 800


def test_the_end_of_a_recording_is_no_silence(tmp_path: Path) -> None:
    logged(tmp_path, "7.out", lines(range(100)))
    one = explain_log(tmp_path / "7.out", judging())
    assert max(silence.seconds for silence in one.seen.silences) < 30
    assert one.seen.advice == []


def test_a_log_without_clocks_says_why_no_silence_is_judged(tmp_path: Path) -> None:
    logged(tmp_path, "7.out", [line.split("] ", 1)[1] for line in lines(range(100))])
    one = explain_log(tmp_path / "7.out", judging())
    assert list(why_hang(one)) == ["no clock says when its lines came, so no silence is judged"]


def test_a_pace_that_is_not_calibrated_says_what_it_needs(tmp_path: Path) -> None:
    one = explained(tmp_path / "data", lines(range(300)), 301)
    [said] = why_slow(one)
    assert "needs 1000 to calibrate" in said
    assert one.seen.slowdown is None


def test_a_slow_job_says_since_when_and_by_how_much(tmp_path: Path) -> None:
    seconds = [5.0 + 0.01 * (n % 7) + (1.0 if n >= 1200 else 0.0) for n in range(1300)]
    times = [sum(seconds[:0])]
    for took in seconds:
        times.append(times[-1] + took)
    one = explained(tmp_path / "data", lines(times[1:], seconds), int(times[-1]) + 5)
    slow, usual = why_slow(one)
    assert slow.startswith("called slow: steps take 1.2")
    assert "evidence of a slowdown came to" in usual
    assert one.seen.slowdown is not None
    assert one.seen.slowdown.since.step == 1201


def test_a_job_without_times_of_steps_says_so(tmp_path: Path) -> None:
    made = [f"[{clock(at)}] nothing but words" for at in range(50)]
    assert list(why_slow(explained(tmp_path / "data", made, 51))) == [
        "its lines tell no time of a step, so its pace isn't judged"
    ]


def test_what_earlier_attempts_taught_is_told(tmp_path: Path) -> None:
    tmp_path.joinpath("data").mkdir()
    made = []
    for restart in range(2):
        begin = restart * 1000
        log = logged(tmp_path / "data", f"{restart}.out", lines(range(begin, begin + 300)))
        made.append(
            entry(
                attempt=f"lab/7@{START // SECOND + 7}.{restart}",
                files=(log,),
                start=START + begin * SECOND,
                end=START + (begin + 301) * SECOND,
                state="COMPLETED",
                exit_code=0,
            )
        )
    recorded(tmp_path / "data", *made)
    one = explain(Recording(tmp_path / "data"), "7", judging())
    assert one.attempt.endswith(".1")
    assert one.seen.relatives == 1
    assert one.seen.limits is not None
    assert one.seen.limits.basis is Basis.FAMILY
    assert "known: 1 earlier attempt of its family" in why_hang(one)


def test_the_picture_is_well_formed_whatever_a_job_is_called(tmp_path: Path) -> None:
    one = explained(
        tmp_path / "data", lines(range(60)), 61, name='<script>alert("&")</script>\x1b[31m'
    )
    root = ET.fromstring(svg(one))  # noqa: S314 - our own
    assert {element.tag.rsplit("}", 1)[1] for element in root.iter()} == {
        "svg", "title", "style", "rect", "g", "text", "line", "circle"
    }  # fmt: skip
    assert len(list(root.iter("{http://www.w3.org/2000/svg}circle"))) >= 60


def test_a_document_is_json_without_infinities(tmp_path: Path) -> None:
    one = explained(tmp_path / "data", [f"[{clock(5)}] hello"], 4000)
    text = json.dumps(to_document(one), allow_nan=False)
    assert json.loads(text)["hang"]["silences"][0]["actionable_seconds"] is None


def test_a_job_that_is_not_there_is_named_with_the_nearest() -> None:
    with pytest.raises(InputError, match="no such job in march"):
        find("77", ["lab/76@1.0"], "march")


def test_the_command_prints_text_json_and_a_picture(tmp_path: Path) -> None:
    pausing(tmp_path / "data", 400)
    picture = tmp_path / "seven.svg"
    command = ["explain", "7", "--in", str(tmp_path / "data")]
    shown = runner.invoke(app, [*command, "--plot", str(picture)])
    assert shown.exit_code == 0, shown.output
    assert JOB in shown.stdout
    assert "called a hang" in shown.stdout
    assert "actionable_gap" in shown.stdout
    assert picture.read_text().startswith("<svg")
    document = json.loads(runner.invoke(app, [*command, "--json"]).stdout)
    assert document["schema_version"] == 1
    assert document["hang"]["silences"][0]["level"] == "actionable"


def test_a_log_needs_no_data_set(tmp_path: Path) -> None:
    logged(tmp_path, "7.out", lines(range(100)))
    shown = runner.invoke(app, ["explain", str(tmp_path / "7.out")])
    assert shown.exit_code == 0, shown.output
    assert "nothing was advised" in shown.stdout
    refused = runner.invoke(app, ["explain", "7"])
    assert isinstance(refused.exception, InputError)
    assert "name the data set or lake" in str(refused.exception)


def test_time_in_which_nobody_could_look_is_no_silence(tmp_path: Path) -> None:
    """Many lines without a clock: they may have been steps, one by one."""
    times = [*range(50), *range(500, 550)]
    made = lines(times)
    made[50:50] = [f"loading shard {number} of many" for number in range(60)]
    one = explained(tmp_path / "data", made, 552)
    assert one.seen.unread == 1
    assert max(silence.seconds for silence in one.seen.silences) < 30
    assert "isn't judged" in " ".join(why_hang(one))


def test_what_a_start_rests_on_is_told(tmp_path: Path) -> None:
    one = explained(tmp_path / "data", [f"[{clock(5)}] hello"], 4000)
    said = " ".join(why_hang(one))
    assert "suspected, not called a hang" in said
    assert "before the first step a silence of any length is no hang by itself" in said
