from __future__ import annotations

import json
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from relume.dataset import AttemptEntry, DatasetHeader, IgnoreInterval, Incident, LogFile, Origin
from relume.errors import InputError
from relume.ingest.datasets import is_dataset, read_dataset, write_dataset
from relume.ingest.datasets.forms import AttemptForm, entry_of, form_of_entry
from relume.verdict import Domain, Kind

ATTEMPT = "lab/7@1772607600.0"
SECOND = 1_000_000
HEADER = DatasetHeader(name="made up")

times = st.none() | st.integers(0, 4_000_000_000 * SECOND)
texts = st.none() | st.text(max_size=20)
names = st.lists(st.sampled_from(["gpu-a01", "gpu-a02", "n7"]), unique=True).map(
    lambda found: tuple(sorted(found))
)


@st.composite
def incidents(draw: st.DrawFn) -> Incident:
    onset, end = sorted(draw(st.tuples(*[st.integers(0, 10**15)] * 2)))
    return Incident(
        incident_id=draw(st.text(min_size=1, max_size=9)),
        attempt=ATTEMPT,
        kind=draw(st.sampled_from([Kind.CRASH, Kind.HANG, Kind.STRAGGLER, Kind.NUMERIC])),
        domain=draw(st.none() | st.sampled_from(Domain)),
        cause=draw(texts),
        culprit_nodes=draw(names),
        culprit_ranks=tuple(draw(st.lists(st.integers(0, 9999), max_size=3))),
        onset=onset,
        end=draw(st.none() | st.just(end)),
        visible=draw(times),
        label_source=draw(texts),
        watchdog=draw(st.booleans()),
    )


@st.composite
def entries(draw: st.DrawFn) -> AttemptEntry:
    start, end = sorted(draw(st.tuples(*[st.integers(0, 10**15)] * 2)))
    return AttemptEntry(
        attempt=ATTEMPT,
        name=draw(texts),
        run=draw(texts),
        nodes=draw(names),
        start=draw(st.none() | st.just(start)),
        end=end,
        state=draw(texts),
        exit_code=draw(st.none() | st.integers(0, 255)),
        files=tuple(draw(st.lists(st.just(LogFile(path="a.log", node="n7")), max_size=2))),
        incidents=draw(st.none() | st.lists(incidents(), max_size=2).map(tuple)),
        ignore=tuple(
            draw(st.lists(st.just(IgnoreInterval(start=start, end=end, reason="x")), max_size=1))
        ),
    )


@given(entries())
def test_a_line_says_everything_of_an_attempt(entry: AttemptEntry) -> None:
    assert entry_of(form_of_entry(entry)) == entry


def test_a_written_data_set_is_read_back(tmp_path: Path) -> None:
    log = LogFile(path="/var/log/kern.log", stream="kernel", node="gpu-a01")
    header = DatasetHeader(
        name='the "x" set',
        origin=Origin.SIMULATED,
        timezone="Europe/Berlin",
        description="two\nlines \x7f",
        node_logs=(log,),
    )
    entry = AttemptEntry(attempt=ATTEMPT, files=(LogFile(path="7.out"),), incidents=())
    assert not is_dataset(tmp_path)
    dataset = write_dataset(tmp_path, header, [entry])
    assert is_dataset(tmp_path)
    assert read_dataset(tmp_path).header == header
    assert dataset.node_logs == (log,)
    [read] = dataset.attempts()
    assert read.files == (LogFile(path=str(tmp_path / "7.out")),)
    assert read.incidents == ()


def test_a_data_set_is_not_written_over(tmp_path: Path) -> None:
    write_dataset(tmp_path, HEADER, [])
    with pytest.raises(InputError, match="there already"):
        write_dataset(tmp_path, HEADER, [])


def test_the_digest_is_of_content_and_not_of_places(tmp_path: Path) -> None:
    digests = []
    for name, size in (("a", 3), ("b", 3), ("c", 4)):
        folder = tmp_path / name
        folder.mkdir()
        (folder / "7.out").write_bytes(b"x" * size)
        entry = AttemptEntry(attempt=ATTEMPT, files=(LogFile(path="7.out"),))
        digests.append(write_dataset(folder, HEADER, [entry]).digest())
    assert digests[0] == digests[1] != digests[2]
    labelled = AttemptEntry(attempt=ATTEMPT, files=(LogFile(path="7.out"),), incidents=())
    (tmp_path / "d").mkdir()
    (tmp_path / "d" / "7.out").write_bytes(b"xxx")
    assert write_dataset(tmp_path / "d", HEADER, [labelled]).digest() != digests[0]


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("schema_version = 2\nname = 'x'", "schema_version 2; expected 1"),
        ("name = 'x'", "schema_version None"),
        ("schema_version = 1", "name"),
        ("schema_version = 1\nname = 'x'\norigin = 'recordd'", "did you mean 'recorded'"),
        ("schema_version = 1\nname = 'x'\ntimezone = 'Mars/Base'", "Mars/Base"),
        ("schema_version = 1\nname = 'x'\nspeed = 1", "speed"),
        ("schema_version = 1\nname = 'x'\nnode_logs = [{path='a'}]", "without a node"),
        ("= 1", "TOML"),
    ],
)
def test_a_header_that_makes_no_sense_is_refused(tmp_path: Path, text: str, words: str) -> None:
    (tmp_path / "dataset.toml").write_text(text)
    with pytest.raises(InputError) as caught:
        read_dataset(tmp_path)
    assert words in str(caught.value)


