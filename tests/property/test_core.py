"""The core under arbitrary input: nothing gets lost, and only our own errors come out."""

from __future__ import annotations

import contextlib
import enum
import json
import string
import tomllib
import types
import typing
from dataclasses import fields, is_dataclass
from datetime import UTC, timedelta, timezone

import pytest
from hypothesis import assume, given
from hypothesis import strategies as st

from relume.clock import from_datetime, from_iso, from_seconds, to_datetime, to_iso
from relume.config import load_config, locate
from relume.errors import ConfigError, InputError, RelumeError, nearest
from relume.events import Event, Tick
from relume.identity import (
    AccountingRow,
    AttemptId,
    JobKey,
    chain_attempts,
    parse_short,
    read_comment,
    requeued_at_once,
)
from relume.schemas import SCHEMAS, from_table, to_table
from relume.settings import DEFAULTS, to_toml, variable
from relume.slurm.hostlists import expand, fold

JSON = st.recursive(
    st.none() | st.booleans() | st.floats() | st.integers() | st.text(),
    lambda inner: (
        st.lists(inner) | st.dictionaries(st.sampled_from(["relume", "APS", "run"]), inner)
    ),
    max_leaves=8,
)


def values(hint: typing.Any) -> st.SearchStrategy[typing.Any]:
    """Values of an annotation of an event; numbers fit the narrowest column."""
    arguments = typing.get_args(hint)
    if isinstance(hint, types.UnionType):
        return st.one_of(*map(values, arguments))
    if arguments:  # tuple[X, ...]
        return st.lists(values(arguments[0]), max_size=3).map(tuple)
    if is_dataclass(hint):
        return instances(typing.cast("type", hint))
    if issubclass(hint, enum.Enum):
        return st.sampled_from(hint)
    if hint is int:
        return st.integers(-(2**31), 2**31 - 1)
    return st.floats(allow_nan=False) if hint is float else st.from_type(hint)


def instances(event: type) -> st.SearchStrategy[typing.Any]:
    hints = typing.get_type_hints(event)
    chosen = {field.name: values(hints[field.name]) for field in fields(event)}
    if "reason" in chosen:  # some values need one
        chosen["reason"] = st.text(min_size=1)
    return st.builds(event, **chosen)


@pytest.mark.parametrize("event", SCHEMAS, ids=lambda event: event.__name__)
@given(data=st.data())
def test_tables_give_back_every_event(event: type[Event], data: st.DataObject) -> None:
    events = data.draw(st.lists(instances(event), max_size=4))
    assert from_table(to_table(events, event)) == events


@given(st.integers(-(2**63), 2**63 - 1), st.none() | st.integers(-(2**63), 2**63 - 1))
def test_times_survive_a_table(event_time: int, observed_at: int | None) -> None:
    tick = Tick(event_time=event_time, observed_at=observed_at)
    assert from_table(to_table([tick])) == [tick]


NAMES = st.text(string.ascii_letters + string.digits + "._-", min_size=1, max_size=12)
NUMBERED = st.builds(
    lambda prefix, number, width: f"{prefix}{number:0{width}}",
    st.sampled_from(["n", "gpu-b", "r1n", "r01-", "0x", "-", "1.2."]),
    st.integers(0, 120),
    st.integers(1, 4),
)


@given(st.lists(NAMES | NUMBERED, max_size=40))
def test_folding_and_expanding_loses_no_name(names: list[str]) -> None:
    text = fold(names)
    assert set(expand(text)) == set(names)
    assert len(expand(text)) == len(set(names))
    assert fold(expand(text)) == text


@given(st.lists(NUMBERED, max_size=20), st.randoms(use_true_random=False))
def test_the_order_of_names_does_not_matter(names: list[str], random: typing.Any) -> None:
    shuffled = list(names)
    random.shuffle(shuffled)
    assert fold(shuffled) == fold(names)


@given(
    st.text()
    | st.text(string.digits + "n-,[]0 ")
    | st.from_regex(r"[a-z]\[[0-9,-]{1,12}\](\[[0-9]-[0-9]{1,12}\])?", fullmatch=True)
)
def test_a_hostlist_is_read_or_refused(text: str) -> None:
    with contextlib.suppress(InputError):
        names = expand(text, limit=500)
        assert len(names) <= 500
        assert names == expand(fold(names))


CLUSTERS = st.from_regex(r"[^/@\s]+", fullmatch=True)
JOB_IDS = st.from_regex(r"[1-9][0-9]{0,8}([_+](0|[1-9][0-9]{0,4}))?", fullmatch=True)


@given(CLUSTERS, JOB_IDS, st.integers(0, 10**12 - 1), st.integers(0, 10**9 - 1))
def test_identities_read_back(cluster: str, job_id: str, epoch: int, restart_count: int) -> None:
    attempt = AttemptId(JobKey(cluster, job_id, epoch * 1_000_000), restart_count)
    assert AttemptId.parse(str(attempt)) == attempt
    assert JobKey.parse(str(attempt.job_key)) == attempt.job_key
    assert parse_short(attempt.short) == (job_id, restart_count)


@given(st.text() | st.from_regex(r"[a-z]/[0-9_+]{1,6}@[0-9]{1,4}\.[0-9]{1,3}"))
def test_one_identity_has_one_text(text: str) -> None:
    with contextlib.suppress(InputError):
        assert str(AttemptId.parse(text)) == text


