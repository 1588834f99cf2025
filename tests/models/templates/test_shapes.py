"""What lines look like: failures, troubles, parts of stacks, anything else."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from relume.models.templates.shapes import Shape, shape_of

SHAPES = {
    Shape.FAILURE: [
        "ERROR vault seal is open",
        "error: the vault is open",
        "store.VaultException: seal 4",
        "SealFailure: four of five",
        "terminate called without an active exception",
        "thread 'main' panicked at src/vault.rs:3",
        "Assertion `seal != 0' failed.",
    ],
    Shape.TROUBLE: [
        "warning: seal 3 of 4 is old",
        "the seal could not be read",
        "peer 4 gave up",
        "no such seal",
        "seal mismatch on shard 4",
    ],
    Shape.PLAIN: ["shard 4 of 9 is there", "default seal, errorless", "{'error_rate': 0.1}"],
    Shape.FRAME: [
        '  File "/app/vault.py", line 8, in open',
        "    raise VaultException(seal)",
        "Traceback (most recent call last):",
        "    at store.Vault.open(Vault.java:8)",
        "frame #3: vault::open() + 0x1f (0x7f00 in libvault.so)",
        " vault_open+0x1f/0x40 [vault]",
        "RAX: ffffffffffffffda RBX: 0000000000000001",
        "=====================",
        "+ ./run.sh --seals 4",
        "        return self.vault.open(seal)",
        "",
    ],
}


@pytest.mark.parametrize(
    ("shape", "text"), [(shape, text) for shape, texts in SHAPES.items() for text in texts]
)
def test_the_shape_of_a_line(shape: Shape, text: str) -> None:
    assert shape_of(text) is shape


@pytest.mark.parametrize(
    ("prefix", "shape"),
    [
        ("E0302 03:04:05.678901 77 vault.cc:12] ", Shape.FAILURE),
        ("[rank3]:[E302 03:04:05.678901 vault.cc:12] ", Shape.FAILURE),
        ("2026-03-02 03:04:05 CRITICAL ", Shape.FAILURE),
        ("W0302 03:04:05.678901 77 vault.cc:12] ", Shape.TROUBLE),
        ("2026-03-02 03:04:05 [WARNING] ", Shape.TROUBLE),
        ("I0302 03:04:05.678901 77 vault.cc:12] ", Shape.PLAIN),
    ],
)
def test_a_prefix_says_how_bad_it_is(prefix: str, shape: Shape) -> None:
    assert shape_of(f"{prefix}seal four of five", len(prefix)) is shape


@given(st.text(max_size=800), st.integers(0, 900))
def test_any_text_has_a_shape(text: str, start: int) -> None:
    assert shape_of(text, start) in Shape
