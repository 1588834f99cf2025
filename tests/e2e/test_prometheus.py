"""A real Prometheus with a history: what is read of it, in which pieces, once."""

from __future__ import annotations

import math
from collections import Counter, defaultdict
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest
from typer.testing import CliRunner, Result

from prometheus_lab import prometheus
from relume.cli import app
from relume.errors import InputError
from relume.events import Sample
from relume.features.metrics.counters import rates
from relume.features.metrics.names import load_names
from relume.features.metrics.queries import queries_of
from relume.ingest.lake import LakeReader
from relume.ingest.metrics.prometheus import MAX_STEPS, SECOND, Prometheus, RangeQuery
from relume.ingest.metrics.raw import RawSeries
from relume.ingest.skips import SkipCounts

pytestmark = pytest.mark.needs_server("prometheus")

START = 1_750_032_000  # midnight, UTC
STEP = 15
STEPS = 240
GAP = range(100, 160)
"""Steps at which the series with a gap has no value."""
RESET = 120
"""Step at which the counter starts anew."""
MANY = 400
POWER = "DCGM_FI_DEV_POWER_USAGE"
SENT = 'node_infiniband_port_data_transmitted_bytes_total{instance="gpu-a01:9100",device="mlx5_0",port="1"}'


def history() -> dict[str, list[tuple[int, float]]]:
    at = [START + STEP * step for step in range(STEPS)]
    series = {
        f'{POWER}{{Hostname="gpu-a01",gpu="{gpu}",UUID="GPU-{gpu}"}}': [
            (time, 400.0 + gpu) for step, time in enumerate(at) if gpu != 3 or step < GAP.start
        ]
        for gpu in range(4)
    }
    series["DCGM_FI_DEV_GPU_TEMP"] = []
    series['DCGM_FI_DEV_SM_CLOCK{Hostname="gpu-a01",gpu="0"}'] = [
        (time, 1980.0) for step, time in enumerate(at) if step not in GAP
    ]
    series[SENT] = [
        (time, 1e9 * (step if step < RESET else step - RESET)) for step, time in enumerate(at)
    ]
    for cpu in range(8):
        for mode in ("user", "system", "idle"):
            name = f'node_cpu_seconds_total{{instance="gpu-a01:9100",cpu="{cpu}",mode="{mode}"}}'
            series[name] = [(time, 10.0 * step) for step, time in enumerate(at)]
    for number in range(MANY):
        series[f'many{{instance="n{number}:9100"}}'] = [(time, float(number)) for time in at]
    series["odd"] = [(at[0], math.inf), (at[1], math.nan), (at[2], -0.0)]
    return {name: points for name, points in series.items() if points}


@pytest.fixture(scope="module")
def url(
    require_server: Callable[[str], None], tmp_path_factory: pytest.TempPathFactory
) -> Iterator[str]:
    require_server("prometheus")
    with prometheus(tmp_path_factory.mktemp("prometheus"), history()) as address:
        yield address


def asked(promql: str, steps: int = STEPS, step_seconds: int = STEP) -> RangeQuery:
    end = START + step_seconds * (steps - 1)
    return RangeQuery(promql, START * SECOND, end * SECOND, step_seconds)


def joined(pieces: list[list[RawSeries]]) -> dict[str, list[tuple[int, float]]]:
    found: dict[str, list[tuple[int, float]]] = defaultdict(list)
    for piece in pieces:
        for series in piece:
            labels = ",".join(f"{key}={value}" for key, value in sorted(series.labels.items()))
            found[labels] += zip([time or 0 for time in series.times], series.values, strict=True)
    return found


def read(url: str, query: RangeQuery, **options: int) -> list[list[RawSeries]]:
    with Prometheus(url, **options) as server:  # type: ignore[arg-type] # numbers, by name
        return list(server.pieces(query, SkipCounts()))


def table_query(name: str) -> str:
    return queries_of(load_names(), [name], STEP)[0].promql


def test_every_value_comes_once_and_at_its_time(url: str) -> None:
    found = joined(read(url, asked(POWER)))
    times = [(START + STEP * step) * SECOND for step in range(STEPS)]
    assert found["Hostname=gpu-a01,UUID=GPU-1,gpu=1"] == [(time, 401.0) for time in times]


@pytest.mark.parametrize("points_at_once", [1, 7, 1000, 10**9])
def test_pieces_are_as_large_as_memory_allows_and_say_the_same(
    url: str, points_at_once: int
) -> None:
    query = asked("many", 60)
    pieces = read(url, query, points_at_once=points_at_once)
    sizes = [sum(len(series.times) for series in piece) for piece in pieces]
    # Nobody knows the number of series before the first answer.
    assert max(sizes[1:], default=0) <= max(points_at_once, MANY)
    assert joined(pieces) == joined(read(url, query))


def test_no_piece_exceeds_what_the_server_answers_at_once(url: str) -> None:
    """Prometheus refuses more than 11,000 values of a series: a query of more would fail whole."""
    query = asked("vector(1)", 3 * MAX_STEPS, 1)
    pieces = read(url, query, points_at_once=10**9)
    sizes = [len(piece[0].times) for piece in pieces]
    assert max(sizes) == MAX_STEPS
    assert sum(sizes) == 3 * MAX_STEPS
    times = [time for piece in pieces for time in piece[0].times]
    assert times == [(START + second) * SECOND for second in range(3 * MAX_STEPS)]


def test_an_answer_that_is_too_large_is_asked_for_in_smaller_pieces(url: str) -> None:
    query = asked("many", 60)
    pieces = read(url, query, max_answer_bytes=100_000)
    assert joined(pieces) == joined(read(url, query))
    with pytest.raises(InputError, match="too much for one answer, at a single time"):
        read(url, query, max_answer_bytes=1_000)


