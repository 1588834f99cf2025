"""The kernels: what each sample does to its series. The tests hold a plain copy that must agree."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from relume.models.baselines.compiled import compiled
from relume.models.baselines.series import BLOCK, NEVER

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from relume.models.baselines.samples import Alarms, Samples
    from relume.models.baselines.series import Ids, Kept, Numbers, Record, Times

CUSUM, PAGE_HINKLEY = 1, 2
"""Which detector alarmed, as bits."""
LATE, DUPLICATE, REJECTED, TAKEN = range(4)
"""Places of the counts that `update` adds to."""
HUGE = 1e18
"""A sample beyond this, or that is no number, is no measurement: its square must fit four bytes."""
NORMAL = 1.2533
"""Standard deviation of a normal distribution, in mean absolute deviations."""
_TINY = 1e-12
_HELD = BLOCK - 1
_INSERTED = 24
"""So few samples are sorted quickest by putting each in its place."""
_FOUND = 1024
"""Room for series that fell silent; more is made when more did."""
_LOOKED_AT = 128
"""Series whose silence is told together: where none is silent, no branch is taken for any."""
_MANY = 0xFFFFFFFF


@compiled
def update(
    kept: Kept, samples: Samples, settings: Numbers, counts: NDArray[np.int64], alarms: Alarms
) -> int:
    """Give each sample to its series, in the order given; return how many alarms were found.

    The samples of one series must come in the order of their times. Alarms are written to `alarms`,
    which has room for as many as there are samples.
    """
    series, seen = kept
    ids, times, values = samples
    found = 0
    for place in range(len(ids)):
        number, time, value = ids[place], times[place], values[place]
        last = seen[number]
        if last >= time and last != NEVER:
            counts[DUPLICATE if last == time else LATE] += 1
            continue
        seen[number] = time
        one = series[number]
        if not abs(value) <= HUGE:  # NaN too
            counts[REJECTED] += 1
            continue
        counts[TAKEN] += 1
        _follow(one, value, settings)
        if one.fill < _HELD:
            one.held[one.fill] = value
            one.fill += 1
            continue
        one.fill = 0
        middle = _median(one.held, value)
        if one.blocks < settings.calibration_blocks:
            _calibrate(one, middle)
            continue
        kind, statistic = _judge(one, middle, settings)
        if kind:
            if settings.calibrate_again:
                one.blocks = 0
                one.base = 0.0
                one.scale = 0.0
            alarms.ids[found], alarms.times[found] = number, time
            alarms.kinds[found], alarms.statistics[found] = kind, statistic
            found += 1
    return found


@compiled
def _follow(one: Record, value: float, settings: Numbers) -> None:
    """Mean, variance, quantile and spread after one more sample."""
    count = one.count
    if count < _MANY:
        one.count = count + 1
    if count == 0:
        one.mean = value
        one.quantile = value
        return
    weight = max(1.0 / (count + 1.0), settings.memory)
    mean, variance = np.float64(one.mean), np.float64(one.variance)
    away = value - mean
    one.mean = mean + weight * away
    one.variance = (1.0 - weight) * (variance + weight * away * away)
    quantile, spread = np.float64(one.quantile), np.float64(one.spread)
    deviation = abs(value - quantile)
    pace = weight * max(spread, settings.noise_floor * abs(quantile) + _TINY)
    side = settings.quantile if value >= quantile else settings.quantile - 1.0
    one.quantile = quantile + 2.0 * pace * side
    if count == 1:
        one.spread = deviation
    else:
        one.spread = max(0.0, spread + (pace if deviation > spread else -pace))


@compiled
def _calibrate(one: Record, middle: float) -> None:
    """Base and scale after one more median."""
    one.blocks += 1
    blocks, base, scale = np.float64(one.blocks), np.float64(one.base), np.float64(one.scale)
    if blocks == 1.0:
        one.base = middle
        return
    one.base = base + (middle - base) / blocks
    one.scale = scale + (abs(middle - base) - scale) / (blocks - 1.0)


@compiled
def _judge(one: Record, middle: float, settings: Numbers) -> tuple[int, float]:
    """Which detectors alarm on one more median, and the larger statistic."""
    base, mean, worse = np.float64(one.base), np.float64(one.mean), np.float64(one.worse)
    scale = max(NORMAL * np.float64(one.scale), settings.noise_floor * abs(base) + _TINY)
    gate, slack, cap = settings.effect, settings.slack, settings.reading_cap
    reading = (worse * (middle - base) - gate * abs(base)) / scale - slack
    cusum = max(0.0, np.float64(one.cusum) + min(reading, cap))
    reading = (worse * (middle - mean) - gate * abs(mean)) / scale - slack
    page = max(0.0, np.float64(one.page) + min(reading, cap))
    kind = 0
    if cusum >= settings.threshold:
        kind |= CUSUM
    if page >= settings.threshold:
        kind |= PAGE_HINKLEY
    one.cusum = 0.0 if kind else cusum
    one.page = 0.0 if kind else page
    return kind, max(cusum, page)


@compiled
def _median(held: NDArray[np.float32], value: float) -> float:
    return median_of_five(
        np.float64(held[0]),
        np.float64(held[1]),
        np.float64(held[2]),
        np.float64(held[3]),
        np.float64(np.float32(value)),
    )


@compiled
def median_of_five(a: float, b: float, c: float, d: float, e: float) -> float:
    """Return the median, in six comparisons."""
    if a > b:
        a, b = b, a
    if c > d:
        c, d = d, c
    if a > c:  # a becomes the least of four, which is never the median
        b, d = d, b
        c = a
    a = e  # again two pairs, of the four that are left
    if a > b:
        a, b = b, a
    if a > c:
        c = a
        b, d = d, b
    return min(b, c)


@compiled
def is_in_order(times: Times) -> bool:
    """Whether no time is before the one before it: then no series' times are either."""
    for place in range(1, len(times)):  # noqa: SIM110 - a generator isn't compiled as fast
        if times[place] < times[place - 1]:
            return False
    return True


