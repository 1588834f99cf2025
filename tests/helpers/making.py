"""Hits and episodes made by hand, so that each test shows exactly the evidence it is about."""

from __future__ import annotations

from typing import Any

from relume.events import LogLine
from relume.features.progress.assess import ProgressAssessment, assess
from relume.features.progress.tracker import ProgressTracker
from relume.models.diagnosis.builder import EpisodeBuilder
from relume.models.diagnosis.episode import Episode
from relume.models.signatures.hit import Hit
from relume.models.signatures.rule import Role, Signature, Tier
from relume.verdict import Domain, Kind, Retry

LOG = "job.log"


def make_signature(name: str = "rule", **changes: Any) -> Signature:
    """Return a root of tier exception unless told otherwise."""
    fields: dict[str, Any] = {
        "id": name,
        "category": "python",
        "role": Role.ROOT,
        "tier": Tier.EXCEPTION,
        "kind": Kind.CRASH,
        "domain": Domain.WORKLOAD,
        "retry": Retry.NO,
        "patterns": (name,),
        "cause": name,
    }
    return Signature(**(fields | changes))


def make_hit(
    signature: Signature, line: int, *, captures: dict[str, str] | None = None, **where: Any
) -> Hit:
    """Return a hit of `signature` on `line`; `where` are fields of the log line."""
    fields: dict[str, Any] = {"file": LOG, "text": f"{signature.id} on line {line}", "offset": 0}
    return Hit(signature, LogLine(line=line, **(fields | where)), captures or {})


def nothing_seen() -> ProgressAssessment:
    """Return the assessment of a log without progress."""
    return assess(ProgressTracker())


def make_episode(
    *hits: Hit, files: tuple[str, ...] = (LOG,), advances: tuple[int, ...] = (), **built: Any
) -> Episode:
    """Return an episode of `hits`; `advances` are lines of the first file that showed new steps."""
    builder = EpisodeBuilder("attempt", files)
    builder.note_form("stdout")
    for hit in hits:
        builder.add_hit(hit)
    for line in advances:
        builder.note_advance(LogLine("step", line, 0, files[0]))
    if "clean_end" in built:
        builder.note_clean_end(LogLine("done", built["clean_end"], 0, files[0]))
    return builder.build(built.get("progress") or nothing_seen())
