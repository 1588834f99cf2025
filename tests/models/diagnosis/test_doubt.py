"""What makes a failure doubtful, and what doesn't."""

from __future__ import annotations

from dataclasses import replace

import pytest

from making import LOG, make_episode, make_hit, make_signature, nothing_seen
from relume.events import LogLine
from relume.features.progress.assess import ProgressState
from relume.models.diagnosis.builder import EpisodeBuilder
from relume.models.diagnosis.consequences import is_quoted
from relume.models.diagnosis.diagnose import diagnose
from relume.models.diagnosis.episode import AdvanceTail, Episode, LogEnd, SchedulerFacts
from relume.models.signatures.hit import Hit
from relume.models.signatures.rule import Exclude, Implicates, Tier
from relume.verdict import Domain, Kind

SECOND = 1_000_000
RAISED = make_signature("raised")
LOST = make_signature(
    "lost",
    category="gpu_driver",
    tier=Tier.HARDWARE,
    domain=Domain.HARDWARE,
    implicates=Implicates.PRINTER,
    exclude=Exclude.YES,
)
HANG = make_signature("hang", tier=Tier.TIMEOUT, kind=Kind.HANG, domain=Domain.UNKNOWN)


def in_state(episode: Episode, state: ProgressState) -> Episode:
    return replace(episode, progress=replace(episode.progress, state=state))


@pytest.mark.parametrize("state", ["RUNNING", "SUSPENDED"])
def test_a_job_that_is_there_may_hang_but_did_not_crash(state: str) -> None:
    for signature, kind in ((RAISED, Kind.UNKNOWN), (HANG, Kind.HANG)):
        episode = make_episode(make_hit(signature, 3, rank=1))
        episode.scheduler = SchedulerFacts(state)
        assert diagnose(episode).kind is kind


def test_a_slow_run_may_end_well() -> None:
    episode = in_state(make_episode(), ProgressState.SLOWING)
    episode.scheduler = SchedulerFacts("COMPLETED")
    assert diagnose(episode).kind is Kind.STRAGGLER


def test_a_hang_is_none_where_accounting_says_completed() -> None:
    episode = in_state(make_episode(), ProgressState.STOPPED)
    assert diagnose(episode).kind is Kind.HANG
    episode.scheduler = SchedulerFacts("COMPLETED")
    assert diagnose(episode).kind is Kind.UNKNOWN


@pytest.mark.parametrize(("steps", "kind"), [((), Kind.CRASH), ((12,), Kind.UNKNOWN)])
def test_a_step_after_lost_hardware_makes_it_doubtful(steps: tuple[int, ...], kind: Kind) -> None:
    hit = make_hit(replace(LOST, category="cuda"), 9, node="gpu-a01")
    verdict = diagnose(make_episode(hit, advances=(1, 2, 3, *steps)))
    assert verdict.kind is kind
    assert verdict.exclude_nodes == (() if steps else ("gpu-a01",))


def test_an_end_that_is_lost_leaves_a_failure_less_sure() -> None:
    episode = make_episode(make_hit(RAISED, 9))
    sure = diagnose(episode).confidence
    verdict = diagnose(replace(episode, lost_ends=(LOG,)))
    assert verdict.confidence == pytest.approx(0.7 * sure, abs=1e-3)
    assert any("end of a log" in missing for missing in verdict.missing_evidence)


def test_the_lost_end_of_a_kernel_log_is_no_doubt_about_the_job() -> None:
    episode = make_episode(make_hit(RAISED, 9), files=(LOG, "kernel.log"))
    ends = {"kernel.log": LogEnd("kernel.log", "kernel")}
    doubtful = replace(episode, lost_ends=("kernel.log",), ends=ends)
    assert diagnose(doubtful).confidence == diagnose(episode).confidence


def quoting(prefix: str, message: str, **where: object) -> Hit:
    line = LogLine(prefix + message, 0, 0, LOG, len(prefix), **where)  # type: ignore[arg-type]
    return Hit(LOST, line, {})


@pytest.mark.parametrize(
    ("prefix", "message", "where"),
    [
        ("gpu-a07: ", "NVRM: Xid (PCI:0000:41:00): 79", {"node": "gpu-a07"}),
        ("Mar  2 03:00:00 gpu-a07 app[9]: ", "NVRM: Xid 79", {"node": "gpu-a07"}),
        ("2026-03-02 03:00:00 ", "monitor says NVRM: Xid 79", {}),
        ("[rank2]: ", "[ 123.000001] NVRM: Xid 79", {"rank": 2}),
    ],
)
def test_what_a_process_repeats_is_quoted(
    prefix: str, message: str, where: dict[str, object]
) -> None:
    assert is_quoted(quoting(prefix, message, **where))


@pytest.mark.parametrize(
    ("prefix", "where"),
    [
        ("", {}),
        ("[12345.678901] ", {}),
        ("gpu-a07: [12345.678901] ", {"node": "gpu-a07"}),
        ("[Mon Mar  2 03:00:00 2026] ", {}),
        ("Mar  2 03:00:00 gpu-a07 kernel: ", {"node": "gpu-a07"}),
        ("2026-03-02 03:00:00 ", {}),
        ("gpu-a07: ", {"node": "gpu-a07", "stream": "kernel"}),
    ],
)
def test_what_a_kernel_prints_is_not(prefix: str, where: dict[str, object]) -> None:
    assert not is_quoted(quoting(prefix, "NVRM: Xid (PCI:0000:41:00): 79", **where))


