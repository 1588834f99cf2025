"""Errors: four parts, exit codes, labels from closed sets, the nearest name."""

from __future__ import annotations

import pickle
from datetime import date

import pytest

from relume import errors
from relume.errors import (
    MAX_SHOWN,
    ConfigError,
    InputError,
    Permanent,
    RelumeError,
    Retryable,
    RuleError,
    Stage,
    UnreachableError,
    all_of,
    did_you_mean,
    first_of,
    nearest,
    shown,
)

KINDS = (RelumeError, InputError, ConfigError, RuleError, UnreachableError)


def test_the_message_has_its_four_parts_in_order() -> None:
    error = InputError("rank.log:7", found="a tab", expected="a space", hint="mend the log")
    assert str(error) == "rank.log:7; found a tab; expected a space; mend the log"
    assert (error.what, error.found, error.expected, error.hint) == (
        "rank.log:7",
        "a tab",
        "a space",
        "mend the log",
    )


def test_parts_that_are_not_given_are_left_out() -> None:
    assert str(RuleError("rule x", expected="a pattern")) == "rule x; expected a pattern"
    assert str(RelumeError("nothing to do")) == "nothing to do"


@pytest.mark.parametrize(
    ("kind", "exit_code"),
    [(InputError, 2), (ConfigError, 2), (RuleError, 2), (UnreachableError, 3)],
)
def test_exit_codes_are_those_of_the_command_line(kind: type[RelumeError], exit_code: int) -> None:
    assert kind("x").exit_code == exit_code


def test_labels_are_bounded_and_differ() -> None:
    slugs = {kind.error_type for kind in KINDS}
    assert len(slugs) == len(KINDS)
    assert all(isinstance(kind.stage, Stage) for kind in KINDS)


@pytest.mark.parametrize("kind", KINDS)
def test_the_tree_in_the_docstring_names_every_error(kind: type[RelumeError]) -> None:
    tree = next(line for line in (errors.__doc__ or "").splitlines() if kind.__name__ in line)
    assert f"exit {kind.exit_code}" in tree


def test_what_to_do_next_is_in_the_type() -> None:
    assert all(issubclass(kind, Permanent) for kind in (InputError, ConfigError, RuleError))
    error = UnreachableError("slurmctld", after_seconds=30.0)
    assert isinstance(error, Retryable)
    assert error.after_seconds == 30.0
    assert UnreachableError("slurmctld").after_seconds > 0


@pytest.mark.parametrize("kind", KINDS)
def test_errors_cross_process_borders_whole(kind: type[RelumeError]) -> None:
    error = kind("a", found="b", expected="c", hint="d")
    copy = pickle.loads(pickle.dumps(error))  # noqa: S301 - our own bytes
    assert type(copy) is kind
    assert (str(copy), vars(copy)) == (str(error), vars(error))


@pytest.mark.parametrize(
    ("name", "expected"),
    [
        ("max_evidense", "max_evidence"),
        ("MAX-EVIDENCE", "max_evidence"),
        ("Timezne", "TimeZone"),
        ("walrus", None),
        ("", None),
    ],
)
def test_nearest_name(name: str, expected: str | None) -> None:
    assert nearest(name, ["max_evidence", "TimeZone", "folders"]) == expected


def test_nearest_of_nothing_is_nothing() -> None:
    assert nearest("x", []) is None


def test_did_you_mean_is_a_hint_or_nothing() -> None:
    assert did_you_mean("folder", ["folders"]) == "did you mean 'folders'?"
    assert did_you_mean("walrus", ["folders"]) is None


def test_several_errors_are_listed() -> None:
    errors = [RuleError("a", found="b"), RuleError("c")]
    error = all_of(errors, "in x")
    assert error.listed == ("2 errors in x:", "- a; found b", "- c")
    assert str(error).splitlines() == list(error.listed)
    assert isinstance(error, RuleError)
    assert all_of(errors[1:], "in x") is errors[1]
    assert errors[1].listed == ()


def test_the_first_of_several_errors_counts_the_others() -> None:
    errors = [InputError("a", found="b", expected="c", hint="d"), InputError("e"), InputError("f")]
    assert str(first_of(errors)) == "a; found b; expected c; d; and 2 more errors"
    assert str(first_of(errors[1:], see="x")) == "e; and 1 more error: see x"
    assert first_of(errors[:1]) is errors[0]


@pytest.mark.parametrize(
    ("value", "expected"),
    [
        (None, "nothing"),
        (False, "false"),
        (3, "3"),
        (float("nan"), "nan"),
        ("it's\n", '"it\'s\\n"'),
        (["é", None, {"x": True}], '["é", null, {"x": true}]'),
        ({"at": date(2026, 1, 2)}, '{"at": "2026-01-02"}'),
        (date(2026, 1, 2), "2026-01-02"),
        ("x" * 500, f"'{'x' * MAX_SHOWN}'"),
    ],
)
def test_values_are_shown_as_people_write_them(value: object, expected: str) -> None:
    assert shown(value) == expected
