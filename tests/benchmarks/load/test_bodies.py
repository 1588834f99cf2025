"""What the generator of bench `load` sends is what agents send: read by the decoders of the service."""

from __future__ import annotations

import cramjam
import numpy as np

from relume.benchmarks.load.crashes import quantile
from relume.benchmarks.load.lines import NODES_PER_JOB, JobLines
from relume.benchmarks.load.samples import SERIES_PER_NODE, FleetSamples
from relume.benchmarks.load.sending import Target, line_bodies
from relume.features.metrics.names import load_names
from relume.ingest.push.loki import loki_protobuf
from relume.ingest.push.remotewrite import RemoteWrite
from relume.ingest.skips import SkipCounts

NOW_MS = 1_796_000_015_000


def test_each_series_of_a_node_is_one_that_relume_knows() -> None:
    fleet = FleetSamples(3, nodes_per_body=2)
    receiver, skipped = RemoteWrite(load_names()), SkipCounts()
    found = []
    for number in range(fleet.bodies):
        body, count = fleet.body(number, NOW_MS)
        [batch] = receiver.decode(bytes(cramjam.snappy.decompress_raw(body)), skipped)
        assert len(batch) == count
        found += list(batch.samples())
    assert (fleet.bodies, len(found), receiver.known) == (2, 3 * SERIES_PER_NODE, len(found))
    assert {sample.node for sample in found} == {f"gpu{number:05d}" for number in range(3)}
    assert {sample.event_time for sample in found} == {NOW_MS * 1000}
    assert {sample.gpu for sample in found} == {*map(str, range(8)), None}
    assert len({(one.metric, one.node, one.gpu, one.device) for one in found}) == len(found)


def test_values_move_from_scrape_to_scrape() -> None:
    fleet, receiver = FleetSamples(1), RemoteWrite(load_names())
    bodies = [fleet.body(0, NOW_MS + 15_000 * number)[0] for number in range(2)]
    first, second = (
        {(one.metric, one.gpu, one.device): one.value for one in batch.samples()}
        for [batch] in (
            receiver.decode(bytes(cramjam.snappy.decompress_raw(body)), SkipCounts())
            for body in bodies
        )
    )
    name = ("gpu_energy_joules_total", "0", None)
    assert second[name] > first[name]
    assert second["gpu_power_watts", "0", None] != first["gpu_power_watts", "0", None]
    assert second["gpu_power_limit_watts", "0", None] == 700.0


def test_a_job_prints_lines_of_its_own_each_second() -> None:
    made = JobLines().body(np.array([100_003, 100_017]), np.array([3, 17]), 1_796_000_000)
    streams = loki_protobuf(bytes(cramjam.snappy.decompress_raw(made.body)))
    assert [stream.labels["job_id"] for stream in streams] == ["100003", "100017"]
    assert [stream.labels["node"] for stream in streams] == [
        f"gpu{slot * NODES_PER_JOB:05d}" for slot in (3, 17)
    ]
    texts = [text for stream in streams for text in stream.texts()]
    assert (len(texts), sum(map(len, texts))) == (made.rows, made.text_bytes)
    assert sum("iteration" in text for text in texts) == 2
    assert streams[0].texts() != streams[1].texts()
    assert not any(mark in text for text in texts for mark in "#@%~^")
    assert {time // 10**9 for time in streams[0].times.tolist()} == {1_796_000_000}
    assert (np.diff(streams[0].times) > 0).all()


def test_bodies_that_are_made_late_have_seconds_of_their_own() -> None:
    target = Target("http://127.0.0.1:9", "/loki/api/v1/push", "none", 3.0)
    bodies = [one.make().body for one in line_bodies(target, jobs=[100_003])]  # all at one moment
    streams = [loki_protobuf(bytes(cramjam.snappy.decompress_raw(body)))[0] for body in bodies]
    first, *others = ({time // 10**9 for time in one.times.tolist()} for one in streams)
    assert others == [{max(first) + 1}, {max(first) + 2}]


def test_a_quantile_is_a_value_that_was_measured() -> None:
    assert [quantile([3.0, 1.0, 2.0], share) for share in (0.0, 0.5, 0.99)] == [1.0, 2.0, 3.0]
