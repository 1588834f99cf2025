"""Lines that no rule knows, from a log to the verdict that shows them."""

from __future__ import annotations

from pathlib import Path

import pytest

from attempts import DONE, RUN, XID, diagnose, kernel, sacct, steps
from relume.events import LogLine
from relume.ingest.blocks import blocks_of_lines
from relume.ingest.loglines import LineParser
from relume.models.diagnosis.episode import SchedulerFacts
from relume.serve.offline import Analyzer
from relume.serve.unrecognised import MAX_LINES, MIN_LINES
from relume.verdict import Kind, Verdict

ANALYZER = Analyzer()
SEAL = "vault: seal 4 is open, nobody may go on"
FAILED = SchedulerFacts("FAILED", exit_code=1)


def judged(*logs: list[str], facts: SchedulerFacts | None = FAILED) -> Verdict:
    names = [f"rank_{number}.log" for number in range(len(logs))]
    analysis = ANALYZER.begin("attempt", names)
    for name, lines in zip(names, logs, strict=True):
        parser = LineParser(name)
        for block in blocks_of_lines(lines, name):
            analysis.feed(block, parser)
    if facts is not None:
        analysis.note_scheduler(facts)
    return analysis.verdict()


def texts(verdict: Verdict) -> list[str]:
    return [line.text for line in verdict.unrecognised]


def test_a_failure_that_no_rule_knows_shows_what_came_with_it_and_no_line_as_its_cause() -> None:
    verdict = judged([*RUN, SEAL, "keeper 7 goes home"])
    assert (verdict.kind, verdict.cause, verdict.root_line) == (Kind.CRASH, "unknown_failure", None)
    [seal, _] = verdict.unrecognised
    assert (seal.file, seal.line, seal.text, seal.lines_before_end) == ("rank_0.log", 401, SEAL, 1)
    assert seal.event_time is None


def test_an_explained_attempt_shows_none() -> None:
    explained = judged([*RUN, SEAL, "[rank3]: ValueError: no seal"])
    assert explained.kind is Kind.CRASH
    assert explained.unrecognised == ()
    assert judged(DONE, facts=None).unrecognised == ()


def test_an_exit_code_is_no_explanation() -> None:
    verdict = judged([*RUN, SEAL, "srun: error: gpu-a07: task 3: Exited with exit code 1"])
    assert verdict.rule == "srun_exit_code"
    assert texts(verdict) == [SEAL]


def test_lines_that_a_rule_a_progress_format_or_a_traceback_explains_are_not_shown() -> None:
    raised = [
        "Traceback (most recent call last):",
        '  File "/app/vault.py", line 3, in open',
        "vault.SealIsOpen: seal 4",
    ]
    verdict = judged([*steps(30), *raised, *steps(9, begin=30), "NCCL WARN Call failed", SEAL])
    assert texts(verdict) == [SEAL]


def test_steps_that_other_ranks_still_took_don_t_hide_it() -> None:
    verdict = judged([*steps(30), SEAL, *steps(2, begin=30)])
    assert texts(verdict) == [SEAL]
    # After three more steps it was something that the job got over.
    assert texts(judged([*steps(30), SEAL, *steps(3, begin=30)])) == []


def test_the_first_lines_of_a_wave_are_found_however_long_it_is() -> None:
    wave = [f"[rank{n % 1024}]: keeper {n} of ward {n % 9} goes home" for n in range(20_000)]
    verdict = judged([*RUN, SEAL, *wave])
    assert verdict.unrecognised[0].text == SEAL
    assert verdict.unrecognised[0].lines_before_end == 20_000


def test_a_log_without_steps_shows_failures_from_its_start_after_those_of_its_end() -> None:
    chatter = [f"ward {n} has keeper {n + 3} on shift" for n in range(3000)]
    verdict = judged([*chatter[:50], f"ERROR {SEAL}", *chatter[50:], "ERROR no answer"])
    assert texts(verdict) == ["ERROR no answer", f"ERROR {SEAL}"]
    assert verdict.unrecognised[1].why[0] == "looks like a failure, at the start"


def test_logs_of_the_system_are_looked_at_only_where_the_job_has_none(tmp_path: Path) -> None:
    odd = "usb 1-1: the hatch is open"
    record = sacct("FAILED")
    both = diagnose(
        ANALYZER,
        tmp_path,
        job=[*RUN, SEAL],
        dmesg_gpu_a07=kernel("03:13:25", odd),
        accounting=record,
    )
    assert texts(both) == [SEAL]
    alone = tmp_path / "alone"
    alone.mkdir()
    only = diagnose(ANALYZER, alone, dmesg_gpu_a07=kernel("03:13:25", odd), accounting=record)
    assert any(odd in text for text in texts(only))


def test_a_known_kernel_line_is_no_unrecognised_one(tmp_path: Path) -> None:
    found = diagnose(ANALYZER, tmp_path, dmesg_gpu_a07=kernel("03:13:25", XID))
    assert not any(XID in text for text in texts(found))


def test_of_many_logs_only_so_many_lines_are_looked_at(monkeypatch: pytest.MonkeyPatch) -> None:
    looked: list[int] = []
    look = LineParser.look

    def counted(parser: LineParser, text: str, line: int, offset: int) -> LogLine:
        looked.append(line)
        return look(parser, text, line, offset)

    logs = [[*RUN[:3], *(f"keeper {n} is in ward {n}" for n in range(90))] for _ in range(300)]
    logs[7].append(f"ERROR {SEAL}")
    monkeypatch.setattr(LineParser, "look", counted)
    verdict = judged(*logs)
    assert verdict.unrecognised[0].text == f"ERROR {SEAL}"
    assert len(looked) <= max(MAX_LINES, 300 * MIN_LINES) + 300 * 40


@pytest.mark.parametrize(
    "line", ["\x1b[2J\x07bell", "\x00" * 40, "x" * 3_000_000, "\udcff", " \t "]
)
def test_hostile_lines_do_no_harm(line: str) -> None:
    verdict = judged([*RUN, line, SEAL])
    assert SEAL in texts(verdict)


def test_a_run_that_passes_for_healthy_shows_what_looks_like_a_failure_after_its_steps() -> None:
    verdict = judged([*RUN, "keeper 7 goes home", f"ERROR {SEAL}"], facts=None)
    assert verdict.kind is Kind.BENIGN
    assert texts(verdict) == [f"ERROR {SEAL}"]
    assert texts(judged([*RUN, "keeper 7 goes home"], facts=None)) == []


def test_a_failure_that_a_healthy_run_got_over_or_printed_before_is_not_shown() -> None:
    again = [*RUN[:200], f"ERROR {SEAL}", *RUN[200:], f"ERROR {SEAL}"]
    assert texts(judged(again, facts=None)) == []
    assert texts(judged([*RUN, f"ERROR {SEAL}", *DONE[-1:]], facts=None)) == []
    completed = SchedulerFacts("COMPLETED", exit_code=0)
    assert texts(judged([*RUN, f"ERROR {SEAL}"], facts=completed)) == []
