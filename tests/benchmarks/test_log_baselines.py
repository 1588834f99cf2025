from __future__ import annotations

from relume.benchmarks.log_baselines import BASELINES, Guess, first_exception, last_error

LINES = [
    "[rank1]: warning: retry",
    "[rank2]: ValueError: bad batch",
    "[rank4]: RuntimeError: connection closed",
    "srun: error: cn07: task 2: Exited with exit code 1",
    "bye",
]


def test_the_first_exception_wins_with_its_printer() -> None:
    assert first_exception({"a.log": LINES}) == Guess("a.log", 1, None, 2)


def test_without_an_exception_the_first_error_does() -> None:
    assert first_exception({"a.log": ["fine", "cn07: disk failed"]}).line == 1


def test_the_last_error_wins() -> None:
    assert last_error({"a.log": LINES}) == Guess("a.log", 3, None, None)


def test_files_are_read_in_their_order() -> None:
    files = {"rank_3.log": ["KeyError: 'x'"], "rank_1.log": ["TypeError: y"]}
    assert first_exception(files) == Guess("rank_3.log", 0, None, 3)
    assert last_error(files) == Guess("rank_1.log", 0, None, 1)


def test_a_calm_log_names_nobody() -> None:
    calm = {"a.log": ["step 1 loss 2.1", "step 2 loss 2.0"]}
    assert {guess(calm) for guess in BASELINES.values()} == {Guess()}
