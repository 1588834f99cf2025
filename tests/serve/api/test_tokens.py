"""Tokens: read from files that not everybody can read, never shown."""

from __future__ import annotations

from pathlib import Path

import pytest

from relume.errors import ConfigError
from relume.serve.api.tokens import Role, Tokens, hashed, read_tokens

OLD = "0123456789abcdef"
NEW = "fedcba9876543210"
CONTROL = frozenset({Role.CONTROL, Role.LABEL, Role.READ})


def token_file(folder: Path, text: str, mode: int = 0o600) -> Path:
    file = folder / "control.token"
    file.write_text(text)
    file.chmod(mode)
    return file


@pytest.mark.parametrize("mode", [0o600, 0o400, 0o640])
def test_every_token_of_a_file_has_its_role(tmp_path: Path, mode: int) -> None:
    file = token_file(tmp_path, f"# until May\n{OLD}\n\n  {NEW}\t\n", mode)
    tokens = read_tokens({Role.CONTROL: file})
    assert tokens.roles(OLD) == tokens.roles(NEW) == CONTROL
    for wrong in ("", "# until May", OLD[:-1], f"{OLD} ", OLD.upper(), "é", "\udcff"):
        assert tokens.roles(wrong) == frozenset()


def test_a_file_may_hold_what_stands_for_a_token(tmp_path: Path) -> None:
    file = token_file(tmp_path, f"{hashed(OLD)}\n{NEW}\n")
    tokens = read_tokens({Role.CONTROL: file})
    assert tokens.roles(OLD) == tokens.roles(NEW) == CONTROL
    assert tokens.roles(hashed(OLD)) == frozenset()


@pytest.mark.parametrize("text", ["\ufeff{}\n", "{}\r\n# a comment\r\n", "\r\n{}", "{0}\n{0}\n"])
def test_a_file_may_come_from_any_editor(tmp_path: Path, text: str) -> None:
    file = tmp_path / "tokens"
    file.touch(mode=0o600)
    file.write_bytes(text.format(OLD).encode())
    assert read_tokens({Role.CONTROL: file}).roles(OLD) == CONTROL


def test_without_tokens_nobody_has_a_role() -> None:
    assert Tokens({}).roles(OLD) == frozenset()
    assert read_tokens({}).roles("") == frozenset()


def test_the_tokens_themselves_are_not_kept() -> None:
    assert OLD not in repr(vars(Tokens({Role.CONTROL: [OLD]})))


@pytest.mark.parametrize(
    ("mode", "may"), [(0o644, "read it"), (0o604, "read"), (0o602, "write to it")]
)
def test_a_file_that_everybody_can_read_is_refused(tmp_path: Path, mode: int, may: str) -> None:
    file = token_file(tmp_path, OLD, mode)
    with pytest.raises(ConfigError, match=rf"found mode 6.., which lets everybody {may}.*chmod o="):
        read_tokens({Role.CONTROL: file})


@pytest.mark.parametrize(
    ("text", "place"),
    [
        ("", ":1; found no token"),
        ("# nothing\n\n", ":1; found no token"),
        (f"{OLD}\n{OLD[:-1]}\n", ":2; found 15 characters"),
        (f"control {OLD}\n", ":1; found 24 characters"),
        (f"{OLD}\nsha256:{'A' * 64}\n", ":2; found sha256: with something else"),
        (f"sha256:{'a' * 63}\n", ":1; found sha256: with something else"),
    ],
)
def test_a_file_without_proper_tokens_is_refused(tmp_path: Path, text: str, place: str) -> None:
    file = token_file(tmp_path, text)
    with pytest.raises(ConfigError) as caught:
        read_tokens({Role.CONTROL: file})
    assert f"{file}{place}" in str(caught.value)
    assert OLD[:-1] not in str(caught.value)


def test_a_file_that_is_not_there_or_no_text_is_refused(tmp_path: Path) -> None:
    with pytest.raises(ConfigError, match="No such file"):
        read_tokens({Role.CONTROL: tmp_path / "missing"})
    file = token_file(tmp_path, "")
    file.write_bytes(b"\xff" * 40)
    with pytest.raises(ConfigError, match="ASCII"):
        read_tokens({Role.CONTROL: file})
