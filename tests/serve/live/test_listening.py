"""Samples in columns do what the same samples do one after the other."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import groupby, pairwise
from typing import Any

import numpy as np
from hypothesis import given, settings
from hypothesis import strategies as st

from living import analyzer
from measuring import batch_of
from relume.events import Sample, SchedulerEvent, Tick
from relume.ingest.lake.samplebatches import Numbered, SampleBatch, SampleSeries, series_table
from relume.serve.live import listening
from relume.serve.live.judge import Judge

SECOND = 1_000_000
START = 1_767_323_040 * SECOND
FIRST, SECOND_JOB = "lab/7@1767323045.0", "lab/8@1767323045.0"
METRICS = (
    "gpu_power_watts",
    "gpu_sm_clock_hertz",
    "nic_sent_bytes_total",
    "nic_symbol_errors_count_total",
    "node_load_count",
)
SAMPLES = st.lists(
    st.builds(
        Sample,
        source=st.just("x"),
        cluster=st.sampled_from(["lab", "lab", "lab", "far"]),
        event_time=st.none() | st.integers(-150, 30).map(lambda s: START + s * SECOND),
        metric=st.sampled_from(METRICS),
        value=st.floats(0, 1e6) | st.sampled_from([float("nan"), float("inf"), 1.0]),
        node=st.sampled_from(["n1", "n2", "n3", "n4", None]),
        gpu=st.sampled_from(["0", None]),
        attempt=st.sampled_from([None, None, FIRST, SECOND_JOB, "lab/9@1.0"]),
    ),
    max_size=60,
)


def job(attempt: str, *nodes: str) -> SchedulerEvent:
    return SchedulerEvent(
        source="slurm",
        cluster="lab",
        event_time=START,
        observed_at=START,
        attempt=attempt,
        state="RUNNING",
        nodes=nodes,
    )


def begun() -> Judge:
    """Two jobs: one alone on two nodes, one alone on another; they share the fourth."""
    judge = Judge(analyzer())
    judge.take(job(FIRST, "n1", "n2", "n4"))
    judge.take(job(SECOND_JOB, "n3", "n4"))
    judge.take(Tick(event_time=START, observed_at=START, cluster="lab"))
    return judge


def heard(judge: Judge) -> list[Any]:
    """All that is kept of what was measured, in its order."""
    found = []
    for watch in judge.watches.values():
        one = watch._measured  # noqa: SLF001 - what both ways must agree in
        job, recent = one._job, one._recent  # noqa: SLF001
        state = list(job.window().items()), list(job.usual().items()), job.left_out
        kept = list(recent.window(0).items()), recent.left_out
        found.append((one._newest, one._has_news, state, kept))  # noqa: SLF001
    return found


def batches(samples: Sequence[Sample]) -> list[SampleBatch]:
    return [batch_of(list(some)) for _, some in groupby(samples, lambda one: one.cluster)]


@given(SAMPLES, st.lists(st.integers(0, 60), max_size=3), st.booleans())
@settings(max_examples=60, deadline=None)
def test_columns_do_what_single_samples_do(
    samples: list[Sample],
    cuts: list[int],
    moves: bool,  # noqa: FBT001
) -> None:
    one, other = begun(), begun()
    edges = [0, *sorted(cuts), len(samples)]
    for number, (begin, end) in enumerate(pairwise(edges)):
        for sample in samples[begin:end]:
            one.take(sample)
        for batch in batches(samples[begin:end]):
            other.take(batch)
        if moves:
            for judge in (one, other):
                for watch in judge.watches.values():
                    watch._measured.note_progress(START + (number * 40 - 140) * SECOND)  # noqa: SLF001
    assert repr(heard(one)) == repr(heard(other))  # NaN is no equal of itself


def test_many_in_order_are_taken_as_one_by_one() -> None:
    one, other = begun(), begun()
    for number in range(60):
        time = START + (number - 100) * SECOND
        scrape = [
            Sample(source="x", cluster="lab", event_time=time, metric=metric, value=number * 1.5,
                   node=node, gpu="0")
            for node in ("n1", "n2", "n3")
            for metric in METRICS
        ]  # fmt: skip
        for sample in scrape:
            one.take(sample)
        other.take(batch_of(scrape))
        for judge in (one, other):
            for watch in judge.watches.values():
                if number % 7 == 0:
                    watch._measured.note_progress(time - 3 * SECOND)  # noqa: SLF001
    assert heard(one) == heard(other)
    assert len(heard(one)[0][2]) > 0


def one_sample(gpu: str, numbered: Numbered | None = None) -> SampleBatch:
    return SampleBatch(
        series=series_table([SampleSeries("gpu_power_watts", node="n1", gpu=gpu)]),
        row_series=np.zeros(1, np.int32),
        event_time=np.array([START]),
        value=np.array([1.0]),
        source="x",
        cluster="lab",
        numbered=numbered,
    )


def test_tables_of_series_that_are_remembered_are_bounded() -> None:
    judge = begun()
    for number in range(listening.MAX_TABLES + 5):
        judge.take(one_sample(str(number)))
    assert len(judge._listening._tables) == listening.MAX_TABLES  # noqa: SLF001
    assert len(heard(judge)[0][2][0]) == listening.MAX_TABLES + 5


def test_a_book_that_is_used_stays_however_many_tables_come_by() -> None:
    judge, book = begun(), object()
    kept = []
    for number in range(listening.MAX_TABLES + 5):
        judge.take(one_sample("0", Numbered(book, np.array([7], np.int32))))
        kept.append(judge._listening._tables[id(book)])  # noqa: SLF001
        judge.take(one_sample(str(number)))
    assert len({id(one) for one in kept}) == 1
