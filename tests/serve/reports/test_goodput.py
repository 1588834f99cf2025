from __future__ import annotations

from rich.console import Console

from relume.features.goodput.buckets import Bucket, spans_of
from relume.serve.backtest.goodput import goodput_of
from relume.serve.backtest.hindsight import hindsight_of
from relume.serve.backtest.lives import lives_of
from relume.serve.backtest.results import AttemptResult, UnitResult
from relume.serve.backtest.worth import Worth
from relume.serve.reports.goodput import render, sentences, to_document

HOUR = 3_600_000_000


def worth(*results: AttemptResult) -> Worth:
    lives = lives_of([UnitResult("unit", list(results))])
    spans = spans_of(*lives.frames())
    goodput = goodput_of(lives, spans=spans)
    return Worth(lives, goodput, hindsight_of(lives, goodput, spans))


def result(state: str, gpus: int | None = 8) -> AttemptResult:
    return AttemptResult(
        attempt="lab/7@0.0",
        title="",
        run="opus\x1b[2J",
        start=0,
        end=10 * HOUR,
        nodes=1,
        state=state,
        advice=[],
        verdict=None,
        first_step=None,
        last_step=None,
        logs=0,
        missing=[],
        skipped={},
        gpus=gpus,
    )


def printed(found: Worth) -> str:
    console = Console(width=200, file=None, record=True, quiet=True)
    document = to_document(found)
    with console.capture():
        for table in render(document):
            console.print(table)
    return "\n".join((console.export_text(), *sentences(document)))


def test_an_attempt_without_steps_is_split_by_the_published_rule_and_says_so() -> None:
    found = worth(result("FAILED"))
    document = to_document(found)
    assert document["shares"]["productive"] == 0.95
    assert document["shares"]["recompute"] == 0.05
    assert set(document["shares"]) == {bucket.value for bucket in Bucket}
    assert document["estimated_gpu_hours"] == 80
    assert document["counterfactual"]["without_onset"] == 1
    assert any("half a checkpoint interval" in words for words in sentences(document))


def test_names_of_runs_reach_no_terminal_as_they_are() -> None:
    text = printed(worth(result("COMPLETED")))
    assert "\x1b[2J" not in text


def test_without_a_gpu_nothing_is_said() -> None:
    document = to_document(worth(result("COMPLETED", gpus=0)))
    assert list(render(document)) == []
    assert list(sentences(document)) == [
        "no attempt of which the time is known: nothing can be said of goodput",
        "1 attempt left out: it had no GPU",
    ]
