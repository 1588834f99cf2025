"""Hostlists: Slurm's forms, nothing else, and never more names than asked for."""

from __future__ import annotations

import pytest

from relume.errors import InputError
from relume.slurm.hostlists import DEFAULT_LIMIT, expand, fold


@pytest.mark.parametrize(
    ("text", "names"),
    [
        ("gpu-b[17-18,22]", ["gpu-b17", "gpu-b18", "gpu-b22"]),
        ("a[1-2]b[3-4]", ["a1b3", "a1b4", "a2b3", "a2b4"]),
        ("gpu[008-011]", ["gpu008", "gpu009", "gpu010", "gpu011"]),
        ("n[8-11]", ["n8", "n9", "n10", "n11"]),
        ("n[1-2,01-02]", ["n01", "n1", "n02", "n2"]),
        ("n[1-2]-ib", ["n1-ib", "n2-ib"]),
        ("login", ["login"]),
        ("10.0.0.2,10.0.0.10", ["10.0.0.2", "10.0.0.10"]),
        ("n2,n1,n2,n[1-2]", ["n1", "n2"]),
        (" n1,n2\n", ["n1", "n2"]),
        ("n[7]", ["n7"]),
    ],
)
def test_expand(text: str, names: list[str]) -> None:
    assert expand(text) == names


@pytest.mark.parametrize("text", ["", "  ", "(null)", "None assigned"])
def test_what_slurm_prints_for_no_node_is_no_node(text: str) -> None:
    assert expand(text) == []


@pytest.mark.parametrize(
    "text",
    [
        "n[",
        "n[]",
        "n]1",
        "n[1-]",
        "n[1,,2]",
        "n[a-b]",
        "n[1-2][3-4]",
        "n[5-2]",
        "n[9-010]",
        "a,,b",
        ",a",
        "a b",
        "@group",
        "@*",
        "a!b",
        "a&b",
        "a^b",
        "a*",
        "n[0-10/2]",
        "n%s",
        "$(reboot)",
        "n\u0661",
        "n" * 256,
        "x" * 250 + "[1-1000000]",
    ],
)
def test_what_is_no_hostlist_is_refused(text: str) -> None:
    with pytest.raises(InputError, match="hostlist"):
        expand(text, limit=10**9)


@pytest.mark.parametrize(
    "text",
    [
        "n[1-999999999]",
        "n[1-999999999999999999]",
        "a[1-9999]b[1-9999]",
        "-".join(["a[1-9]"] * 12),
        ",".join(["n[1-1000]"] * 100),
        # Were a reversed range counted as negative, it would make room for the other.
        "a[999999999-1],b[1-999999999]",
    ],
)
def test_too_many_names_are_refused_before_they_are_made(text: str) -> None:
    with pytest.raises(InputError, match=f"names; expected at most {DEFAULT_LIMIT}"):
        expand(text)


def test_the_limit_is_inclusive() -> None:
    assert len(expand("n[1-8]", limit=8)) == 8
    with pytest.raises(InputError, match="found 9 names; expected at most 8; narrow the ranges"):
        expand("n[1-9]", limit=8)


def test_a_long_text_is_shortened_in_the_message() -> None:
    with pytest.raises(InputError) as caught:
        expand("!" * 10_000)
    assert len(str(caught.value)) < 300


@pytest.mark.parametrize(
    ("names", "text"),
    [
        ([], ""),
        (["n1"], "n1"),
        (["n2", "n1", "n1"], "n[1-2]"),
        (["gpu-b22", "gpu-b18", "gpu-b17"], "gpu-b[17-18,22]"),
        (["n09", "n10", "n11"], "n[09-11]"),
        (["a1b3", "a1b4", "a2b3"], "a1b[3-4],a2b3"),
        (["r10n1", "r10n2", "r9n1"], "r9n1,r10n[1-2]"),
        (["login", "n1", "n2"], "login,n[1-2]"),
    ],
)
def test_fold(names: list[str], text: str) -> None:
    assert fold(names) == text


def test_no_bracket_is_followed_by_text() -> None:
    # Slurm: "one of them must be at the end of the name" (slurm.conf, NodeName).
    assert fold(["n1-ib", "n2-ib"]) == "n1-ib,n2-ib"


@pytest.mark.parametrize("name", ["", "a b", "a,b", "n[1-2]", "@all", "x" * 256])
def test_what_is_no_name_is_not_folded(name: str) -> None:
    with pytest.raises(InputError, match="hostlist"):
        fold(["n1", name])