@compiled
def order_by_series(ids: Ids, times: Times, count: int) -> Ids:
    """Return the places of the samples, those of a series together and by time, then by arrival.

    Counting by series first: samples of a million series arrive in any order, and their records are
    then walked through in the order in which they lie in memory.
    """
    starts = np.zeros(count + 1, dtype=np.int64)
    for one in ids:
        starts[one + 1] += 1
    for number in range(count):
        starts[number + 1] += starts[number]
    order = np.empty(len(ids), dtype=np.int64)
    ends = starts[:-1].copy()
    for place in range(len(ids)):
        order[ends[ids[place]]] = place
        ends[ids[place]] += 1
    for number in range(count):
        _order_by_time(order[starts[number] : starts[number + 1]], times)
    return order


@compiled
def _order_by_time(order: Ids, times: Times) -> None:
    """Sort the places of one series by time; those of one time stay as they came."""
    if len(order) > _INSERTED:
        order[:] = order[np.argsort(times[order], kind="mergesort")]
        return
    for here in range(1, len(order)):
        place, end = order[here], here
        while end > 0 and times[order[end - 1]] > times[place]:
            order[end] = order[end - 1]
            end -= 1
        order[end] = place


@compiled
def silent(seen: Times, now: int, longest: Times) -> Ids:
    """Return the series whose newest sample is longer ago than `longest` (microseconds).

    `longest` holds one limit for each series, or one for all. A series that has no sample yet isn't
    silent: nobody knows that it should speak. Most stretches have nobody who is silent: they are
    counted first, which a machine does for several series at once.
    """
    found = np.empty(_FOUND, dtype=np.int64)
    count, step = 0, 0 if len(longest) == 1 else 1
    for first in range(0, len(seen), _LOOKED_AT):
        part = seen[first : first + _LOOKED_AT]
        limits = longest[first * step : first * step + (_LOOKED_AT if step else 1)]
        silent_ones = _silent_ones(part, now, limits)
        if not silent_ones:
            continue
        if count + silent_ones > len(found):
            more = np.empty(max(count, silent_ones), dtype=np.int64)
            found = np.concatenate((found, more))
        for place in range(len(part)):
            if now - part[place] > limits[place * step] and part[place] != NEVER:
                found[count] = first + place
                count += 1
    return found[:count].copy()


@compiled
def _silent_ones(seen: Times, now: int, limits: Times) -> int:
    """How many of these series are silent. Two loops: each can be run on several at once."""
    count = 0
    if len(limits) == len(seen):
        for place in range(len(seen)):
            count += (now - seen[place] > limits[place]) & (seen[place] != NEVER)
        return count
    limit = limits[0]
    for last in seen:
        count += (now - last > limit) & (last != NEVER)
    return count
