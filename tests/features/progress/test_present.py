"""Where an attempt stands by its own words: phases with legal silences, and the step shown last."""

from __future__ import annotations

import pytest

from relume.features.progress.markers import Phase, parse_marker
from relume.features.progress.parse import parse_progress
from relume.features.progress.present import entered_phase, last_shown_step
from relume.features.progress.tracker import ProgressTracker

STEP = "iter {}: loss 3.9, time 1000.00ms"
TRAINED = [STEP.format(step) for step in range(10)]
BAR = "{:3d}%|#### | {}/200 [00:10<00:10, 1.00s/it]"


def told(*lines: str) -> ProgressTracker:
    tracker = ProgressTracker()
    for number, line in enumerate(lines):
        point, marker = parse_progress(line), parse_marker(line)
        if point is not None:
            tracker.add_point(point, line=number, file="log")
        elif marker is not None:
            tracker.add_marker(marker, line=number, file="log")
    return tracker


@pytest.mark.parametrize(
    ("lines", "phase"),
    [
        ([], None),
        (["***** Running training *****"], Phase.FIRST_STEP),
        (["***** Running training *****", *TRAINED], None),
        ([*TRAINED, "***** Running Evaluation *****"], Phase.EVALUATION),
        ([*TRAINED, "saving checkpoint at iteration 10 to /ckpt"], Phase.CHECKPOINT),
        ([*TRAINED, "saving checkpoint at iteration 10 to /ckpt", STEP.format(10)], None),
        ([*TRAINED, "[after training is done] datetime: 2026-01-02"], Phase.TEARDOWN),
        ([*TRAINED, "[default] starting workers for entrypoint: t.py"], Phase.LAUNCH),
        ([*TRAINED, "[default] starting workers for entrypoint: t.py", STEP.format(10)], None),
        ([BAR.format(99, 199)], None),
        ([BAR.format(99, 199), BAR.format(100, 200)], Phase.TEARDOWN),
    ],
)
def test_the_phase_is_what_the_job_last_said(lines: list[str], phase: Phase | None) -> None:
    assert entered_phase(told(*lines)) is phase


def test_the_step_is_that_of_the_printer_that_came_last() -> None:
    assert last_shown_step(told()) is None
    assert last_shown_step(told(*TRAINED)) == 9
    assert last_shown_step(told(*TRAINED, BAR.format(50, 100))) == 100
