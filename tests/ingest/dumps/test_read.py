"""All dumps of an attempt together: what is used, what is left out and why."""

from __future__ import annotations

import gzip
import json
import pickle
from pathlib import Path
from typing import Any

import pytest

from hostile import Hostile
from recorders import document, entry
from relume.ingest.dumps import documents
from relume.ingest.dumps.documents import DumpError, HostileDumpError, parse_document, read_bytes
from relume.ingest.dumps.forms import FLIGHT, PICKLE, RAS, STACKS
from relume.ingest.dumps.read import read_dumps
from relume.ingest.skips import SkipCounts


def write(path: Path, told: Any, *, as_json: bool = False) -> Path:
    path.write_bytes(json.dumps(told).encode() if as_json else pickle.dumps(told))
    return path


def test_one_dump_a_rank_compressed_or_not(tmp_path: Path) -> None:
    files = [
        (write(tmp_path / "dump_0", document([entry(0)])), FLIGHT),
        (write(tmp_path / "dump_1", document([entry(0)]), as_json=True), FLIGHT),
    ]
    packed = tmp_path / "dump_2.gz"
    packed.write_bytes(gzip.compress(pickle.dumps(document([entry(0)]))))
    skipped = SkipCounts()
    dumps, refused = read_dumps([*files, (packed, FLIGHT)], skipped)
    assert [dump.rank for dump in dumps.ranks] == [0, 1, 2]
    assert dumps.ranks[2].file == str(packed)
    assert (refused, skipped.as_dict()) == ([], {})


def test_of_two_dumps_of_a_rank_the_later_counts(tmp_path: Path) -> None:
    later = write(tmp_path / "b_rank_1", document([entry(9)]))
    earlier = write(tmp_path / "a_rank_1", document([entry(3)]))
    skipped = SkipCounts()
    dumps, _ = read_dumps([(later, FLIGHT), (earlier, FLIGHT)], skipped)
    assert [dump.file for dump in dumps.ranks] == [str(later)]
    assert skipped.as_dict() == {"dump_again": 1}


def test_recorders_collected_in_one_file(tmp_path: Path) -> None:
    for told in (
        {str(rank): document([entry(0)]) for rank in (0, 3)},
        [document([entry(0)], rank=0), document([entry(0)], rank=3)],
    ):
        path = write(tmp_path / "all.json", told, as_json=True)
        dumps, _ = read_dumps([(path, FLIGHT)], SkipCounts())
        assert [dump.rank for dump in dumps.ranks] == [0, 3]


def test_what_is_not_used_is_counted_by_reason(tmp_path: Path) -> None:
    hostile = write(tmp_path / "dump_0", document() | {"entries": Hostile("true")})
    data = write(tmp_path / "data.pkl", Hostile("true"))
    array = write(tmp_path / "array.pkl", {"x": 1})
    cut = tmp_path / "dump_1"
    cut.write_bytes(pickle.dumps(document([entry(0)]))[:-40])
    text = tmp_path / "dump_2"
    text.write_bytes(b'{"version": "2.4", "pg_config": {')
    unnamed = write(tmp_path / "trace", document([entry(0)]))
    files = [(hostile, FLIGHT), (cut, FLIGHT), (text, FLIGHT), (unnamed, FLIGHT)]
    skipped = SkipCounts()
    dumps, refused = read_dumps(
        [*files, (data, PICKLE), (array, PICKLE), (tmp_path / "gone", FLIGHT)], skipped
    )
    assert not dumps
    assert skipped.as_dict() == {
        "binary": 1,
        "dump_broken": 2,
        "dump_no_rank": 1,
        "dump_refused": 2,
        "unreadable": 1,
    }
    assert sum(isinstance(error, HostileDumpError) for error in refused) == 2
    assert "it tries to load" in str(refused[0])
    assert "nothing of it was run" in str(refused[0])


def test_stacks_and_ras_as_text_and_json(tmp_path: Path) -> None:
    stack = tmp_path / "rank_1.txt"
    stack.write_text('Process 7: p\nPython v3\n\nThread 7 (idle): "MainThread"\n    f (a.py:1)\n')
    ras = write(tmp_path / "ras", {"communicators": [], "missing_ranks": []}, as_json=True)
    text = tmp_path / "ras.txt"
    text.write_text("Job summary\n")
    dumps, _ = read_dumps([(stack, STACKS), (ras, RAS), (text, RAS)], SkipCounts())
    assert [s.rank for s in dumps.stacks] == [1]
    assert [report.file for report in dumps.ras] == [str(ras), str(text)]


def test_a_dump_has_a_largest_size(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    path = write(tmp_path / "dump_0", document([entry(n) for n in range(50)]))
    monkeypatch.setattr(documents, "MAX_BYTES", 1000)
    with pytest.raises(DumpError, match="expected the dump of one rank"):
        read_bytes(path)


@pytest.mark.parametrize(
    "data", [b"[" * 100_000, b'{"a": ' * 50_000, b"{", b"[1, 2", b'{"a": nul}']
)
def test_json_that_nests_too_deep_or_is_cut_is_refused(data: bytes) -> None:
    with pytest.raises(DumpError, match="JSON that can't be used"):
        parse_document(data, "x")


def test_json_has_a_largest_number_of_lists(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(documents, "MAX_CONTAINERS", 10)
    with pytest.raises(DumpError, match="more lists and objects"):
        parse_document(b"[" + b"[]," * 20 + b"[]]", "x")
