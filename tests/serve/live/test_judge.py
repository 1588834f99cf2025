"""A replay of what landed gives the very Advice of the live run."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

from hypothesis import given, settings
from hypothesis import strategies as st

from relume.advice import Advice, Operation, comparable
from relume.clock import MICROSECONDS_PER_SECOND as MICROSECONDS
from relume.events import SchedulerEvent, SourceStatus, Tick
from relume.ingest.blocks import blocks_of_lines
from relume.ingest.lake.batches import Landing, LineBatch
from relume.ingest.lake.reader import LakeReader
from relume.ingest.lake.writer import LakeWriter
from relume.serve.live.judge import Judge
from relume.serve.live.naming import LOG_ENDED, log_source
from relume.serve.offline import Analyzer
from relume.verdict import Health

START = 1_767_323_045
ANALYZER = Analyzer()


def attempt(count: int) -> str:
    return f"lab/7@{START}.{count}"


def at(second: int) -> int:
    return (START + second) * MICROSECONDS


def job(count: int, second: int, state: str) -> SchedulerEvent:
    return SchedulerEvent(
        source="slurm",
        cluster="lab",
        event_time=at(second),
        attempt=attempt(count),
        state=state,
        nodes=("gpu-a01", "gpu-a02"),
        comment='{"relume": {"run": "opus"}}',
    )


def lines(count: int, second: int, *text: str) -> list[Landing]:
    return [
        LineBatch(block=block, attempt=attempt(count), observed_at=at(second), cluster="lab")
        for block in blocks_of_lines(text, f"job-{count}.out")
    ]


def story() -> list[Landing]:
    """Two attempts of one run: a node fails, then the same Python error ends the second try."""
    landings: list[Landing] = [job(0, 0, "RUNNING")]
    for second in range(1, 31):
        landings += lines(0, second, f"iter {second}: loss 3.9, time 1000.00ms")
        landings.append(Tick(event_time=at(second), cluster="lab"))
    landings += lines(0, 31, "srun: error: Node failure on gpu-a02")
    landings += [Tick(event_time=at(second), cluster="lab") for second in range(31, 45)]
    landings += [job(0, 45, "REQUEUED"), log_ended(0, 45)]
    landings += [Tick(event_time=at(45), cluster="lab"), job(1, 46, "RUNNING")]
    landings += lines(1, 47, "[rank1]: KeyError: 'x'")
    landings += [Tick(event_time=at(47), cluster="lab"), job(1, 48, "FAILED")]
    return [*landings, log_ended(1, 49), Tick(event_time=at(49), cluster="lab")]


def log_ended(count: int, second: int) -> SourceStatus:
    return SourceStatus(
        source=log_source(attempt(count)),
        cluster="lab",
        event_time=at(second),
        status=Health.HEALTHY,
        reason=LOG_ENDED,
    )


def advice_of(landings: list[Landing]) -> list[Advice]:
    return list(Judge(ANALYZER).take_all(landings))


def test_the_story_gets_its_advice_generation_by_generation() -> None:
    told = [(a.attempt, a.generation, a.operation.value, a.settled) for a in advice_of(story())]
    assert told == [
        (attempt(0), 1, "RESTART", False),
        (attempt(0), 2, "RESTART_EXCLUDING", True),
        (attempt(1), 1, "RESTART", False),
        (attempt(1), 2, "RESTART", True),
    ]


def test_a_replay_from_the_lake_is_equal_to_the_bit(tmp_path: Path) -> None:
    live: list[Advice] = []
    judge = Judge(ANALYZER)
    with LakeWriter(tmp_path) as lake:
        for landing in story():
            lake.append([landing])
            if isinstance(landing, Tick):
                lake.commit()
            live += judge.take(landing)
    replayed = list(Judge(ANALYZER).take_all(LakeReader(tmp_path).landings()))
    assert [comparable(advice) for advice in replayed] == [comparable(advice) for advice in live]
    assert len(replayed) == 4


def test_the_history_of_a_run_reaches_its_next_attempt() -> None:
    landings: list[Landing] = []
    for count in range(3):
        second = 10 * count
        landings += [job(count, second, "RUNNING"), *lines(count, second, "[rank1]: KeyError: 'x'")]
        landings += [job(count, second + 1, "FAILED"), Tick(event_time=at(second + 1))]
    first: dict[str, Operation] = {}
    for advice in advice_of(landings):
        first.setdefault(advice.attempt, advice.operation)
    assert list(first.values()) == [Operation.RESTART, Operation.STOP, Operation.STOP]


def test_lines_of_unknown_attempts_and_other_events_change_nothing() -> None:
    assert advice_of(lines(5, 0, "[rank1]: KeyError: 'x'")) == []
    assert advice_of([Tick(event_time=at(1))]) == []


def test_what_is_told_of_an_attempt_that_is_over_begins_nothing() -> None:
    landings = [*story(), job(1, 60, "FAILED"), Tick(event_time=at(60), cluster="lab")]
    assert len(advice_of(landings)) == 4


def test_a_job_that_ran_before_anybody_looked_was_not_silent() -> None:
    judge, late = Judge(ANALYZER), 3600
    seen = replace(job(0, 0, "RUNNING"), observed_at=at(late))
    landings: list[Landing] = [seen, Tick(event_time=at(late + 1), cluster="lab")]
    landings += lines(0, late + 1, "iter 9: loss 3.9, time 1000.00ms")
    landings += [Tick(event_time=at(late + second), cluster="lab") for second in range(2, 25)]
    assert list(judge.take_all(landings)) == []
    silent = [Tick(event_time=at(late + second), cluster="lab") for second in range(25, 60)]
    found = list(judge.take_all(silent))
    assert found  # from then on its silence is one
    assert min(one.created_at for one in found) >= at(late + 30)


GAPS = st.lists(st.tuples(st.sampled_from([1, 7, 90, 400]), st.sampled_from("ssld")), max_size=4)


@given(GAPS)
@settings(max_examples=6, deadline=None)
def test_ticks_that_only_pass_the_time_change_nothing(gaps: list[tuple[int, str]]) -> None:
    """A judge that is asked until when nothing changes says what one says that isn't."""
    asked, plain = Judge(ANALYZER), Judge(ANALYZER)
    told: dict[int, list[Advice]] = {id(asked): [], id(plain): []}
    for landing in paced(gaps):
        for judge in (asked, plain):
            told[id(judge)] += judge.take(landing)
        if isinstance(landing, Tick):
            now = landing.event_time
            changes = [watch.next_change(now) for watch in plain.watches.values()]
            known = [time for time in changes if time is not None]
            assert asked.next_change(now) == min(known, default=None)
            assert asked.fleets["lab"].state.now == plain.fleets["lab"].state.now
    assert [comparable(one) for one in told[id(asked)]] == [
        comparable(one) for one in told[id(plain)]
    ]


def paced(gaps: list[tuple[int, str]]) -> list[Landing]:
    """Steps, and after each gap another one, a line without, or an error; ticks all the time."""
    second, landings = 0, [job(0, 0, "RUNNING"), *lines(0, 0, step(0))]
    for seconds, kind in [(2, "s")] * 12 + gaps + [(400, "d")]:
        ticks = range(second, second + seconds, 9)
        landings += [Tick(event_time=at(one), cluster="lab") for one in ticks]
        second += seconds
        said = {"s": step(second), "l": "still here", "d": "srun: error: Node failure on gpu-a02"}
        landings += lines(0, second, said[kind])
    return [*landings, *(Tick(event_time=at(second + one), cluster="lab") for one in range(20))]


def step(number: int) -> str:
    return f"iter {number}: loss 3.9, time 1000.00ms"
