"""Hyperscan and RE2 find the same lines and patterns in any bytes, and so does plain `re`."""

from __future__ import annotations

import re
import sys
from collections.abc import Callable, Iterable
from concurrent.futures import ThreadPoolExecutor
from functools import cache, partial
from itertools import pairwise

import pytest
from hypothesis import example, given, reject
from hypothesis import strategies as st

from relume.errors import RuleError
from relume.ingest.blocks import BLOCK_BYTES, MAX_LINE_BYTES, Block, BlockAssembler
from relume.models.signatures.engine import Candidate, Engine, build_engine
from relume.models.signatures.fields import check_pattern
from relume.models.signatures.loader import read_rules
from relume.models.signatures.patterns import PatternError, one_line
from relume.models.signatures.re2_engine import Re2Engine
from relume.models.signatures.ruleset import Catalogue

ENGINES = ("hyperscan", "re2")
Scan = Callable[[bytes], list[Candidate]]

CORNERS = (
    *("Xid", "(?i)k[^a]s", "^foo", "bar$", "^foo bar$", r"\bab\b", r"a\Bb", "[^,]x{2}"),
    *(r"x\Sy", r"n\W+z", "(?i)[a-k]Q", r"z\sz", "z.z", r"\d{2,}$", r"c\D{1,3}d", "foo|^bar"),
    *(r"[\s,]x", r"[^\w]y", "•x", "(?i:foo) x", r"foo[^\n]{0,9}bar", r"x\x00", "(?:a|ab)(?:c|bcd)"),
)
"""Patterns on everything in which engines could differ."""

NASTY = (
    *(b"\n", b"\n\n", b"\r\n", b"\r", b"\t", b"\x0b", b"\x0c", b"\x00", b"\x1c", b"\x85", b"\xa0"),
    *(
        b"\xff\xfe",
        b"\xc3",
        b"\xc5\xbf",
        b"\xe2\x84\xaa",
        b"\xe2\x80\xa2",
        b"\xe9",
        b"\xc9",
        b"\xdf",
    ),
)
WORDS = tuple(b"foo bar ab abc bcd xx x y n z Q k K s S Xid 7 42 _ , c d a Foo".split(b" "))
PIECES = (
    *("a", "b", "x", " ", "^", "$", ".", "|", "(", "(?:", "(?i:", ")", "*", "+", "?", "*?", "{2}"),
    *("{1,3}", r"\d", r"\D", r"\w", r"\W", r"\s", r"\S", r"\b", r"\B", r"\t", r"\x41", "[ab]"),
    *("[^a]", "[^-a]", r"[^\n]", r"[\s,]", r"[\S]", r"[^\W]", "[a-z]", "•", "(?i)", "foo"),
)
"""What random patterns are put together from."""

CORNER_TEXT = st.lists(st.sampled_from((*NASTY, *WORDS, b" ")), max_size=40).map(b"".join)


@cache
def corner_engine(name: str) -> Engine:
    return build_engine(CORNERS, prefer=name)


@cache
def catalogue() -> Catalogue:
    # Rules under edit may be broken: those that load are enough here.
    return Catalogue.of(read_rules()[0])


@cache
def rule_engine(name: str) -> Engine:
    return build_engine(catalogue().patterns, prefer=name)


