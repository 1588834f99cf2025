from __future__ import annotations

import pytest

from alarming import make_alarm, make_attempt, make_incident
from relume.benchmarks.backtest.bench import measures_of
from relume.models.scoring.score import score
from relume.verdict import Kind


def test_recorded_corpora_show_false_alarms_and_how_long_it_ran() -> None:
    report = score([make_attempt((), make_alarm(12))])
    measures = measures_of("mlperf", report)
    assert measures["recorded_mlperf_false_alarms"] == 1
    assert measures["recorded_mlperf_job_days"] == pytest.approx(
        report.false_alarms.jobs.days, abs=1e-3
    )


def test_spliced_ones_show_latency_and_are_named_so() -> None:
    attempt = make_attempt((make_incident(10, 200),), make_alarm(12))
    measures = measures_of("spliced", score([attempt]))
    assert {name.split("_")[0] for name in measures} == {"spliced"}
    assert measures["spliced_crash_incidents"] == 1
    share = measures["spliced_recall"]
    assert isinstance(share, dict)
    assert share["low"] <= share["value"] <= share["high"]
    assert Kind.HANG.value not in " ".join(measures)
