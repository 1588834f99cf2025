"""The small Drain: which lines are of one template, and that it stays within its bounds."""

from __future__ import annotations

import msgspec
import pytest
from hypothesis import given
from hypothesis import strategies as st

from plain_drain import PlainDrain
from relume.models.templates.drain import Drain, DrainSettings, DrainState

SMALL = DrainSettings(max_templates=9, max_siblings=3)
WORDS = ("loss", "rank", "failed", "to", "load", "shard", "*", "#", "7", "rank3", "0x1f", "/a/b")
LINES = st.lists(st.lists(st.sampled_from(WORDS), max_size=6).map(" ".join), max_size=80)


def mined(*lines: str, settings: DrainSettings | None = None) -> list[tuple[str, int]]:
    drain = Drain(settings)
    for line in lines:
        drain.add(line.encode())
    return [(one.text, one.count) for one in drain.templates()]


def test_lines_that_differ_in_values_only_are_one_template() -> None:
    assert mined("rank 3 lost 10.0.0.7:29", "rank 12 lost 10.0.0.9:3011") == [("rank # lost #", 2)]


def test_a_word_that_differs_becomes_a_wildcard() -> None:
    lines = [f"loading shard {name} of corpus" for name in ("alpha", "beta", "gamma")]
    assert mined(*lines) == [("loading shard * of corpus", 3)]


def test_lines_that_share_too_few_words_stay_apart() -> None:
    lines = ("ERROR cannot open the store", "ERROR cannot reach a peer")
    assert mined(*lines) == [(line, 1) for line in lines]
    assert mined(*lines, settings=DrainSettings(similarity=0.3)) == [("ERROR cannot * * *", 2)]


def test_the_clock_and_the_rank_before_a_message_don_t_make_lines_alike() -> None:
    lines = ("[rank0]: 2026-01-02 03:04:05 12 disk full", "[rank1]: 2026-01-02 03:04:06 13 bad fan")
    assert len(mined(*lines)) == 2


def test_a_line_without_a_word_has_no_template() -> None:
    drain = Drain()
    assert drain.add(b" \t ") is None
    assert drain.add_lines(b"one\n\ntwo\n")[1] is None
    assert len(drain) == 2


def test_what_covers_a_line_says_what_is_known_and_nothing_is_learned() -> None:
    drain = Drain()
    drain.add_lines(b"saved part alpha of 3\nsaved part beta of 3\nepoch 4 is over\n")
    before = drain.state()
    lines = (b"saved part z of 9", b"epoch 5 is over", b"epoch five", b" ")
    found = [[one.text for one in drain.covering(line)] for line in lines]
    assert found == [["saved part * of #"], ["epoch # is over"], [], []]
    # A line that only would have joined a template is nothing that was seen before.
    assert drain.covering(b"epoch 5 is lost") == []
    assert drain.state() == before


def test_what_was_seen_longest_ago_goes_first() -> None:
    drain = Drain(DrainSettings(max_templates=8))
    for word in "abcdefgh":
        drain.add(f"{word} {word}".encode())
    drain.add(b"a a")  # seen again
    drain.add(b"new new")
    assert [one.text for one in drain.templates()] == [
        *(f"{word} {word}" for word in "acdefgh"),
        "new new",
    ]
    assert drain.get(1) is None


def test_a_kind_of_line_with_endless_wordings_does_not_push_out_the_others() -> None:
    drain = Drain(DrainSettings(max_templates=100, max_siblings=4))
    drain.add(b"epoch 4 is over")
    for number in range(1000):
        letters = "".join(chr(97 + int(digit)) for digit in f"{number:04d}")
        drain.add(
            f"worker says {letters} {letters[::-1]} x{letters} y{letters} z{letters}".encode()
        )
    assert len(drain) == 5
    assert drain.get(0) is not None


@given(
    LINES, st.sampled_from([SMALL, DrainSettings(similarity=0.0), DrainSettings(similarity=1.0)])
)
def test_it_finds_what_the_plain_form_finds(lines: list[str], settings: DrainSettings) -> None:
    quick, plain = Drain(settings), PlainDrain(settings)
    for line in lines:
        found = quick.add(line.encode())
        assert (None if found is None else found.id) == plain.add(line.encode())
    assert quick.state() == plain.state()


@given(st.lists(st.binary(max_size=30).map(lambda raw: raw.replace(b"\n", b" ")), max_size=40))
def test_any_bytes_will_do(lines: list[bytes]) -> None:
    quick, plain = Drain(SMALL), PlainDrain(SMALL)
    quick.add_lines(b"".join(line + b"\n" for line in lines))
    for line in lines:
        plain.add(line)
    assert quick.state() == plain.state()


@given(LINES, st.integers(0, 80))
def test_how_lines_are_cut_into_blocks_changes_nothing(lines: list[str], cut: int) -> None:
    whole, cut_up = Drain(SMALL), Drain(SMALL)
    whole.add_lines("".join(f"{line}\n" for line in lines).encode())
    for part in (lines[:cut], lines[cut:]):
        cut_up.add_lines("".join(f"{line}\n" for line in part).encode())
    assert cut_up.state() == whole.state()


@given(LINES, LINES)
def test_a_restored_one_goes_on_as_the_first_would_have(
    before: list[str], after: list[str]
) -> None:
    first = Drain(SMALL)
    first.add_lines("".join(f"{line}\n" for line in before).encode())
    text = msgspec.json.encode(first.state())
    restored = Drain.restore(msgspec.json.decode(text, type=DrainState), SMALL)
    for drain in (first, restored):
        drain.add_lines("".join(f"{line}\n" for line in after).encode())
    assert restored.state() == first.state()
    assert len(first) <= SMALL.max_templates


@pytest.mark.parametrize("known", ["lines", "words"])
def test_what_is_remembered_is_bounded(known: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("relume.models.templates.drain.MAX_REMEMBERED", 5)
    quick, plain = Drain(SMALL), PlainDrain(SMALL)
    for number in range(200):
        line = f"{'ab'[number % 2]} {'xyz' * (number % 7)} of {10 ** (number % 9)}".encode()
        quick.add(line)
        plain.add(line)
        assert len(getattr(quick, f"_{known}_known")) <= 5
    assert quick.state() == plain.state()
