"""The verdict of one episode."""

from __future__ import annotations

from dataclasses import replace

from relume.models.diagnosis.blame import Blame, exclusions
from relume.models.diagnosis.calm import calm_finding
from relume.models.diagnosis.citing import cited, ruled_out
from relume.models.diagnosis.clocks import clock_reasons, node_of
from relume.models.diagnosis.confidence import weighed
from relume.models.diagnosis.culprit import find_culprit
from relume.models.diagnosis.doubt import doubted
from relume.models.diagnosis.dumps import by_dumps, dump_mentions, join_dumps, stuck_of
from relume.models.diagnosis.episode import Episode
from relume.models.diagnosis.evidence import evidence_lines, mentions
from relume.models.diagnosis.finding import Finding
from relume.models.diagnosis.killed import KILLED_CAUSE, MEMORY_CAUSE, is_kill, witness_of
from relume.models.diagnosis.missing import missing_evidence
from relume.models.diagnosis.numeric import from_first_bad_step
from relume.models.diagnosis.order import Root, choose_root
from relume.models.diagnosis.outlook import operation
from relume.models.diagnosis.own import own_evidence, own_nodes
from relume.models.diagnosis.scheduler import outranks, scheduler_finding
from relume.models.diagnosis.settings import DiagnosisSettings
from relume.models.diagnosis.subset import Spread, spread_of
from relume.models.signatures.hit import Hit
from relume.reasons import Reason, ReasonCode
from relume.verdict import Domain, Kind, Locator, Retry, Verdict


def diagnose(episode: Episode, settings: DiagnosisSettings | None = None) -> Verdict:
    """Say what happened to the attempt of `episode`, why, and who is to blame.

    Cost is linear in the kept evidence, which is bounded. Deterministic: equal episodes give equal
    verdicts.
    """
    settings = settings or DiagnosisSettings()
    episode, set_aside = own_evidence(episode)
    root = choose_root(episode)
    if root is not None and outranks(episode, root):
        root = None
    own = own_nodes(episode)
    blame = find_culprit(episode, root, own) if root is not None else Blame()
    spread = spread_of(episode, root.hit) if root is not None else None
    finding = _finding(episode, root, blame)
    if spread is not None:
        blame, finding = _of_spread(spread, blame, finding)
    blame, finding = join_dumps(episode, root, blame, finding, own)
    finding = from_first_bad_step(finding, episode.progress)
    finding = doubted(episode, root, weighed(episode, root, finding))
    if finding.confidence < settings.confidence_threshold:
        blame, finding = by_dumps(episode, finding, own) or (Blame(), finding)
    if finding.confidence < settings.confidence_threshold:
        finding = _abstained(finding, settings.confidence_threshold)
        blame = Blame()
    alone = spread is not None and spread.is_alone
    excluded: tuple[str, ...] = ()
    if root is not None and finding.kind.is_failure:
        excluded = exclusions(blame, root, own, alone=alone)
    named = bool(blame.where)
    root_place = (finding.file or "", -1 if finding.line is None else finding.line)
    return Verdict(
        attempt=episode.attempt,
        kind=finding.kind,
        cause=finding.cause,
        domain=finding.domain,
        root_line=finding.line,
        root_file=finding.file,
        culprit=blame.where,
        retry=finding.retry,
        operation=operation(
            finding.kind, finding.domain, finding.retry, excludes=bool(excluded), named=named
        ),
        confidence=round(finding.confidence, 3),
        rule=finding.rule,
        exclude_nodes=excluded,
        mentions=(*dump_mentions(episode), *mentions(episode, settings.max_mentions)),
        evidence=evidence_lines(episode, root, blame.hit, settings.max_evidence),
        missing_evidence=missing_evidence(episode, root, finding.kind, blame.where),
        reasons=(*set_aside, *_clocks(episode, root, blame), *finding.reasons),
        files=episode.files,
        raised_in=episode.frames.get(root_place),
        stuck=stuck_of(episode, own),
    )


def _clocks(episode: Episode, root: Root | None, blame: Blame) -> tuple[Reason, ...]:
    """Say whose clock is off, of the nodes that the verdict is about."""
    root_node = None if root is None else node_of(root.hit, episode.ranks)
    return clock_reasons(episode.clocks, dict.fromkeys((root_node, blame.where.node)))


def _of_spread(spread: Spread, blame: Blame, finding: Finding) -> tuple[Blame, Finding]:
    """Say what the subset test says: whose it is, and whether a restart helps."""
    where = Locator(node=spread.node)
    reasons = (*finding.reasons, spread.reason)
    changed = replace(finding, domain=spread.domain, retry=spread.retry, reasons=reasons)
    return replace(blame, where=where), changed


def _finding(episode: Episode, root: Root | None, blame: Blame) -> Finding:
    if root is None:
        return scheduler_finding(episode) or calm_finding(episode)
    signature, hit = root.hit.signature, blame.hit or root.hit
    if is_kill(hit) and signature.cause != MEMORY_CAUSE:
        return _killed(episode, root, hit, blame)
    return Finding(
        kind=signature.kind,
        cause=signature.cause,
        domain=signature.domain,
        retry=signature.retry,
        rule=signature.id,
        file=hit.line.file,
        line=hit.line.line,
        reasons=(*root.reasons, *blame.reasons),
    )


def _killed(episode: Episode, root: Root, hit: Hit, blame: Blame) -> Finding:
    """A death by signal 9 without a witness stays unexplained, whatever the launcher calls it."""
    witness = witness_of(episode, hit)
    signature = root.hit.signature
    if witness is None:
        why = Reason(ReasonCode.KILL_UNWITNESSED, cited([hit]))
        cause, domain, retry = KILLED_CAUSE, Domain.UNKNOWN, Retry.UNCLEAR
    else:
        why = Reason(ReasonCode.KILL_WITNESSED, ruled_out([(hit, witness)]))
        told = witness.signature
        cause, domain, retry = told.cause, told.domain, told.retry
    return Finding(
        kind=signature.kind,
        cause=cause,
        domain=domain,
        retry=retry,
        rule=signature.id,
        file=hit.line.file,
        line=hit.line.line,
        reasons=(*root.reasons, *blame.reasons, why),
    )


def _abstained(finding: Finding, threshold: float) -> Finding:
    detail = f"confidence {finding.confidence:.2f} of {finding.kind} is below {threshold:.2f}"
    return replace(
        finding,
        kind=Kind.UNKNOWN,
        cause=None,
        domain=Domain.UNKNOWN,
        retry=Retry.UNCLEAR,
        rule=None,
        reasons=(*finding.reasons, Reason(ReasonCode.ABSTAINED, detail=detail)),
    )
