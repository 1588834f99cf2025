"""The `failure-cases` corpus as a data set: an attempt for each excerpt, without times."""

from __future__ import annotations

from pathlib import Path

from relume.benchmarks.corpora import failure_cases
from relume.benchmarks.corpora.common import attempt_name, write_log
from relume.benchmarks.corpora.failure_cases import Case
from relume.benchmarks.scoring import kind_is_right, named_by
from relume.dataset import LABELLED, AttemptEntry, DatasetHeader, Incident, LogFile
from relume.ingest.datasets import Dataset, write_dataset
from relume.verdict import Domain, Kind

_BENIGN = Kind.BENIGN.value
_LABELLED = frozenset(kind.value for kind in LABELLED)
_LABEL_SOURCE = "two readings"


def write(data: Path, out: Path) -> Dataset:
    """Write the excerpts as a data set: one log each.

    Which state the attempts ended in is not known: excerpts don't say, and to say it would tell
    what is to be found.
    """
    corpus = failure_cases.load(data)
    header = DatasetHeader(
        name=corpus.name,
        description=(
            "Adapted excerpts of real failures and of harmless logs. Labels: what both of two "
            "readings of the text support; no label where they leave open if anything failed."
        ),
    )
    return write_dataset(
        out,
        header,
        (_entry(case, number, out) for number, case in enumerate(corpus.cases, start=1)),
    )


def is_decided(case: Case) -> bool:
    """Whether both readings agree on whether anything failed at all.

    They don't where one of them says *benign*, or that the scheduler ended it, and the other names
    a failure.
    """
    may_be_failure = bool(case.accept_kind & _LABELLED)
    may_be_scheduler = Domain.SCHEDULER.value in case.accept_domain
    is_either = may_be_scheduler and len(case.accept_domain - {Domain.UNKNOWN.value}) > 1
    return not (may_be_failure and (_BENIGN in case.accept_kind or is_either))


def has_failed(case: Case) -> bool:
    """Whether a decided case shows an incident.

    A time limit, a preemption and a cancellation are none (`docs/formats/dataset.md`), though the
    corpus calls them crashes, of the scheduler.
    """
    return case.kind != _BENIGN and case.fault_domain != Domain.SCHEDULER.value


def incident_of(case: Case, attempt: str) -> Incident:
    """Return the incident that a case shows that `has_failed`; nobody knows when.

    What the label says in other words than an incident has stays null: a class that is no cause of
    ours, a domain that is one of several, a culprit that is a GPU, a NIC or a local rank, and one
    that needn't be named.
    """
    domains = {domain for domain in case.accept_domain if domain != Domain.UNKNOWN.value}
    is_known = case.fault_domain != Domain.UNKNOWN.value and len(domains) == 1
    culprit = {} if case.culprit is None or case.culprit_optional else named_by(case.culprit)
    other = {"hang": "crash", "crash": "hang"}.get(case.kind)
    return Incident(
        incident_id=case.id,
        attempt=attempt,
        kind=Kind(case.kind),
        domain=Domain(domains.pop()) if is_known else None,
        culprit_nodes=(culprit["node"],) if "node" in culprit else (),
        culprit_ranks=(int(culprit["rank"]),) if "rank" in culprit else (),
        label_source=_LABEL_SOURCE,
        watchdog=other is not None and kind_is_right(case, other),
    )


def _entry(case: Case, number: int, out: Path) -> AttemptEntry:
    attempt = attempt_name("failure-cases", number)
    incidents: tuple[Incident, ...] | None = None
    if is_decided(case):
        incidents = (incident_of(case, attempt),) if has_failed(case) else ()
    path = write_log(out, f"{case.id}.log", case.text)
    return AttemptEntry(
        attempt=attempt,
        name=case.id,
        files=(LogFile(path=path.as_posix()),),
        incidents=incidents,
    )
