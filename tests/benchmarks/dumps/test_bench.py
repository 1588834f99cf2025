"""The bench scores who is named first, and recorded sets apart."""

from __future__ import annotations

import pickle
from pathlib import Path

import pytest

from recorders import document, dump, entry, group
from relume.benchmarks.dumps import bench, recorded
from relume.benchmarks.dumps.baselines import lowest_counter
from relume.benchmarks.dumps.faults import FAMILIES, Hang
from relume.benchmarks.dumps.programs import Job
from relume.benchmarks.dumps.writing import FORMATS
from relume.errors import InputError
from relume.verdict import Domain, Kind, Locator, Retry, Stuck, Verdict


def verdict(*ranks: int) -> Verdict:
    places = tuple(Locator(rank=rank) for rank in ranks)
    return Verdict(
        attempt="x",
        kind=Kind.HANG,
        cause=None,
        domain=Domain.UNKNOWN,
        root_line=None,
        root_file=None,
        culprit=places[0] if places else Locator(),
        retry=Retry.UNCLEAR,
        operation="HOLD",
        confidence=0.9,
        stuck=Stuck("never_joined", culprits=places),
    )


def hang(family: str, *culprits: int) -> Hang:
    return Hang(family, Job("ddp", 8), culprits=frozenset(culprits))


def test_the_rank_named_first_is_scored_and_nobody_where_nobody_can_be() -> None:
    scores = bench._Pass()  # noqa: SLF001
    there, lost = bench._Left(True, False), bench._Left(False, True)  # noqa: SLF001, FBT003
    scores.add("right", hang("a", 3, 4), verdict(3), there, naive=3)
    scores.add("wrong", hang("a", 3), verdict(5, 3), lost, naive=None)
    scores.add("nobody", hang("all_started"), verdict(), there, naive=None)
    scores.add("somebody", hang("all_started"), verdict(1), there, naive=2)
    assert (scores.culprit.right, scores.culprit.total) == (2, 4)
    assert (scores.dumped.right, scores.dumped.total) == (2, 3)
    assert (scores.knowable.right, scores.knowable.total, scores.guessed) == (2, 3, 0)
    assert scores.baseline.right == 2
    assert (scores.others_named, scores.nobody_named) == (["wrong"], ["somebody"])
    assert scores.families["a"] == {"right": 1, "of": 2}


def test_every_family_is_made_in_every_format() -> None:
    made = [(one.family, version) for _, one, _, version, _ in bench.hangs(1)]
    assert sorted(made) == sorted((family, version) for family in FAMILIES for version in FORMATS)


def test_recorded_sets_are_found_with_their_labels(tmp_path: Path) -> None:
    folder = tmp_path / recorded.FOLDER / "one"
    folder.mkdir(parents=True)
    (folder / "_dump_0").write_bytes(pickle.dumps(document([entry(0)])))
    (folder / recorded.LABELS).write_text("Fault ranks: [3, 12]\nFault delay: 180.0\n")
    [one] = recorded.load(tmp_path)
    assert (one.name, one.injected) == ("one", frozenset({3, 12}))
    assert [path.name for path in one.dumps] == ["_dump_0"]
    (folder / recorded.LABELS).write_text("nothing\n")
    with pytest.raises(InputError, match="doesn't say who was injected"):
        recorded.load(tmp_path)


def test_without_recorded_sets_the_bench_says_what_it_needs(tmp_path: Path) -> None:
    with pytest.raises(InputError, match="flight-recorder"):
        recorded.load(None)
    with pytest.raises(InputError, match=r"finds no fault_injection\.log"):
        recorded.load(tmp_path)


def test_the_baseline_names_the_lowest_counter() -> None:
    def counted(rank: int, number: int | None) -> object:
        return dump(rank, groups=[group(range(4), last_enqueued=number)])

    assert lowest_counter([counted(0, 7), counted(1, 6), counted(2, 7)]) == 1  # type: ignore[list-item]
    assert lowest_counter([counted(0, 7), counted(1, 7)]) is None  # type: ignore[list-item]
    assert lowest_counter([counted(0, 6), counted(1, 6), counted(2, 7)]) is None  # type: ignore[list-item]
    assert lowest_counter([]) is None
