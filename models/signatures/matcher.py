"""Turns a candidate line into hits: verifies the message, reads the captures, ranks the rules."""

from __future__ import annotations

from typing import TYPE_CHECKING

from relume.models.signatures.hit import Hit

if TYPE_CHECKING:
    from collections.abc import Iterable

    from relume.events import LogLine
    from relume.models.signatures.rule import Signature
    from relume.models.signatures.ruleset import Catalogue

READ_CHARACTERS = 8192
"""How much of a line `verify` and `captures` look at.

They run in a backtracking engine on text that a job wrote, so the time a line may take is bounded
here; no software prints its facts further out (compressed host lists of 10,000 nodes fit).
"""


class Matcher:
    """Judges candidate lines against a catalogue. Pure: equal input gives equal output.

    Examples
    --------
    >>> from relume.events import LogLine
    >>> from relume.models.signatures.loader import load_catalogue
    >>> catalogue = load_catalogue()
    >>> text = "CUDA out of memory. Tried to allocate 2 GiB. GPU 3 has a total capacity of 79 GiB"
    >>> index = catalogue.owners.index(catalogue.signatures.index(catalogue.by_id["cuda_oom"]))
    >>> [hit] = Matcher(catalogue).match(LogLine(text, 0, 0, "log"), [index])
    >>> hit.signature.id, hit.captures
    ('cuda_oom', {'gpu': '3'})
    """

    def __init__(self, catalogue: Catalogue) -> None:
        self._signatures = catalogue.signatures
        self._owners = catalogue.owners
        ranked = sorted(catalogue.signatures, key=lambda rule: (-rule.specificity, rule.id))
        place = {rule.id: position for position, rule in enumerate(ranked)}
        self._rank = tuple(place[rule.id] for rule in catalogue.signatures)

    def match(self, line: LogLine, patterns: Iterable[int]) -> list[Hit]:
        """Return the rules that hold on `line`, the most specific first, each once.

        Parameters
        ----------
        line
            The parsed line; `verify` sees its message, captures see its whole text.
        patterns
            Positions in `Catalogue.patterns` that an engine found in the line.
        """
        owners = {self._owners[pattern] for pattern in patterns}
        hits: list[Hit] = []
        for owner in sorted(owners, key=self._rank.__getitem__):
            signature = self._signatures[owner]
            if _verified(signature, line):
                hits.append(Hit(signature, line, _captures(signature, line.text)))
        return hits


def _verified(signature: Signature, line: LogLine) -> bool:
    """Whether `verify` is found after the prefixes, or before: some wording begins with one."""
    verify = signature.verify
    return (
        verify is None
        or verify.search(line.message[:READ_CHARACTERS]) is not None
        or verify.search(line.text[:READ_CHARACTERS]) is not None
    )


def _captures(signature: Signature, text: str) -> dict[str, str]:
    captured: dict[str, str] = {}
    for expression in signature.captures:
        if found := expression.search(text, 0, READ_CHARACTERS):
            for group, value in found.groupdict().items():
                if value is not None:
                    captured.setdefault(group, value)
    return captured
