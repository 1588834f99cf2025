from __future__ import annotations

import math

import pytest
from hypothesis import given
from hypothesis import strategies as st

from relume.events import Sample
from relume.features.metrics import job as module
from relume.features.metrics.job import MAX_POINTS, JobMetrics
from relume.features.metrics.points import Answer, Series
from relume.features.metrics.stall import METRICS, StallSettings, stalled_signal
from relume.verdict import Health

SECOND = 1_000_000
SCRAPE = 15
UNITS = {
    "util": ("gpu_utilisation_ratio", True),
    "power": ("gpu_power_watts", True),
    "limit": ("gpu_power_limit_watts", True),
    "tensor": ("gpu_tensor_active_ratio", True),
    "nic": ("nic_sent_bytes_total", False),
    "net": ("net_sent_bytes_total", False),
    "cpu": ("node_cpu_seconds_total", False),
    "disk": ("node_disk_written_bytes_total", False),
}


def series(what: str, node: str = "n1", gpu: str = "0") -> Series:
    metric, of_gpu = UNITS[what]
    return Series(metric, node, gpu if of_gpu else None, None if of_gpu else "d")


def asked(now: dict[str, float], usual: dict[str, float], *, points: int = 3) -> Answer:
    """What one GPU and its node say, with every value the same since the last progress."""
    window = {
        series(what): [(SCRAPE * SECOND * number, value) for number in range(1, points + 1)]
        for what, value in now.items()
    }
    known = {series(what): value for what, value in usual.items()}
    end = SCRAPE * SECOND * points + SECOND
    return stalled_signal(window, known, since=0, now=end)


TRAINS = {"util": 1.0, "power": 600.0, "nic": 2e10, "cpu": 40.0}
WAITS = {"util": 1.0, "power": 130.0, "nic": 0.0, "cpu": 35.0}


@pytest.mark.parametrize(
    ("now", "usual", "health"),
    [
        (WAITS, TRAINS, Health.UNHEALTHY),  # the kernel that waits spins, and so does the CPU
        (TRAINS, TRAINS, Health.HEALTHY),
        ({"util": 0.0, "power": 75.0}, TRAINS, Health.UNHEALTHY),  # idle
        ({"util": 1.0, "power": 420.0}, TRAINS, Health.UNKNOWN),  # neither
        ({"util": 1.0}, {"util": 1.0}, Health.UNKNOWN),  # full utilisation alone says nothing
        ({"util": 0.0}, {}, Health.UNHEALTHY),
        ({"util": 1.0, "power": 130.0}, {}, Health.UNKNOWN),  # what is little for this GPU?
        ({"util": 1.0, "power": 130.0, "limit": 700.0}, {}, Health.UNHEALTHY),
        ({"util": 1.0, "power": 300.0, "limit": 700.0}, {}, Health.UNKNOWN),
        ({"tensor": 0.0}, {"tensor": 0.4}, Health.UNHEALTHY),
        ({"tensor": 0.35}, {"tensor": 0.4}, Health.HEALTHY),
        ({**WAITS, "nic": 1.5e10}, TRAINS, Health.UNKNOWN),  # a checkpoint goes over the network
        ({**WAITS, "nic": 1e9}, TRAINS, Health.UNKNOWN),  # a little of it, but not nothing
        ({**WAITS, "net": 1e9}, TRAINS, Health.UNKNOWN),  # or over another one
        ({**WAITS, "net": 1e9}, {**TRAINS, "net": 9e8}, Health.UNHEALTHY),  # which is always busy
        ({**WAITS, "disk": 5e8}, TRAINS, Health.UNKNOWN),  # or to a disk of the node
        ({**WAITS, "disk": 1e5}, TRAINS, Health.UNHEALTHY),  # where logs go
        ({"nic": 0.0, "cpu": 0.1, "disk": 5e8}, TRAINS, Health.UNKNOWN),
        ({"nic": 0.0, "cpu": 0.1}, TRAINS, Health.UNHEALTHY),
        ({"nic": 0.0, "cpu": 30.0}, TRAINS, Health.UNKNOWN),
        ({"nic": 0.0}, TRAINS, Health.UNKNOWN),
        ({"nic": 1.9e10}, TRAINS, Health.HEALTHY),
        ({"net": 0.0, "cpu": 0.0}, {"net": 500.0, "cpu": 30.0}, Health.UNKNOWN),  # one node: no traffic
        ({"cpu": 0.0}, TRAINS, Health.UNKNOWN),
        ({"power": math.nan}, TRAINS, Health.UNKNOWN),
        ({}, TRAINS, Health.UNKNOWN),
    ],
)  # fmt: skip
def test_what_a_node_says(now: dict[str, float], usual: dict[str, float], health: Health) -> None:
    answer = asked(now, usual)
    assert answer.health is health, answer.reason
    assert answer.reason


