"""Delays and false alarms are measured with the settings that a service has by default."""

from __future__ import annotations

from dataclasses import replace

from relume.benchmarks.false_alarms.settings import settings_hash
from relume.benchmarks.straggler import bench as straggler
from relume.serve.live.options import RunnerOptions
from relume.serve.live.watch import WatchSettings
from relume.settings import Settings


def test_benches_judge_with_what_is_shipped() -> None:
    shipped = RunnerOptions.of(Settings()).watch
    assert settings_hash(shipped) == settings_hash(WatchSettings())
    assert shipped.straggler == straggler.SETTINGS


def test_another_threshold_of_either_detector_is_another_hash() -> None:
    plain = WatchSettings()
    hashes = {
        settings_hash(plain),
        settings_hash(WatchSettings(hang=replace(plain.hang, actionable_seconds=60.0))),
        settings_hash(WatchSettings(straggler=replace(plain.straggler, effect=0.1))),
    }
    assert len(hashes) == 3
