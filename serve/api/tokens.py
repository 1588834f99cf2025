"""Who may do what: bearer tokens, each for one role, of which files may hold digests only."""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping
from enum import StrEnum
from hashlib import sha256
from hmac import compare_digest
from pathlib import Path

from relume.errors import ConfigError
from relume.files import require_private, small_text

MIN_TOKEN_LENGTH = 16
"""Characters; ``openssl rand -hex 32`` gives 64."""
_PREFIX = "sha256:"
_HASHED = re.compile(_PREFIX + "([0-9a-f]{64})")
_A_HASH = f"{_PREFIX} and 64 hexadecimal digits, in small letters"


class Role(StrEnum):
    """What a token allows."""

    INGEST = "ingest"
    """To push telemetry, and nothing else: these tokens are on every node."""
    READ = "read"
    """To read everything."""
    LABEL = "label"
    """To say whether Advice was right, and to read."""
    CONTROL = "control"
    """To change anything but telemetry: what the controller does, and people who approve."""

    @property
    def allows(self) -> frozenset[Role]:
        """What else a token of this role is good for, itself included."""
        return _ALLOWED[self]


_ALLOWED = {
    Role.INGEST: frozenset({Role.INGEST}),
    Role.READ: frozenset({Role.READ}),
    Role.LABEL: frozenset({Role.LABEL, Role.READ}),
    Role.CONTROL: frozenset({Role.CONTROL, Role.LABEL, Role.READ}),
}


class Tokens:
    """The tokens of each role, of which only digests are kept.

    Without a token for a role nobody has it. ``sha256:`` and 64 hexadecimal digits stand for the
    token of that digest.

    Examples
    --------
    >>> tokens = Tokens({Role.LABEL: ["a long enough secret"]})
    >>> sorted(tokens.roles("a long enough secret")), tokens.roles("another")
    ([<Role.LABEL: 'label'>, <Role.READ: 'read'>], frozenset())
    """

    def __init__(self, tokens: Mapping[Role, Iterable[str]]) -> None:
        self._known = [(_known(line), role) for role, those in tokens.items() for line in those]

    def roles(self, token: str) -> frozenset[Role]:
        """Return what `token` allows; takes as long for a wrong one as for a right one."""
        presented = _digest(token)
        # A list, not a generator that stops: every comparison is made, each in constant time.
        matches = [(compare_digest(presented, known), role) for known, role in self._known]
        held = [role.allows for matched, role in matches if matched]
        return frozenset[Role]().union(*held)


def read_tokens(files: Mapping[Role, Path]) -> Tokens:
    """Read the tokens of each role from its file: one a line, blank lines and ``#`` left out.

    A line is a token, or `hashed` of one.

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
        require_private(file, "token file")
        lines = small_text(file, "ascii").splitlines()
    except (OSError, UnicodeDecodeError) as error:
        raise ConfigError(
            f"token file {file}", found=str(error), expected="a readable file of ASCII tokens"
        ) from error
    stripped = ((number, line.strip()) for number, line in enumerate(lines, 1))
    tokens = [(number, line) for number, line in stripped if line and not line.startswith("#")]
    if not tokens:
        raise _bad_token(file, 1, "no token")
    for number, token in tokens:
        if token.startswith(_PREFIX) and _HASHED.fullmatch(token) is None:
            raise _bad_token(file, number, f"{_PREFIX} with something else behind it", _A_HASH)
        if len(token) < MIN_TOKEN_LENGTH or any(character.isspace() for character in token):
            raise _bad_token(file, number, f"{len(token)} characters")  # never the token itself
    return [token for _, token in tokens]


def hashed(token: str) -> str:
    """Return the line of a token file that stands for a token without telling it.

    Examples
    --------
    >>> hashed("a long enough secret")[:24]
    'sha256:a6f856f5912af0a63'
    """
    return f"sha256:{_digest(token).hex()}"


_A_TOKEN = f"a token of at least {MIN_TOKEN_LENGTH} characters, without white space"


def _bad_token(file: Path, line: int, found: str, expected: str = _A_TOKEN) -> ConfigError:
    return ConfigError(
        f"{file}:{line}",
        found=found,
        expected=expected,
        hint="make one with: relume config token",
    )


def _digest(token: str) -> bytes:
    # Digests have one length, so the comparison says nothing about the length of a token either.
    return sha256(token.encode("utf-8", "surrogateescape")).digest()


def _known(line: str) -> bytes:
    match = _HASHED.fullmatch(line)
    return _digest(line) if match is None else bytes.fromhex(match[1])
