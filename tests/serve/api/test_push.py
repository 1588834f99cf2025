"""Pushing over HTTP: answered when it is durable, refused in words, counted."""

from __future__ import annotations

import gzip
import io
import json
import pickle
import threading
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path

import pyarrow as pa
import pyarrow.ipc
import pytest
from google.protobuf.json_format import ParseDict  # type: ignore[import-untyped]
from opentelemetry.proto.collector.logs.v1.logs_service_pb2 import (
    ExportLogsServiceRequest,
    ExportLogsServiceResponse,
)

from controlling import T0
from living import Live
from pushing import ATTEMPT, Pushing, pushing, write_request
from relume.errors import InputError
from relume.events import CollectiveDump, NodeEvent, Sample, SchedulerEvent
from relume.ingest.eventlines import encode_event
from relume.ingest.lake import LakeReader, LineBatch
from relume.schemas import to_table
from relume.serve.api import push
from relume.serve.intake.arrivals import Arrivals
from relume.serve.intake.bodies import Body

RUNS = SchedulerEvent(
    source="agent", cluster="lab", event_time=T0, attempt=ATTEMPT, state="RUNNING", nodes=("n1",)
)


@pytest.fixture
def service(tmp_path: Path) -> Iterator[Pushing]:
    live = Live(tmp_path)
    with pushing(live) as service:
        yield service
    live.ledger.close()


def landed(service: Pushing) -> list[object]:
    return list(LakeReader(service.live.path / "lake").landings())


def test_what_is_acknowledged_is_in_the_lake(service: Pushing) -> None:
    answer = service.events(RUNS)
    assert answer == {"accepted": 1, "duplicates": 0, "late": 0, "refused": 0, "reasons": []}
    assert RUNS in landed(service)
    assert service.events(RUNS)["duplicates"] == 1
    attempt = service.client.get(f"/v1/attempts/{ATTEMPT}").json()
    assert (attempt["state"], attempt["nodes"]) == ("RUNNING", ["n1"])


def test_a_line_that_is_no_event_is_refused_and_the_others_land(service: Pushing) -> None:
    good = b'{"event": "NodeEvent", "schema_version": 2, "source": "a", "node": "n1"}'
    answer = service.client.post("/v1/events", content=b"{}\n\n" + good + b"\nnonsense")
    assert answer.status_code == 200
    told = answer.json()
    assert told["refused"] + told["accepted"] == 3
    assert told["refused"] >= 2
    assert told["reasons"][0].startswith("line 1: ")


def test_without_a_token_nothing_is_taken(service: Pushing) -> None:
    answer = service.client.post("/v1/events", content=b"", headers={"Authorization": ""})
    assert answer.status_code == 401


def test_a_full_queue_asks_to_come_back(service: Pushing) -> None:
    held = service.runner.intake.admit(1 << 30)
    answer = service.client.post("/v1/events", content=b"x")
    assert answer.status_code == 429
    assert answer.headers["Retry-After"] == "1"
    assert answer.json()["type"] == "urn:relume:problem:busy"
    held.drop()
    assert service.events(RUNS)["accepted"] == 1
    text = service.client.get("/metrics").text
    assert 'relume_ingest_requests_total{result="busy"} 1.0' in text


def test_a_disk_that_fails_is_said_and_what_is_sent_again_lands(
    service: Pushing, monkeypatch: pytest.MonkeyPatch
) -> None:
    service.events(RUNS)

    def broken(*_: object) -> None:
        raise OSError("no space left")

    one = NodeEvent(source="agent", cluster="lab", node="n1", state="DOWN", event_time=T0)
    with monkeypatch.context() as patch:
        patch.setattr("relume.ingest.lake.journal.os.fsync", broken)
        answer = service.client.post("/v1/events", content=encode_event(one))
        assert answer.status_code == 503
        assert "no space left" in answer.json()["detail"]
    assert service.events(one)["accepted"] == 1
    assert landed(service).count(one) == 1


def test_one_that_cannot_land_takes_no_other_with_it(
    service: Pushing, monkeypatch: pytest.MonkeyPatch
) -> None:
    real = service.runner.intake.take
    enough = threading.Event()

    def both(limit: int = 0) -> list[object]:
        del limit
        return list(real()) if enough.is_set() else []

    plain = Arrivals.take

    def picky(self: Arrivals, bodies: list[Body], now: int) -> object:
        if any(body.sender == "bad" for body in bodies):
            raise InputError("a value that no column can hold")
        return plain(self, bodies, now)

    monkeypatch.setattr(service.runner.intake, "take", both)
    monkeypatch.setattr(Arrivals, "take", picky)
    futures = [
        service.runner.intake.admit(1).put(Body(sender=name, events=[RUNS]))
        for name in ("good", "bad")
    ]
    enough.set()
    service.runner.intake.wake()
    assert futures[0].result(timeout=60).accepted == 1
    with pytest.raises(InputError):
        futures[1].result(timeout=60)


