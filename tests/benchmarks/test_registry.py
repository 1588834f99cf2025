from __future__ import annotations

import sys
from pathlib import Path
from types import SimpleNamespace

import pytest

from relume.benchmarks import memory
from relume.benchmarks.machine import describe
from relume.benchmarks.registry import BENCHES, Bench, data_folder, find
from relume.benchmarks.result import BenchResult
from relume.errors import InputError


@pytest.mark.parametrize("bench", BENCHES, ids=lambda bench: bench.id)
def test_a_bench_is_found_by_its_id(bench: Bench) -> None:
    assert find(bench.id) is bench


def test_ids_are_unique() -> None:
    assert len({bench.id for bench in BENCHES}) == len(BENCHES)


@pytest.mark.parametrize(
    ("wrong", "close"),
    [("case", "cases"), ("diagnose_sped", "diagnose-speed"), ("HEALTHYS", "healthy")],
)
def test_an_unknown_id_names_the_nearest(wrong: str, close: str) -> None:
    with pytest.raises(
        InputError, match=f"found {wrong}; expected one of .*{close}.*; did you mean '{close}'"
    ):
        find(wrong)


def test_an_id_like_no_other_names_the_list() -> None:
    with pytest.raises(InputError, match="see relume bench list"):
        find("xyzzy")


@pytest.mark.parametrize(("quick", "stored"), [(True, "memory-quick"), (False, "memory")])
def test_a_quick_look_is_stored_apart(
    monkeypatch: pytest.MonkeyPatch, *, quick: bool, stored: str
) -> None:
    def run(_data: Path | None, *, quick: bool = False) -> BenchResult:
        return BenchResult("memory", "0", describe(), {"quick": quick}, {}, {})

    monkeypatch.setattr(memory, "run", run)
    result = find("memory").run(None, quick=quick)
    assert (result.id, result.corpus) == (stored, {"quick": quick})


def test_a_bench_says_which_folder_it_needs(tmp_path: Path) -> None:
    assert data_folder(tmp_path, "cases", "the folder") == tmp_path
    with pytest.raises(
        InputError, match=r"bench cases needs .*found no --data; expected the folder"
    ):
        data_folder(None, "cases", "the folder")
    with pytest.raises(InputError, match="nowhere is no folder; expected the folder"):
        data_folder(tmp_path / "nowhere", "cases", "the folder")


@pytest.mark.parametrize(
    ("minutes", "stored"), [(0.5, "load-quick"), (10.0, "load"), (20.0, "load"), (None, "load")]
)
def test_a_campaign_shorter_than_usual_is_stored_apart(
    monkeypatch: pytest.MonkeyPatch, minutes: float | None, stored: str
) -> None:
    given: list[float] = []

    def run(_data: Path | None, *, minutes: float = 10.0) -> BenchResult:
        given.append(minutes)
        return BenchResult("load", "0", describe(), {}, {}, {})

    monkeypatch.setitem(sys.modules, "a_campaign", SimpleNamespace(run=run))
    campaign = Bench("load", "what", "none", "a_campaign", minutes=10.0)
    assert campaign.run(None, minutes=minutes).id == stored
    assert given == [minutes or 10.0]


def test_minutes_for_a_bench_with_an_end_of_its_own_are_refused() -> None:
    with pytest.raises(InputError, match="leave --minutes out"):
        find("memory").run(None, minutes=1.0)
