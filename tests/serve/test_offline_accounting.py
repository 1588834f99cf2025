"""What accounting says of an attempt, beside its logs or instead of them."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

from attempts import RUN, diagnose, sacct
from relume.errors import InputError
from relume.ingest.accounting.row import AccountingRow, Step, Steps
from relume.ingest.attempts import find_attempts
from relume.models.diagnosis.missing import JOB_LOG
from relume.serve.offline import Analyzer, facts_of_one_job
from relume.verdict import Domain, Kind

MANY = ["JobID|State|ExitCode", "7|FAILED|1:0", "8|COMPLETED|0:0"]


@pytest.fixture(scope="module")
def analyzer() -> Analyzer:
    return Analyzer()


@pytest.mark.parametrize("state", ["FAILED", "NODE_FAIL", "OUT_OF_MEMORY"])
def test_a_failure_in_accounting_alone_has_no_cause(
    analyzer: Analyzer, tmp_path: Path, state: str
) -> None:
    verdict = diagnose(analyzer, tmp_path, sacct=sacct(state))
    assert (verdict.kind, verdict.cause, verdict.operation) == (Kind.CRASH, None, "RESTART")
    assert (verdict.exclude_nodes, verdict.files) == ((), ())
    assert JOB_LOG in verdict.missing_evidence


def test_the_file_alone_says_the_same(analyzer: Analyzer, tmp_path: Path) -> None:
    path = tmp_path / "rows"
    path.write_text("\n".join(sacct("FAILED")))
    [attempt] = find_attempts([path])
    assert analyzer.diagnose(attempt).verdict.kind is Kind.CRASH


def test_a_step_that_ran_out_of_memory_tells_where(analyzer: Analyzer, tmp_path: Path) -> None:
    rows = ["JobID|State|ExitCode", "7|FAILED|1:0", "7.0|OUT_OF_MEMORY|0:125"]
    assert diagnose(analyzer, tmp_path, sacct=rows).domain is Domain.WORKLOAD


@pytest.mark.parametrize("as_folder", [True, False])
def test_accounting_of_many_jobs_alone_is_refused_and_says_what_reads_it(
    analyzer: Analyzer, tmp_path: Path, *, as_folder: bool
) -> None:
    path = tmp_path / "rows"
    path.write_text("\n".join(MANY))
    [attempt] = find_attempts([tmp_path if as_folder else path])
    with pytest.raises(InputError, match=f"relume scan --accounting {path}"):
        analyzer.diagnose(attempt)


def test_beside_a_log_accounting_of_many_jobs_is_counted(
    analyzer: Analyzer, tmp_path: Path
) -> None:
    (tmp_path / "rows").write_text("\n".join(MANY))
    (tmp_path / "job.log").write_text("\n".join(RUN))
    [attempt] = find_attempts([tmp_path])
    result = analyzer.diagnose(attempt)
    assert result.verdict.kind is Kind.BENIGN
    assert result.skipped.left_out() == [f"1 x sacct_jobs ({tmp_path / 'rows'})"]


NODES = "NODELIST|STATE|REASON\nn1|down*|Not responding\nn2|idle|none\n"


def test_a_table_of_nodes_is_no_log_of_the_job(analyzer: Analyzer, tmp_path: Path) -> None:
    (tmp_path / "job.log").write_text("\n".join(RUN))
    [attempt] = find_attempts([tmp_path])
    expected = analyzer.diagnose(attempt).verdict
    (tmp_path / "nodes").write_text(NODES)
    [attempt] = find_attempts([tmp_path])
    result = analyzer.diagnose(attempt)
    assert result.verdict == expected
    assert result.skipped.left_out() == [f"1 x node_file ({tmp_path / 'nodes'})"]


@pytest.mark.parametrize("as_folder", [True, False])
def test_a_table_of_nodes_alone_is_refused_and_says_what_reads_it(
    analyzer: Analyzer, tmp_path: Path, *, as_folder: bool
) -> None:
    (tmp_path / "nodes").write_text(NODES)
    [attempt] = find_attempts([tmp_path if as_folder else tmp_path / "nodes"])
    with pytest.raises(InputError, match="relume lake import"):
        analyzer.diagnose(attempt)


def test_accounting_of_many_jobs_is_named_beside_a_table_of_nodes(
    analyzer: Analyzer, tmp_path: Path
) -> None:
    (tmp_path / "a").write_text(NODES)
    (tmp_path / "rows").write_text("\n".join(MANY))
    [attempt] = find_attempts([tmp_path])
    with pytest.raises(InputError, match=f"relume scan --accounting {tmp_path / 'rows'}"):
        analyzer.diagnose(attempt)


def test_of_a_requeued_job_the_last_attempt_counts() -> None:
    second = AccountingRow("7", "FAILED", nodelist="n2", submit=2, start=3, end=4)
    first = AccountingRow("7", "NODE_FAIL", nodelist="n1", submit=1, start=1, end=2)
    for rows in ([first, second], [second, first]):
        facts = facts_of_one_job(rows)
        assert facts is not None
        assert (facts.state, facts.nodes, facts.start, facts.end) == ("FAILED", ("n2",), 3, 4)


def test_components_of_a_heterogeneous_job_are_one_attempt() -> None:
    rows = [
        AccountingRow("7+0", "CANCELLED", exit_code=0, signal=15, nodelist="n1", start=2, end=9),
        AccountingRow("7+1", "FAILED", exit_code=3, nodelist="n[2-3]", start=1, end=8),
    ]
    facts = facts_of_one_job(rows)
    assert facts is not None
    assert (facts.state, facts.exit_code, facts.nodes) == ("FAILED", 3, ("n1", "n2", "n3"))
    assert (facts.start, facts.end) == (1, 9)
    running = facts_of_one_job([rows[0], AccountingRow("7+1", "RUNNING", start=1)])
    assert running is not None
    assert running.end is None


def test_rows_of_several_jobs_and_none_at_all_say_nothing() -> None:
    def endless() -> Iterator[AccountingRow]:
        yield AccountingRow("7_1", "FAILED")
        yield AccountingRow("7_2", "FAILED")
        raise AssertionError

    assert facts_of_one_job(endless()) is None
    assert facts_of_one_job([]) is None


def test_an_out_of_memory_of_a_step_says_nothing_of_a_job_that_ended_well() -> None:
    steps = Steps(1, Step("0", "OUT_OF_MEMORY"))
    for state, expected in (("COMPLETED", "COMPLETED"), ("FAILED", "OUT_OF_MEMORY")):
        facts = facts_of_one_job([AccountingRow("7", state, steps=steps)])
        assert facts is not None
        assert facts.state == expected