def test_a_dump_lands_decoded(service: Pushing) -> None:
    dump = {
        "version": "2.4",
        "pg_config": {"0": {"name": "0", "desc": "default_pg", "ranks": "[0, 1]"}},
        "entries": [],
    }
    route = f"/v1/dumps?attempt={ATTEMPT}&rank=1"
    answer = service.client.post(route, content=pickle.dumps(dump))
    assert answer.status_code == 200, answer.text
    [event] = [one for one in landed(service) if isinstance(one, CollectiveDump)]
    assert (event.attempt, event.rank, event.version) == (ATTEMPT, 1, "2.4")
    assert service.client.post(route, content=json.dumps(dump)).json()["duplicates"] == 1


@pytest.mark.parametrize("rank", [-1, 1 << 20, 2**31 - 1, 2**63])
def test_a_dump_of_a_rank_that_no_job_has_is_refused(service: Pushing, rank: int) -> None:
    route = f"/v1/dumps?attempt={ATTEMPT}&rank={rank}"
    body = json.dumps({"version": "2.5", "entries": []})
    assert service.client.post(route, content=body).status_code == 422


def test_a_hostile_dump_is_refused_and_nothing_of_it_runs(service: Pushing) -> None:
    class Bad:
        def __reduce__(self) -> tuple[object, ...]:
            return print, ("it ran",)

    route = f"/v1/dumps?attempt={ATTEMPT}&rank=1"
    assert service.client.post(route, content=pickle.dumps(Bad())).status_code == 422
    assert service.client.post(route, content=b"[]").status_code == 422
    assert service.client.post("/v1/dumps?attempt=x&rank=1", content=b"{}").status_code == 422


def test_a_sender_names_itself_or_is_its_address(service: Pushing) -> None:
    service.events(**{push.SENDER_HEADER: "node 7"})
    service.events()
    sources = {getattr(one, "source", "") for one in landed(service)}
    assert {"push node_7", "push testclient"} <= sources


def test_pushes_are_counted(service: Pushing) -> None:
    service.events(RUNS)
    service.events(RUNS)
    text = service.client.get("/metrics").text
    assert "relume_ingest_queue_bytes 0.0" in text
    assert 'relume_ingest_entries_total{outcome="duplicate"} 1.0' in text
    assert 'relume_ingest_requests_total{result="durable"} 2.0' in text
    assert service.client.get("/readyz").json()["parts"]["ingest"]["status"] == "healthy"


def test_loki_pushes_json_and_protobuf(service: Pushing) -> None:
    service.events(RUNS)
    document = {
        "streams": [
            {
                "stream": {"job_id": "7", "host": "n1"},
                "values": [[str(T0 * 1000), "iter 1: loss 3.9"], [str(T0 * 1000 + 1000), "two"]],
            }
        ]
    }
    pushed = service.client.post("/loki/api/v1/push", json=document)
    assert (pushed.status_code, pushed.content) == (204, b"")
    packed = gzip.compress(json.dumps(document).encode())
    headers = {"Content-Type": "application/json; charset=utf-8", "Content-Encoding": "gzip"}
    assert service.client.post("/loki/api/v1/push", content=packed, headers=headers).is_success
    [batch] = [one for one in landed(service) if isinstance(one, LineBatch)]
    assert (batch.attempt, batch.block.data) == (ATTEMPT, b"iter 1: loss 3.9\ntwo\n")
    document["streams"][0]["stream"] = {"attempt": "seven"}
    refused = service.client.post("/loki/api/v1/push", json=document)
    assert refused.status_code == 400
    assert "2 refused" in refused.json()["detail"]


def test_a_body_that_unpacks_to_too_much_is_refused(service: Pushing) -> None:
    bomb = gzip.compress(bytes(80 << 20))
    headers = {"Content-Encoding": "gzip"}
    answer = service.client.post("/v1/events", content=bomb, headers=headers)
    assert answer.status_code == 413
    assert service.runner.intake.held_bytes == 0
    assert service.client.post("/loki/api/v1/push", content=b"\xff\xff").status_code == 422