def going_on(*hits: Hit, seconds: int, lines: int, state: str | None = None) -> Episode:
    """Return an episode whose log has `lines` more after line 9, `seconds` after its hits."""
    episode = make_episode(*hits)
    after = tuple((number, "GET /weights 200") for number in range(10, 10 + lines))
    episode.ends[LOG] = LogEnd(LOG, "stdout", after, time=seconds * 1_000_000)
    episode.scheduler = SchedulerFacts(state)
    return episode


VAGUE = make_signature("vague", specificity=3, domain=Domain.UNKNOWN)


@pytest.mark.parametrize(
    ("seconds", "lines", "kind"),
    [(600, 40, Kind.UNKNOWN), (10, 40, Kind.CRASH), (600, 4, Kind.CRASH)],
)
def test_a_log_that_goes_on_outlives_a_line_that_names_no_failure(
    seconds: int, lines: int, kind: Kind
) -> None:
    vague = make_hit(VAGUE, 9, event_time=0)
    assert diagnose(going_on(vague, seconds=seconds, lines=lines)).kind is kind


def test_what_names_a_failure_is_not_outlived() -> None:
    vague, raised = make_hit(VAGUE, 9, event_time=0), make_hit(RAISED, 8, event_time=0)
    assert diagnose(going_on(raised, seconds=600, lines=40)).kind is Kind.CRASH
    assert diagnose(going_on(raised, vague, seconds=600, lines=40)).kind is Kind.CRASH
    assert diagnose(going_on(vague, seconds=600, lines=40, state="FAILED")).kind is Kind.CRASH


def test_without_clocks_nobody_knows_how_long_a_log_went_on() -> None:
    episode = going_on(make_hit(VAGUE, 9), seconds=600, lines=40)
    assert diagnose(episode).kind is Kind.CRASH


WAITS = ["[rank3] heartbeat, {n} s", "still waiting for rank 4", "retrying the connection ({n})"]


@pytest.mark.parametrize("words", WAITS)
def test_ranks_that_wait_for_the_one_that_died_do_not_outlive_it(words: str) -> None:
    vague = make_hit(VAGUE, 9, event_time=0)
    waiting = after(vague, [words] * 40)
    assert diagnose(waiting).kind is Kind.CRASH
    assert diagnose(after(vague, ["worker ends"] * 30 + [words] * 40)).kind is Kind.CRASH
    assert diagnose(after(vague, [words, "GET /weights 200"] * 30)).kind is Kind.UNKNOWN


def after(hit: Hit, texts: list[str], *, gap: float | None = None, **steps: int) -> Episode:
    """Return an episode whose log says `texts` for ten minutes after line 9; its steps, if any.

    `steps` are the clocks in seconds of steps at other lines, ``line7=-60``; `gap` is usual.
    """
    builder = EpisodeBuilder("attempt", (LOG,))
    builder.note_form("stdout")
    builder.add_hit(hit)
    for name, time in steps.items():
        line = LogLine("step", int(name.removeprefix("line")), 0, LOG, event_time=time * SECOND)
        builder.note_advance(line)
    lines = tuple((number, text.format(n=number)) for number, text in enumerate(texts, 10))
    end = LogEnd(LOG, "stdout", lines, time=600 * SECOND)
    progress = replace(
        nothing_seen(),
        usual_gap_seconds=gap,
        seconds_without_progress=None if gap is None else 600.0 - max(steps.values()),
    )
    return builder.build(progress, [end])


@pytest.mark.parametrize(
    ("texts", "gap", "steps", "kind"),
    [
        (["a peer is gone"] * 40, 10.0, {"line7": -10, "line8": -1}, Kind.CRASH),
        (["a peer is gone"] * 40, 10.0, {"line8": -1, "line20": 100}, Kind.UNKNOWN),
        (["a peer is gone"] * 40, 400.0, {"line7": -401, "line8": -1}, Kind.UNKNOWN),
        (["a peer is gone"] * 40, None, {}, Kind.UNKNOWN),
        (["upload of part {n}"] * 40, 10.0, {"line7": -10, "line8": -1}, Kind.UNKNOWN),
        (["row {n} is done"] * 40, 10.0, {"line7": -10, "line8": -1}, Kind.UNKNOWN),
        (["saved"] * 9 + ["a peer is gone"] * 40, 10.0, {"line8": -1}, Kind.CRASH),
    ],
    ids=[
        "stopped",
        "a step after it",
        "steps are rare",
        "no steps",
        "upload",
        "counter",
        "saved before",
    ],
)
def test_a_log_goes_on_but_steps_ended_with_the_line(
    texts: list[str], gap: float | None, steps: dict[str, int], kind: Kind
) -> None:
    vague = make_hit(VAGUE, 9, event_time=0)
    assert diagnose(after(vague, texts, gap=gap, **steps)).kind is kind


@pytest.mark.parametrize(("time", "kind"), [(-5, Kind.CRASH), (50, Kind.UNKNOWN)])
def test_steps_in_another_log_are_steps_too(time: int, kind: Kind) -> None:
    episode = after(make_hit(VAGUE, 9, event_time=0), ["a peer is gone"] * 40, gap=10.0, line8=-1)
    tail = AdvanceTail()
    tail.add(3, time * SECOND)
    assert diagnose(replace(episode, advances={"rank1.log": tail})).kind is kind
    untimed = AdvanceTail()
    untimed.add(3, None)
    unsure = replace(episode, advances=episode.advances | {"rank1.log": untimed})
    assert diagnose(unsure).kind is Kind.UNKNOWN
