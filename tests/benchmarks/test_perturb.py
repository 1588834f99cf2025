from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import replace

import pytest
from hypothesis import given
from hypothesis import strategies as st

from labelling import make_case
from relume.benchmarks.corpora.failure_cases import Case
from relume.benchmarks.perturb import HEALTHY_LINES, RENUMBER, perturb

IDS = [f"case-{number}" for number in range(40)]
HEALTHY = ("step 1 loss 2.0", "step 2 loss 1.9", "step 3 loss 1.8")
TRACEBACKS = (
    "[rank0]: Traceback (most recent call last):",
    "[rank0]: RuntimeError: broken pipe of peer 1",
    "[rank2]: Traceback (most recent call last):",
    "[rank2]: RuntimeError: broken pipe of peer 3",
    "[rank11]: KeyError: 'size'",
    "[rank2]: closing",
)
LONG = tuple(f"line {number} of a log" for number in range(20))


def copies(name: str, case: Case, healthy: Sequence[str] = HEALTHY) -> list[Case]:
    """Return the copies of `case` under many ids, each of which draws differently."""
    return perturb([replace(case, id=case_id) for case_id in IDS], healthy)[name]


def ranks_in(text: Sequence[str]) -> list[int]:
    return [int(rank) for rank in re.findall(r"(?i)\brank\W*(\d+)", "\n".join(text))]


def test_hosts_are_renamed_everywhere() -> None:
    text = ("node017: cannot reach node018", "task 3 on node017 killed", "rank 3 left")
    case = make_case(text=text, culprit="node017 gpu 3", culprit_also=frozenset({"node018", "3"}))
    made = copies("renamed-hosts", case)
    assert len(made) == len(IDS)
    for copy in made:
        host = copy.text[0].partition("017")[0]
        assert host != "node"
        assert copy.text == tuple(line.replace("node", host) for line in text)
        assert copy.culprit == f"{host}017 gpu 3"
        assert copy.culprit_also == {f"{host}018", "3"}
    assert len({copy.text for copy in made}) > 1


def test_a_case_without_hosts_has_no_renamed_copy() -> None:
    assert copies("renamed-hosts", make_case(text=("nodes 3", "anode017x"), culprit="rank 3")) == []


def test_ranks_are_renumbered_in_every_form_and_so_is_the_culprit() -> None:
    text = (
        "[rank3]:[E ProcessGroupNCCL.cpp:632] [Rank 3] Watchdog caught a timeout",
        "[PG ID 0 PG GUID 0(default_pg) Rank 3] Some NCCL operations failed",
        "cannot connect from rank 3, retrying on rank 12",
        "backtrace of rank=3 and Rank=3",
        "  rank      : 3 (local_rank: 3)",
        "RANK=3 LOCAL_RANK=3 started, cuda:3",
    )
    case = make_case(text=text, culprit="rank 3", culprit_also=frozenset({"3", "node001"}))
    (copy,) = copies("renumbered-ranks", case)[:1]
    moved = 3 + RENUMBER
    assert ranks_in(copy.text) == [moved] * 4 + [12 + RENUMBER] + [moved] * 4
    assert copy.text[4] == f"  rank      : {moved} (local_rank: 3)"
    assert copy.text[5] == f"RANK={moved} LOCAL_RANK=3 started, cuda:3"
    assert copy.culprit == f"rank {moved}"
    assert copy.culprit_also >= {str(moved), "node001"}


@pytest.mark.parametrize(
    ("text", "culprit"),
    [
        (("no number of a worker", "Frank 3"), None),
        (("[rank3]: KeyError",), "node001"),
        (("[rank3]: KeyError",), "local_rank 3"),
        (("[rank3]: KeyError", "comm 0x5 rank 3 nranks 8 - Init COMPLETE"), "rank 3"),
    ],
)
def test_ranks_keep_their_numbers_where_not_every_mention_could_move(
    text: tuple[str, ...], culprit: str | None
) -> None:
    assert copies("renumbered-ranks", make_case(text=text, culprit=culprit)) == []


def test_nobody_stays_nobody_when_ranks_are_renumbered() -> None:
    (copy,) = copies("renumbered-ranks", make_case(text=TRACEBACKS))[:1]
    assert ranks_in(copy.text) == [rank + RENUMBER for rank in ranks_in(TRACEBACKS)]
    assert copy.culprit is None


def test_reordering_keeps_the_order_of_each_rank_and_moves_labels_to_the_same_text() -> None:
    case = make_case(text=TRACEBACKS, root_line=4, accept_line=(4, None))
    made = copies("reordered-ranks", case)
    assert len(made) == len(IDS)
    assert any(copy.text != case.text for copy in made)
    for copy in made:
        assert sorted(copy.text) == sorted(case.text)
        for rank in ("[rank0]", "[rank2]", "[rank11]"):
            before, after = ([x for x in c.text if x.startswith(rank)] for c in (case, copy))
            assert before == after
        assert copy.root_line is not None
        assert copy.text[copy.root_line] == TRACEBACKS[4]
        assert copy.accept_line == (copy.root_line, None)


def test_reordering_accepts_what_another_rank_says_in_the_same_words() -> None:
    case = make_case(text=TRACEBACKS, root_line=1)
    for copy in copies("reordered-ranks", case):
        accepted = {copy.text[line] for line in copy.accept_line if line is not None}
        assert accepted == {TRACEBACKS[1], TRACEBACKS[3]}