def test_rdma_goes_before_interfaces_that_everything_uses() -> None:
    usual = {**TRAINS, "net": 1e6}
    answer = asked({"nic": 0.0, "net": 1e6, "cpu": 0.0}, usual)
    assert answer.health is Health.UNHEALTHY


def test_one_value_is_too_few_and_the_reason_says_so() -> None:
    answer = asked(WAITS, TRAINS, points=1)
    assert (answer.health, answer.signals) == (Health.UNKNOWN, {})
    assert "no series has 2 values" in answer.reason


def test_old_values_are_no_answer() -> None:
    window = {series("power"): [(SECOND, 100.0), (16 * SECOND, 100.0)]}
    usual = {series("power"): 600.0}
    for at, health in ((100, Health.UNHEALTHY), (200, Health.UNKNOWN)):
        answer = stalled_signal(window, usual, since=0, now=at * SECOND)
        assert answer.health is health
    assert answer.reason == "the newest metric is 184 s old"


def test_the_first_rate_of_a_counter_is_not_one_of_the_silence() -> None:
    """It spans the last step; of two values the other one alone tells."""
    levels = {"power": (130.0, 130.0), "nic": (2e10, 0.0), "cpu": (40.0, 35.0)}
    window = {
        series(what): [(SCRAPE * SECOND, first), (2 * SCRAPE * SECOND, second)]
        for what, (first, second) in levels.items()
    }
    usual = {series(what): value for what, value in TRAINS.items()}
    answer = stalled_signal(window, usual, since=0, now=31 * SECOND)
    assert answer.health is Health.UNHEALTHY
    assert "traffic is at 0.0 %" in answer.reason


def test_the_first_value_may_still_be_of_the_last_step() -> None:
    window = {series("power"): [(1, 600.0), (16 * SECOND, 90.0), (31 * SECOND, 90.0)]}
    answer = stalled_signal(window, {series("power"): 600.0}, since=0, now=40 * SECOND)
    assert answer.health is Health.UNHEALTHY
    assert (answer.since, answer.until) == (16 * SECOND, 31 * SECOND)


@pytest.mark.parametrize(
    ("still", "moving", "silent", "health"),
    [
        (7, 1, 0, Health.UNHEALTHY),  # the culprit may compute on
        (8, 0, 0, Health.UNHEALTHY),
        (5, 3, 0, Health.UNKNOWN),
        (3, 5, 0, Health.HEALTHY),
        (3, 0, 5, Health.UNKNOWN),  # most say nothing
        (0, 0, 8, Health.UNKNOWN),
    ],
)
def test_the_gpus_of_a_job_answer_together(
    still: int, moving: int, silent: int, health: Health
) -> None:
    levels = [100.0] * still + [600.0] * moving + [400.0] * silent
    names = [series("power", f"n{gpu // 4}", str(gpu % 4)) for gpu in range(len(levels))]
    window = {
        name: [(10 * SECOND, level), (20 * SECOND, level)]
        for name, level in zip(names, levels, strict=True)
    }
    usual = dict.fromkeys(names, 600.0)
    assert stalled_signal(window, usual, since=0, now=25 * SECOND).health is health