def test_a_server_that_can_load_little_is_asked_for_little(tmp_path: Path) -> None:
    with prometheus(tmp_path, history(), "--query.max-samples=4000") as small:
        found = joined(read(small, asked("many", 60)))
        assert {len(points) for points in found.values()} == {60}
        with pytest.raises(InputError, match="too many samples"):
            read(small, asked("sum(count_over_time(many[30m:15s]))", 60))


def test_a_gap_stays_a_gap(url: str) -> None:
    """Prometheus itself shows a value for five minutes more; the queries of the table don't."""
    [points] = joined(read(url, asked(table_query("DCGM_FI_DEV_SM_CLOCK")))).values()
    steps = {(time // SECOND - START) // STEP for time, _ in points}
    assert set(range(STEPS)) - steps == set(GAP[1:])
    [plain] = joined(read(url, asked("DCGM_FI_DEV_SM_CLOCK"))).values()
    assert len(plain) > len(points) + 10


def test_a_counter_that_starts_anew_gives_no_negative_rate(url: str) -> None:
    [points] = joined(
        read(url, asked(table_query("node_infiniband_port_data_transmitted_bytes_total")))
    ).values()
    per_second = [value for _, value in rates(points)]
    assert len(per_second) == STEPS - 1
    assert Counter(per_second) == {1e9 / STEP: STEPS - 2, 0.0: 1}


def test_numbers_that_are_none_come_through(url: str) -> None:
    [points] = joined(read(url, asked("odd", 3))).values()
    values = [value for _, value in points]
    assert values[0] == math.inf
    assert math.isnan(values[1])
    assert values[2] == 0.0
    assert math.copysign(1, values[2]) < 0


@pytest.mark.parametrize(
    ("promql", "words"),
    [("many[", "parse error"), ("many[5m]", "invalid expression type"), ("", "no expression")],
)
def test_a_query_that_the_server_refuses_is_told_with_its_words(
    url: str, promql: str, words: str
) -> None:
    with pytest.raises(InputError, match=words):
        read(url, asked(promql))


def lake_import(*arguments: str | Path) -> Result:
    return CliRunner().invoke(app, ["lake", "import", *map(str, arguments)])


def samples_of(lake: Path) -> list[Sample]:
    return [event for event in LakeReader(lake).events() if isinstance(event, Sample)]


def test_an_import_lands_what_the_table_knows_under_its_names(url: str, tmp_path: Path) -> None:
    result = lake_import(
        *("--lake", tmp_path, "--prometheus", url, "-S", "2025-06-16", "-E", "2025-06-16T01:00:00")
    )
    assert result.exit_code == 0, result.output
    samples = samples_of(tmp_path)
    counts = Counter((one.metric, one.node, one.gpu, one.device) for one in samples)
    of_gpus = {("gpu_power_watts", "gpu-a01", gpu, None): STEPS for gpu in "012"}
    of_gpus["gpu_power_watts", "gpu-a01", "3", None] = GAP.start + 1
    of_gpus["gpu_sm_clock_hertz", "gpu-a01", "0", None] = STEPS - len(GAP) + 1
    sent = ("nic_sent_bytes_total", "gpu-a01", None, "mlx5_0/1")
    of_node = {sent: STEPS, ("node_cpu_seconds_total", "gpu-a01", None, None): STEPS}
    assert counts == of_gpus | of_node
    values = {one.metric: one.value for one in samples}
    assert values["gpu_sm_clock_hertz"] == 1.98e9
    # 8 CPUs in 2 modes that work: added up by the server.
    assert values["node_cpu_seconds_total"] == 16 * 10.0 * (STEPS - 1)


def test_what_was_imported_once_is_not_asked_for_again(url: str, tmp_path: Path) -> None:
    query = ("--query", POWER, "--lake", tmp_path, "--prometheus", url)
    for start, end in (("00:10", "00:20"), ("00:15", "00:30"), ("00:00", "00:30")):
        times = ("-S", f"2025-06-16T{start}:00", "-E", f"2025-06-16T{end}:00")
        assert lake_import(*query, *times).exit_code == 0
    counts = Counter((one.gpu, one.event_time) for one in samples_of(tmp_path))
    assert set(counts.values()) == {1}
    assert len([gpu for gpu, _ in counts if gpu == "0"]) == 30 * 60 // STEP


def test_an_expression_lands_under_the_name_it_is_given(url: str, tmp_path: Path) -> None:
    times = ("-S", "2025-06-16", "-E", "2025-06-16T00:01:00", "--step", "30s")
    query = f"gpu_power_watts=avg by (Hostname) ({POWER})"
    result = lake_import("--lake", tmp_path, "--prometheus", url, "--query", query, *times)
    assert result.exit_code == 0, result.output
    found = [(one.node, one.gpu, one.value) for one in samples_of(tmp_path)]
    assert found == [("gpu-a01", None, 401.5)] * 2


def test_a_server_that_is_gone_is_exit_code_3(tmp_path: Path) -> None:
    with prometheus(tmp_path, history()) as gone:
        pass
    config = tmp_path / "relume.toml"
    config.write_text("[metrics]\ntimeout_seconds = 1.0\n")
    result = CliRunner().invoke(
        app,
        [
            *("lake", "import", "--lake", str(tmp_path / "lake"), "--prometheus", gone),
            *("-S", "2025-06-16", "-E", "2025-06-16T01:00:00", "--config", str(config)),
        ],
    )
    assert "Connection refused" in str(result.exception)
    assert getattr(result.exception, "exit_code", None) == 3
