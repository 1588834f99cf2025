"""A site's own patterns that backtracking engines never end with, and lines that show it."""

from __future__ import annotations

import json

PATTERNS = {
    "(a+)+$": "aa",
    "(a|a)*b": "aab",
    "(a|aa)+b": "aab",
    "(.*a){25}b": "a" * 25 + "b",
    "(?:.*a){9}c": "a" * 9 + "c",
    "(.*)*x": "aax",
    "([a-z]+)*!": "aa!",
    "(x+x+)+y": "xxy1",
    "(a*)*b": "aab",
    "a.{0,900}b.{0,900}c": "abc",
    "((a{1,99}){1,99}){1,99}": "aa",
    "(a{1,30}){1,30}c": "aac",
    ".*.*.*.*.*=b": "a=b",
    r"\w*\w*\w*\w*\w*;": "aa;",
    r"^(\d+)*\d$": "11",
    "(?=.*a)(?=.*b)c": "cab",
    r"(a)\1+b": "aab",
    "a" * 2_000: "a" * 2_000,
    "(((((((((a)))))))))*": "aa",
    "[": "a[",
}
"""Each with the shortest line that it ought to be found in."""
FIELDS = ("patterns", "verify", "captures")
LINES = ("a" * 8_000, "x" * 8_000, "1" * 8_000, "ab" * 4_000, "a=" * 4_000, "!" + "a" * 30)
REPEATED = 50


def rule_file(pattern: str, field: str) -> str:
    """Return a rule that has the pattern in one of its fields."""
    fields: dict[str, str | list[str]] = {"patterns": ["[a1]"]}
    if field == "captures":
        fields[field] = [f"(?P<rank>{pattern})"]
    else:
        fields[field] = pattern if field == "verify" else [pattern]
    shortest = PATTERNS[pattern]
    fields |= {"positive": [shortest, shortest[0] + shortest], "negative": ["q", "w"]}
    texts = "\n".join(f"{name} = {json.dumps(value)}" for name, value in fields.items())
    return (
        'category = "site"\n[[signature]]\nid = "own_rule"\nrole = "root"\ntier = "exception"\n'
        'kind = "crash"\ndomain = "workload"\nretry = "no"\nsummary = "our own"\n'
        f'source = "bench"\n{texts}\n'
    )


def log() -> bytes:
    """Return a log of lines on which backtracking never ends."""
    return "".join(f"{line}\n" for _ in range(REPEATED) for line in LINES).encode()