def sample(what: str, at: int, value: float, node: str = "n1", gpu: str = "0") -> Sample:
    metric, _, number, device = series(what, node, gpu)
    return Sample(source="x", metric=metric, value=value, node=node, gpu=number, device=device,
                  event_time=at * SECOND)  # fmt: skip


def trained(job: JobMetrics, until: int, step: int = 5) -> None:
    """Let a job train: full power, a step every few seconds, 3 GB a scrape."""
    for at in range(0, until, step):
        if at % SCRAPE == 0:
            job.take(sample("power", at, 600.0))
            job.take(sample("nic", at, 3e9 * at))
        job.progressed(at * SECOND)


def test_a_job_learns_what_is_usual_while_it_advances() -> None:
    job = JobMetrics()
    trained(job, 300)
    assert job.usual() == {series("power"): 600.0, series("nic"): pytest.approx(3e9)}
    assert job.stalled(299 * SECOND).health is Health.UNKNOWN  # nothing since the last step
    for at in range(300, 360, SCRAPE):
        job.take(sample("power", at, 120.0))
        job.take(sample("nic", at, 3e9 * 300))
    answer = job.stalled(360 * SECOND)
    assert answer.health is Health.UNHEALTHY
    assert answer.signals == {"gpu": Health.UNHEALTHY, "nic": Health.UNHEALTHY}
    job.progressed(361 * SECOND)
    assert job.stalled(362 * SECOND).health is Health.UNKNOWN


def test_samples_in_any_order_between_two_steps_give_the_same() -> None:
    answers = []
    for order in (1, -1):
        job = JobMetrics()
        trained(job, 60)
        for at in (75, 90, 105)[::order]:
            job.take(sample("power", at, 100.0 + at))
        answers.append((job.window(), job.stalled(110 * SECOND)))
    assert answers[0] == answers[1]


def test_what_is_no_measurement_is_ignored() -> None:
    job = JobMetrics()
    job.take(sample("power", 1, math.nan))
    job.take(Sample(source="x", metric="gpu_power_watts", value=1.0))
    job.take(Sample(source="x", metric="node_load_count", value=1.0, event_time=1))
    assert job.window() == {}


def test_memory_is_bounded(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(module, "MAX_SERIES", 3)
    job = JobMetrics()
    for at in range(100):
        for gpu in range(5):
            job.take(sample("power", at, 1.0, gpu=str(gpu)))
    window = job.window()
    assert len(window) == 3
    assert {len(points) for points in window.values()} == {MAX_POINTS}
    assert job.left_out == 200


VALUES = st.floats(allow_nan=True, allow_infinity=True) | st.sampled_from([0.0, 1.0, 600.0])
SERIES = st.builds(
    Series, st.sampled_from(sorted(METRICS)), st.sampled_from(["n1", None]),
    st.sampled_from(["0", "1", None]), st.sampled_from(["d", None]),
)  # fmt: skip
WINDOWS = st.dictionaries(
    SERIES, st.lists(st.tuples(st.integers(0, 200 * SECOND), VALUES), max_size=4).map(sorted)
)


@given(WINDOWS, st.dictionaries(SERIES, VALUES), st.integers(0, 200 * SECOND))
def test_any_numbers_get_an_answer_with_a_reason(
    window: dict[Series, list[tuple[int, float]]], usual: dict[Series, float], now: int
) -> None:
    answer = stalled_signal(window, usual, since=0, now=now)
    assert answer.reason
    assert stalled_signal({}, usual, since=0, now=now).health is Health.UNKNOWN


def test_settings_say_what_counts() -> None:
    window = {series("power"): [(10 * SECOND, 400.0), (20 * SECOND, 400.0)]}
    lenient = StallSettings(idle_power=0.7)
    usual = {series("power"): 600.0}
    answer = stalled_signal(window, usual, since=0, now=25 * SECOND, settings=lenient)
    assert answer.health is Health.UNHEALTHY
