"""Who may do what: bearer tokens, each for one role."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from enum import StrEnum
from hashlib import sha256
from hmac import compare_digest
from pathlib import Path

from relume.errors import ConfigError

MIN_TOKEN_LENGTH = 16
"""Characters; ``openssl rand -hex 32`` gives 64."""
_READABLE_BY_OTHERS = 0o004


class Role(StrEnum):
    """What a token allows."""

    CONTROL = "control"
    """All that changes something: what the controller does."""


class Tokens:
    """The tokens of each role, of which only digests are kept.

    Without a token for a role nobody has it.

    Examples
    --------
    >>> tokens = Tokens({Role.CONTROL: ["a long enough secret"]})
    >>> tokens.roles("a long enough secret"), tokens.roles("another")
    (frozenset({<Role.CONTROL: 'control'>}), frozenset())
    """

    def __init__(self, tokens: Mapping[Role, Iterable[str]]) -> None:
        self._known = [(_digest(token), role) for role, those in tokens.items() for token in those]

    def roles(self, token: str) -> frozenset[Role]:
        """Return what `token` allows; takes as long for a wrong one as for a right one."""
        presented = _digest(token)
        # A list, not a generator that stops: every comparison is made, each in constant time.
        matches = [(compare_digest(presented, known), role) for known, role in self._known]
        return frozenset(role for matched, role in matches if matched)


def read_tokens(files: Mapping[Role, Path]) -> Tokens:
    """Read the tokens of each role from its file: one a line, blank lines and ``#`` left out.

    Two tokens in a file let the old one be replaced by the new one without a gap.

    Raises
    ------
    ConfigError
        For a file that can't be read, that everybody on the machine can read, or that holds no
        token, and for a token that is too short or has white space in it.
    """
    return Tokens({role: _read(file) for role, file in files.items()})


def _read(file: Path) -> list[str]:
    try:
        mode = file.stat().st_mode
        lines = file.read_text(encoding="ascii").splitlines()
    except (OSError, UnicodeDecodeError) as error:
        raise ConfigError(
            f"token file {file}", found=str(error), expected="a readable file of ASCII tokens"
        ) from error
    if mode & _READABLE_BY_OTHERS:
        raise ConfigError(
            f"token file {file}",
            found=f"mode {mode & 0o777:o}, which lets everybody read it",
            expected="mode 600 or 640",
            hint=f"chmod o= {file}",
        )
    stripped = ((number, line.strip()) for number, line in enumerate(lines, 1))
    tokens = [(number, line) for number, line in stripped if line and not line.startswith("#")]
    if not tokens:
        raise _bad_token(file, 1, "no token")
    for number, token in tokens:
        if len(token) < MIN_TOKEN_LENGTH or any(character.isspace() for character in token):
            raise _bad_token(file, number, f"{len(token)} characters")  # never the token itself
    return [token for _, token in tokens]


def _bad_token(file: Path, line: int, found: str) -> ConfigError:
    return ConfigError(
        f"{file}:{line}",
        found=found,
        expected=f"a token of at least {MIN_TOKEN_LENGTH} characters, without white space",
        hint="make one with: openssl rand -hex 32",
    )


def _digest(token: str) -> bytes:
    # Digests have one length, so the comparison says nothing about the length of a token either.
    return sha256(token.encode("utf-8", "surrogateescape")).digest()