@pytest.mark.parametrize(
    "text",
    [
        ("[rank0]: a", "[rank0]: b"),
        ("[rank0]: a", "b", "[rank1]: c"),
        ("a", "b"),
    ],
)
def test_lines_of_one_rank_or_of_nobody_are_not_reordered(text: tuple[str, ...]) -> None:
    assert copies("reordered-ranks", make_case(text=text)) == []


@pytest.mark.parametrize(
    ("root", "accepted", "last"),
    [(3, (3,), 3), (3, (3, 17, None), 17), (18, (2,), 18), (None, (None,), 2)],
)
def test_truncation_cuts_the_end_and_never_a_labelled_line(
    root: int | None, accepted: tuple[int | None, ...], last: int
) -> None:
    made = copies("truncated", make_case(text=LONG, root_line=root, accept_line=accepted))
    assert made
    for copy in made:
        assert last < len(copy.text) < len(LONG)
        assert copy.text == LONG[: len(copy.text)]
        assert (copy.root_line, copy.accept_line) == (root, accepted)


@pytest.mark.parametrize(
    "case",
    [
        make_case(text=LONG, root_line=19),
        make_case(text=LONG[:4]),
        make_case(text=LONG, kind="hang"),
        make_case(text=LONG, kind="straggler"),
        make_case(text=LONG, culprit="rank 3"),
    ],
)
def test_what_needs_its_end_is_not_truncated(case: Case) -> None:
    assert copies("truncated", case) == []


def test_splicing_shifts_every_label_by_the_healthy_lines() -> None:
    case = make_case(text=TRACEBACKS, root_line=4, accept_line=(4, 0, None))
    (copy,) = perturb([case], HEALTHY)["spliced"]
    assert copy.text == (*HEALTHY, *TRACEBACKS)
    assert copy.root_line == 4 + len(HEALTHY)
    assert {3, 7, None} <= set(copy.accept_line)


def test_splicing_takes_only_so_many_healthy_lines() -> None:
    case = make_case(root_line=None, accept_line=(None,))
    (copy,) = perturb([case], ["step"] * (HEALTHY_LINES + 50))["spliced"]
    assert copy.text == ("step",) * HEALTHY_LINES + case.text
    assert (copy.root_line, copy.accept_line) == (None, (None,))


def test_stamps_advance_and_leave_the_rest_of_the_line() -> None:
    made = copies("stamped", make_case(text=LONG))
    assert len(made) == len(IDS)
    for copy in made:
        found = [re.fullmatch(r"(2026-01-02 \d\d:\d\d:\d\d) (.*)", line) for line in copy.text]
        stamps = [match[1] for match in found if match]
        assert tuple(match[2] for match in found if match) == LONG
        assert sorted(set(stamps)) == stamps


@pytest.mark.parametrize(
    "line",
    [
        "2026-03-02 04:00:00 up",
        "[2026-03-02 04:00:00,123] up",
        "Mar  2 04:00:00 host kernel: up",
        "[rank0]:[E302 04:00:00.1 x.cpp:1] up",
        "up at 04:00:00",
    ],
)
def test_a_line_with_a_clock_is_not_stamped(line: str) -> None:
    assert copies("stamped", make_case(text=("plain", line))) == []


def test_colours_wrap_each_line() -> None:
    (copy,) = copies("coloured", make_case(text=("one", "")))[:1]
    assert copy.text == ("\x1b[0mone\x1b[39m", "\x1b[0m\x1b[39m")


def test_copies_depend_on_the_id_alone() -> None:
    cases = [make_case(id=case_id, text=TRACEBACKS, root_line=4) for case_id in IDS]
    first = perturb(cases, HEALTHY)
    assert perturb(cases, HEALTHY) == first
    for name, made in perturb(cases[::-1], HEALTHY).items():
        assert made[::-1] == first[name]


WORDS = st.sampled_from(
    ["KeyError: 'x'", "rank 4 left", "node017 is down", "04:00:00 up", "step 7", "", "[Rank 4] no"]
)
LINES = st.builds(lambda rank, word: f"[rank{rank}]: {word}", st.integers(0, 12), WORDS)


@given(
    text=st.lists(LINES | WORDS, min_size=1, max_size=12),
    root=st.integers(0, 11),
    kind=st.sampled_from(["crash", "hang", "straggler", "benign"]),
    culprit=st.sampled_from([None, "rank 4", "node017"]),
)
def test_no_copy_changes_what_is_true(
    text: list[str], root: int, kind: str, culprit: str | None
) -> None:
    case = make_case(text=tuple(text), root_line=root % len(text), kind=kind, culprit=culprit)
    for made in perturb([case], HEALTHY).values():
        for copy in made:
            assert (copy.id, copy.kind, copy.accept_kind) == (case.id, kind, case.accept_kind)
            assert copy.root_line is not None
            assert copy.root_line in copy.accept_line
            assert bare(case.text[root % len(text)]) in bare(copy.text[copy.root_line])


def bare(line: str) -> str:
    """Strip what a copy may change: numbers and hosts."""
    return re.sub(r"\b(node|gpu-b|dgx|h100-|worker)017\b|\d+", "", line)
