"""`relume lake import` of metrics in files; a real Prometheus is asked in tests/e2e."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from typer.testing import CliRunner, Result

from relume.cli import app
from relume.errors import ConfigError, InputError
from relume.events import Sample
from relume.ingest.lake import LakeReader

SCRAPE = """\
# HELP node_load1 1m load average.
# TYPE node_load1 gauge
node_load1 12.5
# TYPE node_cpu_seconds_total counter
node_cpu_seconds_total{cpu="0",mode="user"} 10
node_cpu_seconds_total{cpu="0",mode="idle"} 1000
node_cpu_seconds_total{cpu="1",mode="user"} 20
# TYPE go_threads gauge
go_threads 9
node_time_seconds 1.75e+09
node_uname_info{nodename="gpu-a01",sysname="Linux"} 1
node_load1{ 1
"""
ANSWER = {
    "status": "success",
    "data": {
        "resultType": "matrix",
        "result": [
            {
                "metric": {"__name__": "DCGM_FI_DEV_SM_CLOCK", "Hostname": "n1", "gpu": "0"},
                "values": [[1_750_000_000, "1980"], [1_750_000_015, "1410"]],
            }
        ],
    },
}


def run(*arguments: str | Path) -> Result:
    return CliRunner().invoke(app, ["lake", "import", *map(str, arguments)])


def samples(lake: Path) -> list[tuple[str, str | None, float, int | None]]:
    found = [event for event in LakeReader(lake).landings() if isinstance(event, Sample)]
    return [(one.metric, one.node, one.value, one.event_time) for one in found]


def test_scrapes_and_answers_land_as_samples(tmp_path: Path) -> None:
    folder, lake = tmp_path / "in", tmp_path / "lake"
    folder.mkdir()
    (folder / "gpu-a01.prom").write_text(SCRAPE)
    (folder / "answer.json").write_text(json.dumps(ANSWER))
    (folder / "job.out").write_text("step 1\n# TYPE of model: llama\nstep 2\n")
    result = run(folder, "--lake", lake, "--json")
    assert result.exit_code == 0, result.output
    report = json.loads(result.stdout)
    assert (report["events"], report["lines"]) == (4, 3)
    # `node_uname_info` and `node_time_seconds` say of which node and when; they are no metrics.
    assert report["skipped"] == {"metric_line": 1, "metric_unknown": 4}
    at = 1_750_000_000_000_000
    assert sorted(samples(lake)) == [
        ("gpu_sm_clock_hertz", "n1", 1.41e9, at + 15_000_000),
        ("gpu_sm_clock_hertz", "n1", 1.98e9, at),
        ("node_cpu_seconds_total", "gpu-a01", 30.0, at),
        ("node_load_count", "gpu-a01", 12.5, at),
    ]
    assert "3 there already" in run(folder, "--lake", lake).stdout


def test_a_site_has_names_of_its_own(tmp_path: Path) -> None:
    names, config = tmp_path / "names.toml", tmp_path / "relume.toml"
    names.write_text('[[metric]]\nfrom = ["go_threads"]\nto = "node_threads_count"\n')
    config.write_text('[metrics]\nnames = ["names.toml"]\n')
    (tmp_path / "x.prom").write_text(SCRAPE)
    result = run(tmp_path / "x.prom", "--lake", tmp_path / "lake", "--config", config)
    assert result.exit_code == 0, result.output
    assert ("node_threads_count", "gpu-a01", 9.0, 1_750_000_000_000_000) in samples(
        tmp_path / "lake"
    )
    names.unlink()
    error = run(tmp_path / "x.prom", "--lake", tmp_path / "lake", "--config", config).exception
    assert isinstance(error, ConfigError)
    assert "names.toml" in str(error)


def test_an_answer_that_says_error_is_refused_and_hides_no_other_file(tmp_path: Path) -> None:
    bad, good = tmp_path / "bad.json", tmp_path / "good.json"
    bad.write_text('{"status":"error","data":{"resultType":"matrix","result":[]},"error":"boom"}')
    good.write_text(json.dumps(ANSWER))
    result = run(bad, good, "--lake", tmp_path / "lake")
    assert result.exit_code == 2
    assert "status error: boom" in result.stderr
    assert len(samples(tmp_path / "lake")) == 2


@pytest.mark.parametrize(
    ("options", "words"),
    [
        ((), "no source"),
        (("--query", "up"), "--prometheus"),
        (("--prometheus", "http://127.0.0.1:9"), "--starttime"),
        (("--prometheus", "http://127.0.0.1:9", "-S", "now-1h", "--step", "0s"), "from 1 on"),
        (("--prometheus", "http://127.0.0.1:9", "-S", "now-1h", "-E", "now-2h"), "some time"),
        (("--prometheus", "host:9", "-S", "now-1h"), "a URL"),
        (("--prometheus", "http://127.0.0.1:9", "-S", "now-1h", "--query", "power=x"), "its unit"),
    ],
)
def test_what_cannot_be_asked_for_is_refused_before_anything_is_written(
    tmp_path: Path, options: tuple[str, ...], words: str
) -> None:
    error = run("--lake", tmp_path / "lake", *options).exception
    assert isinstance(error, InputError | ConfigError)
    assert words in str(error)
    assert not (tmp_path / "lake").exists()