def test_a_folder_without_header_says_what_is_missing(tmp_path: Path) -> None:
    with pytest.raises(InputError, match=r"no dataset\.toml"):
        read_dataset(tmp_path)


LINE = {"attempt": ATTEMPT}


@pytest.mark.parametrize(
    ("line", "words"),
    [
        ({}, "attempt"),
        ({"attempt": "seven"}, "identity"),
        (LINE | {"speed": 3}, "speed"),
        (LINE | {"start": "yesterday"}, "yesterday"),
        (LINE | {"start": "2026-03-04T07:00:05"}, "no time zone"),
        (LINE | {"nodes": ["gpu-[1-"]}, "hostlist"),
        (LINE | {"start": "2026-03-04T07:00:05Z", "end": "2026-03-04T07:00:04Z"}, "before"),
        (LINE | {"incidents": [{"kind": "benign"}]}, "empty list"),
        (LINE | {"incidents": [{"kind": "explosion"}]}, "explosion"),
        (LINE, "again"),
    ],
)
def test_a_line_that_makes_no_sense_is_refused_by_its_number(
    tmp_path: Path, line: dict[str, object], words: str
) -> None:
    dataset = write_dataset(tmp_path, HEADER, [AttemptEntry(attempt=ATTEMPT)])
    with (tmp_path / "attempts.jsonl").open("a") as stream:
        stream.write(f"\n{json.dumps(line)}\n")
    with pytest.raises(InputError) as caught:
        list(dataset.attempts())
    assert "line 3" in str(caught.value)
    assert words in str(caught.value)


def test_text_that_is_no_json_is_refused(tmp_path: Path) -> None:
    dataset = write_dataset(tmp_path, HEADER, [])
    for text in (b"{", b"[" * 10_000, b'"\xff"', b"7"):
        (tmp_path / "attempts.jsonl").write_bytes(text)
        with pytest.raises(InputError, match="line 1"):
            list(dataset.attempts())


def test_attempts_that_are_gone_are_named(tmp_path: Path) -> None:
    dataset = write_dataset(tmp_path, HEADER, [])
    (tmp_path / "attempts.jsonl").unlink()
    with pytest.raises(InputError, match=r"attempts\.jsonl"):
        list(dataset.attempts())


def test_an_incident_of_another_attempt_is_refused() -> None:
    incident = Incident(incident_id="i", attempt="lab/8@0.0", kind=Kind.HANG)
    with pytest.raises(InputError, match="lab/8@0"):
        AttemptEntry(attempt=ATTEMPT, incidents=(incident,))


def test_incidents_get_names() -> None:
    form = AttemptForm(attempt=ATTEMPT, incidents=[])
    assert entry_of(form).incidents == ()
    assert entry_of(AttemptForm(attempt=ATTEMPT)).incidents is None
    assert entry_of(AttemptForm(attempt=ATTEMPT, name="x")).title == "x"
    assert entry_of(AttemptForm(attempt=ATTEMPT)).title == ATTEMPT


def test_a_size_is_that_of_the_named_nodes_or_what_is_told() -> None:
    assert AttemptEntry(attempt=ATTEMPT).size is None
    assert AttemptEntry(attempt=ATTEMPT, num_nodes=16).size == 16
    assert AttemptEntry(attempt=ATTEMPT, nodes=("n1", "n2")).size == 2
    for nodes, told in (((), 0), (("n1", "n2"), 1)):
        with pytest.raises(InputError, match="all that are named"):
            AttemptEntry(attempt=ATTEMPT, nodes=nodes, num_nodes=told)


@pytest.mark.parametrize("gpus", [-1, 10**30])
def test_a_count_of_gpus_that_is_none_is_refused(gpus: int) -> None:
    with pytest.raises(InputError, match="expected 0 to 10,000,000"):
        AttemptEntry(attempt=ATTEMPT, gpus=gpus)
