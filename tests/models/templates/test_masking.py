"""What of a line is a value, and what is not."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from relume.models.templates.masking import MAX_LINE_BYTES, MAX_WORDS, Masker


def masked(text: str) -> str:
    return b" ".join(Masker().words(text.encode())).decode()


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("step 12/5000 loss: 1.23e-05 | 3.5ms", "step # loss: # | #ms"),
        ("[rank31]: lost node017.cluster.local", "[rank#]: lost node#.cluster.local"),
        ("[2026-01-02 03:04:05,678] up", "[# #] up"),
        ("at 0x7fAB12, id cafe123 of 9f86d081884c7d659a2f", "at #, id # of #"),
        ("uuid GPU-3f2b1c9e-1111-2222-3333-444455556666.", "uuid #."),
        ('File "/home/u/run/train.py", line 12, in main', 'File "#", line #, in main'),
        ("./run.sh ../a/b ~/x --out=/a/b.pt [/dev/nvidia0]", "# # # --out=# [#]"),
        ("10.0.0.17:29500 fe80::1 0000:1a:00.0 aa:bb:0c:dd:ee:ff", "# # # #"),
        # Words stay words, however much they look like hex or a path.
        (
            "feed deadbeef and/or n/a it/s float32 sm_80",
            "feed deadbeef and/or n/a it/s float# sm_#",
        ),
    ],
)
def test_values_are_masked_and_words_are_not(text: str, expected: str) -> None:
    assert masked(text) == expected


def test_a_line_has_a_limit_in_words_and_in_bytes() -> None:
    masker = Masker()
    assert len(masker.words(b"a " * 200)) == MAX_WORDS
    assert masker.words(b"x" * 10 * MAX_LINE_BYTES) == (b"x" * MAX_LINE_BYTES,)


def test_no_word_is_cut_in_two() -> None:
    word = b"timer-" + b"of-a-phase" * 9
    for value in (7, 12345):
        assert set(Masker().words((word + b" %d " % value) * 40)) == {word, b"#"}


def test_bytes_that_are_no_text_become_text() -> None:
    assert masked("") == ""
    assert Masker().words(b"\xff\xfe ok") == ("\ufffd\ufffd".encode(), b"ok")


@given(st.lists(st.binary(max_size=40), max_size=30))
def test_what_is_remembered_changes_nothing(lines: list[bytes]) -> None:
    masker = Masker()
    assert [masker.words(line) for line in lines * 2] == [
        Masker().words(line) for line in lines
    ] * 2


@given(st.text("abf0159:/.-x_ [", max_size=60), st.text("0123456789", min_size=60, max_size=60))
def test_one_digit_is_as_good_as_another(text: str, digits: str) -> None:
    other = "".join(new if old.isdigit() else old for old, new in zip(text, digits, strict=False))
    assert masked(other) == masked(text)
