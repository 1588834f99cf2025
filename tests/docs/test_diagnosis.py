"""`docs/diagnosis.md` explains every reason and every source of a rank's place."""

from __future__ import annotations

import re
from pathlib import Path

from relume.models.ranks.facts import Source
from relume.models.signatures.loader import load_catalogue
from relume.models.signatures.rule import Role, Tier
from relume.reasons import ReasonCode
from relume.verdict import Domain


def page(repository: Path) -> str:
    return (repository / "docs/diagnosis.md").read_text(encoding="utf-8")


def test_every_code_is_explained(repository: Path) -> None:
    named = set(re.findall(r"`([a-z_]+)`", page(repository)))
    assert {code.value for code in ReasonCode} <= named
    assert {source.value for source in Source} <= named


def test_xid_numbers_are_in_the_bucket_of_their_rule(repository: Path) -> None:
    rules = load_catalogue().by_id
    text = page(repository)
    hardware = re.search(r"^\| (46, .*?) \|", text, re.MULTILINE)
    application = re.search(r"^\| (13, .*?) \|", text, re.MULTILINE)
    informational = re.search(r"^\| (63, .*?) \|", text, re.MULTILINE)
    cleanup = re.search(r"^\| (43, .*?) \|", text, re.MULTILINE)
    assert hardware
    assert application
    assert informational
    assert cleanup
    for number in re.findall(r"\d+", hardware[1]):
        rule = rules[f"xid_{number}"]
        assert (rule.role, rule.tier, rule.domain) == (Role.ROOT, Tier.HARDWARE, Domain.HARDWARE)
    for number in re.findall(r"\d+", application[1]):
        assert rules[f"xid_{number}"].domain is Domain.WORKLOAD
    for number in re.findall(r"\d+", cleanup[1]):
        assert rules[f"xid_{number}"].role is Role.CASCADE
    for number in re.findall(r"\d+", informational[1]):
        assert rules[f"xid_{number}"].role in {Role.WARNING, Role.CONFIRMATION}
