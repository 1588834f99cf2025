"""What healthy attempts print: learned once, by family and fleet, within bounds."""

from __future__ import annotations

import msgspec
import pytest
from hypothesis import given
from hypothesis import strategies as st

from relume.models.templates import history as module
from relume.models.templates.drain import DrainSettings
from relume.models.templates.familiar import Seen
from relume.models.templates.families import family_keys
from relume.models.templates.history import HistoryState, TemplateHistory

ADA, EVE = ("run ada/llm",), ("run eve/cnn",)


def test_a_line_is_known_to_the_family_that_printed_it_and_to_the_fleet() -> None:
    history = TemplateHistory()
    for number in range(3):
        history.learn(f"lab/{number}@0.0", ADA, [b"ward 3 is open", b"ward 4 is open"])
    history.learn("lab/7@0.0", EVE, [b"keeper 2 came"])
    view = history.familiar(ADA)
    assert (view.family_attempts, view.seen(b"ward 9 is open")) == (3, Seen(3, 3))
    assert view.seen(b"keeper 8 came") == Seen(0, 1)
    assert view.seen(b"the seal is open") == view.seen(b" ") == Seen(0, 0)


def test_an_attempt_is_learned_from_once() -> None:
    history = TemplateHistory()
    assert history.learn("lab/1@0.0", ADA, [b"ward 3 is open"])
    before = history.state()
    assert not history.learn("lab/1@0.0", ADA, [b"ward 3 is shut"])
    assert history.state() == before


def test_of_several_families_the_narrowest_that_is_known_counts() -> None:
    history = TemplateHistory()
    history.learn("lab/1@0.0", ("log llm/a/slurm-#.out", "log a/slurm-#.out"), [b"ward 3 is open"])
    assert history.familiar(("run ada/llm", "log a/slurm-#.out")).family_attempts == 1
    assert history.familiar(("run ada/llm",)).family_attempts == 0


@pytest.mark.parametrize(
    ("run", "logs", "expected"),
    [
        ("ada/llm", [], ["run ada/llm"]),
        (
            None,
            ["/s/ada/llm-7b/rank_3.log", "/s/ada/llm-7b/rank_12.log"],
            ["ada/llm-#b/rank_#.log"],
        ),
        (None, ["run_2026-03-02_11/9f86d081884c/job.err"], ["run_#/#/job.err"]),
        (None, ["/scratch/ada/job.out (part 2)"], ["scratch/ada/job.out"]),
        (None, ["slurm-77.out"], []),
    ],
)
def test_the_families_of_a_job(run: str | None, logs: list[str], expected: list[str]) -> None:
    keys = family_keys(run, logs)
    assert [key.removeprefix("log ") for key in keys[:1]] == expected


def test_a_job_has_few_families_however_many_logs_it_writes() -> None:
    assert len(family_keys("ada/llm", [f"/s/{chr(97 + n)}/x/job.out" for n in range(26)])) == 8


@pytest.fixture
def small(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(module, "SETTINGS", DrainSettings(max_templates=40, max_siblings=8))
    monkeypatch.setattr(module, "MAX_FAMILIES", 5)
    monkeypatch.setattr(module, "MAX_OF_FAMILY", 10)
    monkeypatch.setattr(module, "MAX_LEARNED", 20)


def word(number: int) -> str:
    return "".join(chr(97 + int(digit)) for digit in str(number))


@pytest.mark.usefixtures("small")
def test_what_is_known_stays_small_and_consistent() -> None:
    history = TemplateHistory()
    for number in range(60):
        lines = [f"{word(number * 7 + n)} is {word(n)}".encode() for n in range(30)]
        lines.append(b"every ward is open")
        history.learn(f"lab/{number}@0.0", [f"run u{number % 9}/x", "run all/x"], lines)
        state = history.state()
        ids = {one.id for one in state.drain.templates}
        assert set(state.fleet) == ids
        assert len(ids) <= 40
        assert len(state.families) <= 5
        assert len(state.learned) <= 20
        assert max(len(one.counts) for one in state.families.values()) <= 10
    view = history.familiar(["run all/x"])
    assert view.seen(b"every ward is open") == Seen(60, 60)
    assert history.familiar(["run u0/x"]).family_attempts == 0


LINES = st.lists(st.sampled_from([b"ward 1 is open", b"ward is shut", b"a b c d", b"a x c d", b""]))


@given(st.lists(st.tuples(st.integers(0, 9), LINES), max_size=12), LINES)
def test_it_is_restored_as_it_was(
    learned: list[tuple[int, list[bytes]]], more: list[bytes]
) -> None:
    history = TemplateHistory()
    for number, lines in learned:
        history.learn(f"lab/{number}@0.0", [f"run u{number % 3}/x"], lines)
    kept = msgspec.json.decode(msgspec.json.encode(history.state()), type=HistoryState)
    restored = TemplateHistory.restore(kept)
    for one in (history, restored):
        one.learn("lab/99@0.0", ["run u1/x"], more)
    assert restored.state() == history.state()
    assert [restored.familiar(["run u1/x"]).seen(line) for line in more] == [
        history.familiar(["run u1/x"]).seen(line) for line in more
    ]
