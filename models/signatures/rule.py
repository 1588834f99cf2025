"""What a signature is: data that says which words mean what, and who they implicate."""

from __future__ import annotations

import re
from dataclasses import dataclass
from enum import StrEnum

from relume.verdict import Domain, Kind, Retry


class Role(StrEnum):
    """What a matching line is worth in a diagnosis."""

    ROOT = "root"
    """May be the first cause."""
    CONFIRMATION = "confirmation"
    """States as a fact that this ended the attempt (oom_kill, NODE_FAIL, Xid 154)."""
    CASCADE = "cascade"
    """Printed by victims; a cause only when nothing better is there."""
    POINTER = "pointer"
    """Names where to look (exit codes, torchelastic blocks), not why."""
    WARNING = "warning"
    """Supports another rule; alone it must not stop a job."""
    NOISE = "noise"
    """Never an anchor; known so that it can be ignored by name."""


class Tier(StrEnum):
    """The ordering rule of the signature reference, strongest first."""

    DECISIVE = "decisive"
    HARDWARE = "hardware"
    EXCEPTION = "exception"
    FABRIC = "fabric"
    TIMEOUT = "timeout"
    POINTER = "pointer"
    TEARDOWN = "teardown"


TIER_ORDER: dict[Tier, int] = {tier: position for position, tier in enumerate(Tier)}


class Implicates(StrEnum):
    """Whom a line accuses when it is the root."""

    NOBODY = "nobody"
    PRINTER = "printer"
    """The node, rank or GPU of the line's prefix (and what the captures add)."""
    NAMED = "named"
    """Only what the captures read in the text; the printing host is a bystander."""


class Exclude(StrEnum):
    """Whether the implicated node should be left out of the next attempt."""

    NEVER = "never"
    ON_REPEAT = "on_repeat"
    YES = "yes"


@dataclass(frozen=True, slots=True)
class Signature:
    """One rule. See `docs/formats/signatures.md` for the file form."""

    id: str
    category: str
    """Family, as in the catalogue's file names: cuda, torch_nccl, nccl, gpu_driver, …"""
    role: Role
    tier: Tier
    kind: Kind
    domain: Domain
    retry: Retry
    patterns: tuple[str, ...]
    """Linear-time regular expressions; any one locates a candidate line."""
    implicates: Implicates = Implicates.NOBODY
    exclude: Exclude = Exclude.NEVER
    cause: str = ""
    """Stable name of the cause; defaults to the id."""
    summary: str = ""
    """One sentence for a person: what this line means."""
    advice: str = ""
    """One sentence for a person: what to do about it."""
    verify: re.Pattern[str] | None = None
    """Python expression that must be found in the message (prefix removed) or the whole line."""
    captures: tuple[re.Pattern[str], ...] = ()
    """Python expressions searched in the whole text; every named group is kept."""
    specificity: int = 50
    """0-100: on the same line the higher wins; 20 and less say only that something failed."""
    refines: str | None = None
    """The rule of the wider wording that this one is a case of, null where there is none."""
    closes: tuple[str, ...] = ()
    """Rules whose earlier lines this one takes back (same peer or NIC, where both name one)."""
    positive: tuple[str, ...] = ()
    negative: tuple[str, ...] = ()
    source: str = ""
    """Where the wording comes from (file in the emitting project, driver document, man page)."""
    override: bool = False
    """Whether this rule of a site stands in the place of the packaged one of the same id."""
    origin: str = ""
    """The file that the rule was read from; set by the loader."""
