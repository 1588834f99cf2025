"""Killed anywhere, an import goes on where the lake ends: the lake is the same in the end."""

from __future__ import annotations

import gzip
import itertools
from collections.abc import Iterator
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from importing import landed, log_text, make_dataset, make_entry
from relume.dataset import LogFile
from relume.events import Sample
from relume.ingest.importing import EventsPart, LogPart, Unit, import_units, logs, units_of
from relume.ingest.importing.logs import Place, read_batches
from relume.ingest.lake import LakeReader, LakeWriter
from relume.ingest.skips import SkipCounts

SMALL = 32 << 10
"""Bytes of a batch and of a commit, so that small logs have several."""


class Killed(BaseException):
    """Stands for SIGKILL."""


def bring_until(lake: Path, units: list[Unit], calls: int) -> bool:
    """Import, killed at the `calls`-th step; whether it came to its end before."""
    left = itertools.count(calls, -1)

    def advance(_: int) -> None:
        if next(left) == 0:
            raise Killed

    writer = LakeWriter(lake)
    try:
        import_units(writer, units, commit_bytes=SMALL, advance=advance)
    except Killed:
        return False
    finally:
        writer.close()  # as the kernel does: nothing is written
    return True


@pytest.fixture(autouse=True, scope="module")
def small_batches() -> Iterator[None]:
    with pytest.MonkeyPatch.context() as patched:
        patched.setattr(logs, "BATCH_BYTES", SMALL)
        yield


@pytest.fixture
def recording(tmp_path: Path) -> Path:
    """Return a data set with redraws, colours, a hole, a long line and compressed files."""
    folder = tmp_path / "set"
    folder.mkdir()
    (folder / "a.out").write_bytes(log_text(1, 1_500))
    (folder / "a.err.gz").write_bytes(gzip.compress(log_text(2, 800)))
    hole = log_text(3, 400) + b"\0" * 10_000 + log_text(4, 400)
    (folder / "b.out").write_bytes(hole + b"y" * 80_000 + b"\n" + log_text(5, 100) + b"end")
    (folder / "kern.log").write_bytes(b"[    1.000000] Xid\n" * 10)
    attempts = [make_entry(7, "a.out", "a.err.gz"), make_entry(8, "b.out"), make_entry(9)]
    make_dataset(folder, attempts, LogFile(path="kern.log", node="gpu-a01"))
    return folder


def test_killed_at_every_step_it_is_as_if_never_killed(recording: Path, tmp_path: Path) -> None:
    units = list(units_of([recording]))
    assert bring_until(tmp_path / "whole", units, 10_000)
    expected = landed(tmp_path / "whole")
    for calls in itertools.count(1):
        lake = tmp_path / str(calls)
        if bring_until(lake, units, calls):
            break
        assert landed(lake) == expected[: len(landed(lake))]
        # Killed once more, soon after it went on.
        bring_until(lake, units, 2)
        assert bring_until(lake, units, 10_000)
        assert landed(lake) == expected
    assert calls > 12


def test_segments_are_the_same_too(recording: Path, tmp_path: Path) -> None:
    units = list(units_of([recording]))
    for name, kills in (("whole", []), ("killed", [4, 3, 5])):
        for calls in (*kills, 10_000):
            bring_until(tmp_path / name, units, calls)
    whole, killed = (
        [
            (s.path, s.rows, s.crc32)
            for c in LakeReader(tmp_path / name).commits()
            for s in c.segments
        ]
        for name in ("whole", "killed")
    )
    assert [rest for _, *rest in whole] == [rest for _, *rest in killed]


def test_a_log_that_changed_between_kill_and_resume_is_refused(
    recording: Path, tmp_path: Path
) -> None:
    units = list(units_of([recording]))
    assert not bring_until(tmp_path / "lake", units, 8)
    before = landed(tmp_path / "lake")
    [name] = [unit.name for unit in units if unit.name.endswith("7@1772607600.0")]
    assert f"import {name}" in LakeReader(tmp_path / "lake").positions()
    (recording / "a.out").touch()
    with LakeWriter(tmp_path / "lake") as writer:
        report = import_units(writer, units)
    assert "a.out; found that it changed meanwhile" in str(report.refused[0])
    assert "is somebody writing to it?" in str(report.refused[0])
    assert landed(tmp_path / "lake")[: len(before)] == before
    assert report.imported == 2  # of the others


def test_events_go_on_where_they_were(tmp_path: Path) -> None:
    def samples(count: int) -> list[Sample]:
        return [Sample(source="x", metric="m", value=float(n)) for n in range(count)]

    unit = Unit(name="events", parts=(EventsPart(read=lambda _: iter(samples(35_000))),))
    for calls in (2, 2, 10):
        bring_until(tmp_path / "lake", [unit], calls)
    assert landed(tmp_path / "lake") == samples(35_000)


pieces = st.lists(
    st.sampled_from(
        [b"a\n", b"b\r", b"c\r\n", b"\0" * 9, b"\0", b"d", b"\xff", "é".encode(), b"\x1b[0m", b"\n"]
    ),
    max_size=60,
).map(b"".join)


@given(
    text=pieces,
    # Puts a border of a block somewhere into it.
    filling=st.integers(-200, 0),
    tail=pieces,
)
def test_reading_on_from_any_place_gives_the_same(
    tmp_path_factory: pytest.TempPathFactory, text: bytes, filling: int, tail: bytes
) -> None:
    path = tmp_path_factory.mktemp("logs") / "a.log"
    half = SMALL // 2
    path.write_bytes(b"=" * half + b"\n" + b"-" * (half + filling) + text + tail)
    part = LogPart(path=path)

    def batches(place: Place) -> list[tuple[list[tuple[bytes, int]], Place]]:
        return [
            ([(b.block.data, b.block.byte_offset_at(0)) for b in found], after)
            for found, after in read_batches(part, ("stdout", None), place, SkipCounts())
        ]

    whole = batches(Place())
    for number, (_, after) in enumerate(whole[:-1]):
        rest = batches(after)
        assert rest == whole[number + 1 :]
