"""Judge a series of step times: whether it is slow again and again, or waits for input."""

from __future__ import annotations

from itertools import pairwise
from statistics import median
from typing import TYPE_CHECKING, Final

from relume.features.progress.pace import Finding

if TYPE_CHECKING:
    from collections.abc import Sequence

    from relume.features.progress.measures import Paces
    from relume.features.progress.samples import Sample

IRREGULAR_RATIO: Final = 0.3
"""Share of steps that must be slow for a run to be called irregular."""
IRREGULAR_TIMES: Final = 3.0
"""How many times the fast steps' time makes a step slow."""
IRREGULAR_RUNS: Final = 3
"""Separate groups of slow steps: one long pause is no irregular run."""
IRREGULAR_FAST_SECONDS: Final = 1.0
"""Steps shorter than this vary by themselves."""
STALL_TIMES: Final = 10.0
"""How many times the fast steps' time is a stall however short those are."""
STALL_SECONDS: Final = 2.0
"""Shorter stalls are not worth a word."""
WAIT_RATIO: Final = 0.5
"""Share of a step's time that makes it a step of waiting."""
WAITING_RATIO: Final = 0.6
"""Share of the lines that must show it."""
WAIT_SECONDS: Final = 0.2
"""Waits shorter than this are not worth a word, whatever their share."""
FALLING_RATIO: Final = 0.8
"""Waits that only get shorter, to less than this, are a running mean after a slow first batch."""
FAR_STEPS: Final = 100
"""Steps between two lines after which the second is no warm-up of the first."""
INSIDE_STEP: Final = 10
"""A first line from this step on comes from well inside the run: two lines are enough then."""


def find_irregular(steady: Paces, whole: Paces) -> Finding | None:
    """Find a run whose steps are slow again and again between fast ones, null when it is steady.

    `steady` is judged; the finding points at the first slow step of `whole`, warm-up included,
    for in such a run the first steps were slow for the same reason.
    """
    values = steady.values
    ordered = sorted(values)
    fast = median(ordered[: max(2, len(ordered) * 2 // 5)])
    is_slow = [value >= IRREGULAR_TIMES * fast for value in values]
    if sum(is_slow) < IRREGULAR_RATIO * len(values):
        return None
    runs = sum(now and not before for before, now in pairwise([False, *is_slow]))
    slow = [sample for sample, flag in zip(steady.samples, is_slow, strict=True) if flag]
    typical = median([value for value, flag in zip(values, is_slow, strict=True) if flag])
    # Line by line: between lines many steps apart there may be an evaluation.
    stalls = typical >= max(STALL_SECONDS, STALL_TIMES * fast) and all(s.steps <= 1 for s in slow)
    is_plain = fast >= IRREGULAR_FAST_SECONDS or stalls or _waits_explain(slow)
    if runs < IRREGULAR_RUNS or not is_plain:
        return None
    pairs = zip(whole.values, whole.samples, strict=True)
    first = next(sample for value, sample in pairs if value >= IRREGULAR_TIMES * fast)
    return Finding(first, typical / fast)


def _waits_explain(samples: Sequence[Sample]) -> bool:
    shares = [share for share in map(wait_share, samples) if share is not None]
    return len(shares) * 2 > len(samples) and median(shares) >= WAIT_RATIO


def wait_share(sample: Sample) -> float | None:
    """Return the share of a step that was spent waiting for input, null when it isn't printed.

    Some print the step's time without the wait: then the wait is compared with the larger of both.
    """
    wait = sample.data_seconds
    step = sample.printed_seconds
    if step is None:
        step = sample.elapsed_delta if sample.elapsed_delta is not None else sample.clock_delta
    if wait is None or step is None:
        return None
    return wait / max(wait, step) if wait >= WAIT_SECONDS else 0.0


def find_waiting(paces: Paces) -> Finding | None:
    """Find steps that mostly wait for input, and go on to, null when they do not."""
    known = [
        (sample, share) for sample in paces.samples if (share := wait_share(sample)) is not None
    ]
    inside = bool(known) and known[0][0].step >= INSIDE_STEP
    if len(known) < (2 if inside else 3):
        return _one_slower_wait(paces)
    waits = [sample.data_seconds or 0.0 for sample, _ in known]
    falling = all(later <= earlier for earlier, later in pairwise(waits))
    if falling and waits[-1] < FALLING_RATIO * waits[0]:
        return None
    late = [share for _, share in known[len(known) // 2 :]]
    waiting = [sample for sample, share in known if share >= WAIT_RATIO]
    if median(late) < WAIT_RATIO or len(waiting) < WAITING_RATIO * len(known):
        return None
    return Finding(waiting[0], 1.0 / max(1e-9, 1.0 - min(0.999, median(late))))


def _one_slower_wait(paces: Paces) -> Finding | None:
    """Find a last printed pace twice the first, many steps later, that its wait accounts for."""
    if not paces.samples:
        return None
    first, last = paces.samples[0], paces.samples[-1]
    calm, slow = paces.values[0], paces.values[-1]
    if last.step - first.step < FAR_STEPS or slow < 2.0 * calm:
        return None
    return Finding(last, slow / calm) if (wait_share(last) or 0.0) >= WAIT_RATIO else None
