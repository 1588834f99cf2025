"""torchelastic's reports: which failure the launcher saw first."""

from __future__ import annotations

from making import make_episode, make_hit, make_signature
from relume.models.diagnosis.elastic import first_failure
from relume.models.signatures.rule import Tier

MARK = make_signature("elastic_root_cause", category="rendezvous", tier=Tier.POINTER)
HOST = make_signature("elastic_block_host", category="rendezvous", tier=Tier.POINTER)
RANK = make_signature("elastic_block_rank", category="rendezvous", tier=Tier.POINTER)
EXIT = make_signature("elastic_block_exitcode", category="rendezvous", tier=Tier.POINTER)
TRACE = make_signature("elastic_block_traceback", category="rendezvous", tier=Tier.POINTER)
AGENT = make_signature("elastic_failed", category="rendezvous", tier=Tier.POINTER)


def block(line: int, node: str, rank: str) -> list:  # type: ignore[type-arg]
    return [
        make_hit(HOST, line, captures={"node": node}),
        make_hit(RANK, line + 1, captures={"rank": rank, "local_rank": rank}),
        make_hit(EXIT, line + 2, captures={"exit_code": "-6"}),
    ]


def test_the_marked_part_of_a_block_wins_over_what_stands_before_it() -> None:
    hits = [*block(1, "gpu-a01", "3"), make_hit(MARK, 9), *block(10, "gpu-a02", "5")]
    found = first_failure(make_episode(*hits))
    assert found is not None
    assert (found.node, found.rank, found.local_rank, found.exit_code) == ("gpu-a02", 5, 5, -6)
    assert found.hit is not None
    assert found.hit.line.line == 12


def test_a_traceback_line_tells_more_than_an_exit_code() -> None:
    hits = [make_hit(MARK, 0), *block(1, "gpu-a01", "3")]
    hits.append(make_hit(TRACE, 5, captures={"signal": "6"}))
    found = first_failure(make_episode(*hits))
    assert found is not None
    assert found.hit is hits[-1]


def test_without_a_mark_the_first_report_counts() -> None:
    agent = make_hit(AGENT, 0, captures={"exit_code": "1", "local_rank": "4"})
    found = first_failure(make_episode(agent, *block(3, "gpu-a01", "3")))
    assert found is not None
    assert (found.local_rank, found.exit_code, found.hit) == (4, 1, agent)


def test_reports_far_apart_are_not_one() -> None:
    hits = [
        make_hit(HOST, 0, captures={"node": "gpu-a01"}),
        make_hit(RANK, 400, captures={"rank": "9", "local_rank": "1"}),
    ]
    found = first_failure(make_episode(*hits))
    assert found is not None
    assert (found.node, found.rank) == ("gpu-a01", None)


def test_no_report_no_failure() -> None:
    assert first_failure(make_episode()) is None
    assert first_failure(make_episode(make_hit(MARK, 3))) is None