@cache
def rule_tokens() -> tuple[bytes, ...]:
    """Whole samples, halves of them and their words."""
    samples = [
        text.encode()
        for rule in catalogue().signatures
        for text in (*rule.positive, *rule.negative)
    ]
    halves = [half for s in samples for half in (s[: len(s) // 2], s[len(s) // 2 :])]
    words = sorted({word for sample in samples for word in sample.split()})
    return (*samples, *halves, *words)


def by_line(data: bytes, patterns: tuple[str, ...]) -> list[Candidate]:
    """The slow and clear answer: every pattern on every line."""
    expressions = [re.compile(one_line(pattern).encode()) for pattern in patterns]
    found: list[Candidate] = []
    start = 0
    for text in data.split(b"\n"):
        ids = tuple(n for n, expression in enumerate(expressions) if expression.search(text))
        if ids:
            found.append(Candidate(start, start + len(text), ids))
        start += len(text) + 1
    return found


@example(b"")
@example(b"\n")
@example(b"foo")
@example(b"\nfoo\n\nbar\n")
@example(b"x\n\n\x0bz z\nz\nz")
@example(b"foo" * 5000 + b"Xid" * 3 + b" bar\nfoo bar")
@given(CORNER_TEXT)
def test_engines_agree_with_re_on_corners(data: bytes) -> None:
    expected = by_line(data, CORNERS)
    assert corner_engine("hyperscan").scan(data) == expected
    assert corner_engine("re2").scan(data) == expected


@given(st.lists(st.sampled_from(PIECES), min_size=1, max_size=7).map("".join), CORNER_TEXT)
def test_engines_agree_with_re_on_any_pattern(pattern: str, data: bytes) -> None:
    try:
        check_pattern(pattern)
        engines = [build_engine([pattern], prefer=name) for name in ENGINES]
    except (PatternError, RuleError):
        reject()  # no rule can have it
    expected = by_line(data, (pattern,))
    assert [engine.scan(data) for engine in engines] == [expected, expected]


@given(st.data())
def test_engines_agree_on_the_catalogue(data: st.DataObject) -> None:
    token = (
        st.sampled_from(rule_tokens())
        | st.sampled_from((*NASTY, b" ", b": "))
        | st.binary(max_size=9)
    )
    text = b"".join(data.draw(st.lists(token, max_size=30)))
    assert rule_engine("hyperscan").scan(text) == rule_engine("re2").scan(text)


def test_engines_agree_with_re_on_every_sample() -> None:
    samples = [text.encode() for rule in catalogue().signatures for text in rule.positive]
    block = b"\n".join(samples)
    expected = by_line(block, catalogue().patterns)
    assert len(expected) > 0.9 * len(samples)
    assert rule_engine("hyperscan").scan(block) == expected
    assert rule_engine("re2").scan(block) == expected


@pytest.mark.parametrize("name", ENGINES)
@given(st.lists(st.sampled_from((*WORDS, b" ", b"\xff", b"\r", b"\x00")).map(bytes), max_size=30))
def test_a_cut_between_lines_changes_nothing(name: str, words: list[bytes]) -> None:
    lines = [b" ".join(words[n : n + 3]) + b"\n" for n in range(0, len(words), 3)]
    engine = corner_engine(name)
    apart: list[Candidate] = []
    offset = 0
    for text in lines:
        apart += [
            Candidate(c.start + offset, c.end + offset, c.patterns) for c in engine.scan(text)
        ]
        offset += len(text)
    assert engine.scan(b"".join(lines)) == apart


@pytest.mark.parametrize("name", ENGINES)
def test_a_very_long_line_is_one_candidate(name: str) -> None:
    data = b"start\n" + b"Xid ab " * 300_000 + b"bar\nend"
    [short] = by_line(b"Xid ab Xid ab bar", CORNERS)
    assert {"Xid", "bar$", r"\bab\b"} <= {CORNERS[n] for n in short.patterns}
    assert corner_engine(name).scan(data) == [Candidate(6, len(data) - 4, short.patterns)]


def blocks_of(pieces: Iterable[bytes], *, block_bytes: int = BLOCK_BYTES) -> list[Block]:
    assembler = BlockAssembler("log", block_bytes=block_bytes)
    return [block for piece in pieces for block in assembler.feed(piece)] + assembler.finish()


def located(scan: Scan, blocks: Iterable[Block]) -> list[tuple[int, bytes, tuple[int, ...]]]:
    """Line, text and patterns of every candidate of a log."""
    return [
        (block.line_at(start), block.data[start:end], patterns)
        for block in blocks
        for start, end, patterns in scan(block.data)
    ]


@pytest.mark.parametrize("name", ENGINES)
@given(
    st.lists(st.sampled_from((*WORDS, *NASTY, b" ", b"\n", b"\r\n", b"Xid" * 40)), max_size=60),
    st.lists(st.integers(0, 400), max_size=8),
    st.integers(1, 64),
)
def test_a_log_in_blocks_gives_the_lines_of_the_whole(
    name: str, words: list[bytes], cuts: list[int], block_bytes: int
) -> None:
    """However it is read, and however small its blocks are: numbers, texts and patterns."""
    raw = b"".join(words)
    pieces = [raw[start:end] for start, end in pairwise([0, *sorted(cuts), len(raw)])]
    expected = located(partial(by_line, patterns=CORNERS), blocks_of([raw]))
    blocks = blocks_of(pieces, block_bytes=block_bytes)
    assert located(corner_engine(name).scan, blocks) == expected


@pytest.mark.parametrize("name", ENGINES)
@pytest.mark.parametrize("at", [0, 700_000, MAX_LINE_BYTES - 4, MAX_LINE_BYTES, 2_500_000])
def test_a_word_in_a_line_longer_than_a_block_is_found(name: str, at: int) -> None:
    long_line = bytearray(b"." * 3_000_000)
    long_line[at : at + 9] = b" Xid foo "
    raw = b"first\n" + bytes(long_line) + b"\nfoo bar\n"
    found = located(corner_engine(name).scan, blocks_of([raw]))
    assert {line for line, _, patterns in found if CORNERS.index("Xid") in patterns} == {1}
    assert found[-1] == (2, b"foo bar", by_line(b"foo bar", CORNERS)[0].patterns)


@pytest.mark.parametrize("name", ENGINES)
def test_patterns_can_be_counted_from_another_number(name: str) -> None:
    found = build_engine(["foo", "Xid"], prefer=name, first=40).scan(b"foo Xid\nXid")
    assert found == [Candidate(0, 7, (40, 41)), Candidate(8, 11, (41,))]


@pytest.mark.parametrize("name", ENGINES)
def test_nuls_are_found_by_no_pattern_of_many(name: str) -> None:
    patterns = [f"word {number} of many" for number in range(1000)]
    engine = build_engine(patterns, prefer=name)
    assert engine.scan(b"\x00\nword 7 of many\x00\n\x00") == [Candidate(2, 17, (7,))]


@pytest.mark.parametrize("name", ENGINES)
def test_twins_scan_side_by_side(name: str) -> None:
    data = b"".join(b"line %d foo bar Xid\n" % n for n in range(20_000))
    expected = corner_engine(name).scan(data)
    with ThreadPoolExecutor(4) as threads:
        scans = [threads.submit(corner_engine(name).twin().scan, data) for _ in range(12)]
        assert all(scan.result() == expected for scan in scans)


@pytest.mark.parametrize("name", ENGINES)
def test_an_engine_without_patterns_finds_nothing(name: str) -> None:
    assert build_engine([], prefer=name).scan(b"Xid\n") == []


@pytest.mark.parametrize("name", ENGINES)
@pytest.mark.parametrize("pattern", ["(lost", "lost(?!x)", r"a\nb"])
def test_a_bad_pattern_is_quoted(name: str, pattern: str) -> None:
    with pytest.raises(RuleError) as caught:
        build_engine(["fine", pattern], prefer=name)
    assert repr(pattern) in str(caught.value)


def test_re2_answers_the_same_pattern_by_pattern() -> None:
    engine = Re2Engine(CORNERS)
    for text in (b"foo bar", b"Xid 42", b"x,xx", b"nothing", b""):
        assert tuple(engine._patterns_one_by_one(text)) == engine._patterns_in(text)  # noqa: SLF001


def test_falls_back_to_re2_without_hyperscan(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delitem(sys.modules, "relume.models.signatures.hyperscan_engine", raising=False)
    monkeypatch.setitem(sys.modules, "hyperscan", None)
    assert build_engine(["Xid"]).name == "re2"


def test_names_the_engine_it_built() -> None:
    assert [corner_engine(name).name for name in ENGINES] == list(ENGINES)


def test_refuses_an_unknown_engine() -> None:
    with pytest.raises(ValueError, match="hyperscan or re2"):
        build_engine(["Xid"], prefer="pcre")