def test_remote_write_lands_samples_under_our_names(service: Pushing) -> None:
    now = service.live.clock.now() // 1000
    labels = {"__name__": "DCGM_FI_DEV_POWER_USAGE", "Hostname": "n1", "gpu": "0"}
    service.events(RUNS)
    body = write_request(labels, 412.5, now)
    route = "/api/v1/write"
    assert service.client.post(route, content=body).status_code == 204
    assert service.client.post(route, content=body).status_code == 204
    [sample] = [one for one in landed(service) if isinstance(one, Sample)]
    assert (sample.node, sample.value, sample.cluster) == ("n1", 412.5, "lab")
    assert sample.event_time == now * 1000
    assert sample.observed_at is not None
    version = {"X-Prometheus-Remote-Write-Version": "2.0.0"}
    newer = service.client.post(route, content=body, headers=version)
    assert newer.status_code == 415
    assert "1.0" in newer.json()["detail"]
    assert service.client.post(route, content=b"nonsense").status_code == 422


def test_what_is_of_another_cluster_is_refused_whatever_brings_it(service: Pushing) -> None:
    service.events(RUNS)
    client, other = service.client, ATTEMPT.replace("lab/", "other/")
    words = "of cluster 'other'; expected 'lab', which this service watches"
    for labels in ({"cluster": "other"}, {"attempt": other}):
        streams = [{"stream": labels, "values": [[str(T0 * 1000), "iter 1: loss 3.9"]]}]
        refused = client.post("/loki/api/v1/push", json={"streams": streams})
        assert (refused.status_code, words in refused.json()["detail"]) == (400, True)
        [(key, text)] = labels.items()
        attributes = [{"key": key, "value": {"stringValue": text}}]
        logs = {"scopeLogs": [{"logRecords": [{"body": {"stringValue": "x"}}]}]}
        resource = {"resource": {"attributes": attributes}} | logs
        partial = client.post("/v1/logs", json={"resourceLogs": [resource]}).json()
        assert words in partial["partialSuccess"]["errorMessage"]
    told = service.events(replace(RUNS, attempt=other))
    assert (told["refused"], words in told["reasons"][0]) == (1, True)
    series = {"__name__": "DCGM_FI_DEV_POWER_USAGE", "Hostname": "n1", "cluster": "other"}
    body = write_request(series, 1.0, service.live.clock.now() // 1000)
    written = client.post("/api/v1/write", content=body)
    assert (written.status_code, words in written.json()["detail"]) == (400, True)
    assert not [one for one in landed(service) if isinstance(one, (LineBatch, Sample))]


def test_logs_of_opentelemetry_tell_what_was_refused(service: Pushing) -> None:
    service.events(RUNS)

    def record(name: str, text: str) -> dict[str, object]:
        return {
            "timeUnixNano": str(T0 * 1000),
            "body": {"stringValue": text},
            "attributes": [{"key": name, "value": {"stringValue": "7"}}],
        }

    records = [record("slurm.job.id", "iter 1: loss 3.9"), record("attempt", "x")]
    document = {"resourceLogs": [{"scopeLogs": [{"logRecords": records}]}]}
    answer = service.client.post("/v1/logs", json=document).json()
    assert answer["partialSuccess"]["rejectedLogRecords"] == "1"
    [batch] = [one for one in landed(service) if isinstance(one, LineBatch)]
    assert (batch.attempt, batch.block.data) == (ATTEMPT, b"iter 1: loss 3.9\n")
    request = ParseDict(document, ExportLogsServiceRequest())
    headers = {"Content-Type": "application/x-protobuf"}
    answered = service.client.post("/v1/logs", content=request.SerializeToString(), headers=headers)
    told = ExportLogsServiceResponse.FromString(answered.content)
    assert told.partial_success.rejected_log_records == 1


def test_events_come_as_arrow_too(service: Pushing) -> None:
    table = to_table([RUNS])
    sink = io.BytesIO()
    with pa.ipc.new_stream(sink, table.schema) as stream:
        stream.write_table(table)
    headers = {"Content-Type": push.ARROW}
    answer = service.client.post("/v1/events", content=sink.getvalue(), headers=headers)
    assert answer.json()["accepted"] == 1
    assert RUNS in landed(service)
    broken = service.client.post("/v1/events", content=b"no stream", headers=headers)
    assert broken.status_code == 422
    samples = to_table(
        [
            Sample(source="a", metric="gpu_power_watts", value=float(n), event_time=n)
            for n in range(20)
        ]
    )
    sink = io.BytesIO()
    with pa.ipc.new_stream(sink, samples.schema) as stream:
        stream.write_table(samples)
    answer = service.client.post("/v1/events", content=sink.getvalue(), headers=headers)
    assert answer.json()["accepted"] == 20
