"""What the commands count is in words: never *1 warnings*."""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator
from pathlib import Path

import pytest

COUNTED = re.compile(
    r" (?:\w+ )?(?:alarms|attempts|bytes|commands|commits|days|events|failures|files|findings|"
    r"incidents|jobs|labels|lines|nodes|ones|overlaps|rows|rules|runs|samples|segments|times|"
    r"tries|warnings|workers)\b"
)
FOLDERS = ("src/relume/cli", "serve/doctor", "controller")


def counts_in(tree: ast.AST) -> Iterator[tuple[int, str]]:
    """Yield what is written with a number and a plural right after it, without `counted`."""
    for text in ast.walk(tree):
        if not isinstance(text, ast.JoinedStr):
            continue
        for number, words in zip(text.values, text.values[1:], strict=False):
            if not isinstance(number, ast.FormattedValue) or not isinstance(words, ast.Constant):
                continue
            is_given = isinstance(number.value, ast.Name) and number.value.id.isupper()
            if not is_given and COUNTED.match(str(words.value)):
                yield text.lineno, ast.unparse(text)


@pytest.mark.parametrize("folder", FOLDERS)
def test_numbers_with_their_nouns_are_counted(repository: Path, folder: str) -> None:
    found = [
        (path.name, *one)
        for path in sorted((repository / folder).rglob("*.py"))
        for one in counts_in(ast.parse(path.read_text(encoding="utf-8")))
    ]
    assert found == []


def test_a_plural_is_found() -> None:
    tree = ast.parse('f"{len(found)} lines: {bad} warnings, {days:.1f} job-days, {MOST} rows"')
    assert [line for line, _ in counts_in(tree)] == [1, 1]