ROWS = st.lists(
    st.builds(
        AccountingRow,
        st.sampled_from(["7", "7_1"]),
        st.integers(0, 6).map(lambda second: second * 1_000_000),
        st.none() | st.integers(0, 6).map(lambda second: second * 1_000_000),
        st.sampled_from(["REQUEUED", "NODE_FAIL", "COMPLETED", "CANCELLED by 0", "", " "]),
    ),
    max_size=12,
)


@given(ROWS)
def test_chains_are_whole(rows: list[AccountingRow]) -> None:
    attempts = chain_attempts("lab", rows)
    assert len(attempts) == len(rows)
    known = set(attempts)
    for row, attempt in zip(rows, attempts, strict=True):
        assert attempt.job_key.job_id == row.job_id
        assert attempt.job_key.first_submit_time <= row.submit_time
        if attempt.restart_count:
            assert AttemptId(attempt.job_key, attempt.restart_count - 1) in known
        else:
            assert attempt.job_key.first_submit_time == row.submit_time
    told_apart = {
        (
            row.job_id,
            row.submit_time,
            requeued_at_once(row.state, row.submit_time, row.end_time),
        )
        for row in rows
    }
    assert len(told_apart) == len(known)


@given(ROWS, st.randoms(use_true_random=False))
def test_the_order_of_rows_does_not_matter(rows: list[AccountingRow], random: typing.Any) -> None:
    ends: dict[tuple[str, int], AccountingRow] = {}
    for row in rows:  # two rows of one attempt may not tell of two ends
        assume(ends.setdefault((row.job_id, row.submit_time), row) == row)
    expected = dict(zip(rows, chain_attempts("lab", rows), strict=True))
    random.shuffle(rows)
    assert chain_attempts("lab", rows) == [expected[row] for row in rows]


@given(st.none() | st.text() | JSON.map(json.dumps))
def test_a_comment_opts_in_or_there_is_a_reason(comment: str | None) -> None:
    read = read_comment(comment)
    assert read.opted_in is (read.reason is None)
    assert read.opted_in or read.run is None


@given(st.datetimes(timezones=st.just(UTC) | st.just(timezone(timedelta(hours=-7, minutes=-30)))))
def test_datetimes_read_back(moment: typing.Any) -> None:
    assert to_datetime(from_datetime(moment)) == moment
    assert from_iso(moment.isoformat()) == from_datetime(moment)
    assert from_iso(to_iso(from_datetime(moment))) == from_datetime(moment)


@given(st.integers(-(10**13) + 1, 10**13 - 1).map(lambda seconds: seconds // 2))
def test_whole_seconds_are_exact(seconds: int) -> None:
    assert from_seconds(seconds) == from_seconds(str(seconds)) == seconds * 1_000_000


@given(st.text() | st.floats() | st.decimals() | st.from_regex(r"-?[0-9]{1,9}(\.[0-9]+)?e[0-9]+"))
def test_a_number_of_seconds_is_read_or_refused(seconds: typing.Any) -> None:
    with contextlib.suppress(InputError):
        assert -(2**63) < from_seconds(seconds) < 2**63


@given(st.text())
def test_a_time_is_read_or_refused(text: str) -> None:
    with contextlib.suppress(InputError):
        from_iso(text, UTC)


TOML_LINES = st.sampled_from(
    [
        "[a]",
        "[a.b]",
        "[[c]]",
        "x = 1",
        'y = """',
        '"""',
        "z = [",
        "1, 2",
        "]",
        "'k' = {m = 1}",
        "# [t]",
        "",
        " w.v = '#'",
        "q = '''[",
        "'''",
    ]
)


@given(st.lists(TOML_LINES, max_size=12).map("\n".join))
def test_every_key_of_a_document_has_a_line(text: str) -> None:
    try:
        document = tomllib.loads(text)
    except tomllib.TOMLDecodeError:
        assume(False)  # noqa: FBT003 - its own signature
    lines = locate(text)
    for key, value in document.items():
        assert key in text.split("\n")[lines[key,] - 1]
        for inner in value if isinstance(value, dict) else ():
            assert inner in text.split("\n")[lines[key, inner] - 1]


@given(
    st.dictionaries(st.sampled_from([variable(name) for name in DEFAULTS]), st.text(max_size=20))
)
def test_an_environment_is_read_or_refused(environ: dict[str, str]) -> None:
    with contextlib.suppress(ConfigError):
        config = load_config(environ=environ)
        for name in DEFAULTS:
            expected = f"env {variable(name)}" if variable(name) in environ else "default"
            assert config.origins[name] == expected


@given(st.text() | st.lists(st.text()) | st.booleans() | st.floats(allow_nan=False))
def test_values_written_as_toml_read_back(value: typing.Any) -> None:
    assume(value not in (float("inf"), float("-inf")))
    assert tomllib.loads(f"x = {to_toml(value)}")["x"] == value


@given(st.text(), st.lists(st.text()))
def test_the_nearest_name_is_one_of_the_names(name: str, names: list[str]) -> None:
    close = nearest(name, names)
    assert close is None or close in names


@given(st.text(), *[st.none() | st.text()] * 3)
def test_a_message_holds_what_it_was_given(
    what: str, found: str | None, expected: str | None, hint: str | None
) -> None:
    message = str(RelumeError(what, found=found, expected=expected, hint=hint))
    assert all(part in message for part in (what, found, expected, hint) if part is not None)
