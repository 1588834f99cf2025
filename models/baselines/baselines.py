"""Many series at once: takes their samples in batches, tells what changed and what fell silent."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from relume.errors import InputError
from relume.models.baselines import kernels
from relume.models.baselines.packing import packed, unpacked
from relume.models.baselines.samples import Alarms, Samples
from relume.models.baselines.series import (
    SERIES,
    BaselineSettings,
    Kept,
    grown,
    new_series,
    seen_grown,
)
from relume.models.baselines.watermark import Watermark

if TYPE_CHECKING:
    from numpy.typing import ArrayLike

    from relume.models.baselines.series import Ids, Series, Times

MAX_SERIES = 1 << 24
"""Series of one `Baselines`: a gibibyte."""
NO_ALARMS = Alarms.room(0)
_SAVED = ("series", "seen", "counts", "position", "settings", "ids", "times", "values")


@dataclass(frozen=True, slots=True)
class Counts:
    """What became of the samples.

    `late` came too late to count, `duplicate` have a time that their series had already,
    `rejected` are no numbers or beyond all measure (they show that the series still speaks, and
    nothing else), `taken` count.
    """

    late: int
    duplicate: int
    rejected: int
    taken: int


class Baselines:
    """Fast mode: 64 bytes a series, OBSERVE only. Deterministic: equal samples, equal alarms.

    Samples may come in any order within `lateness`, and cut into batches in any way. Of two samples
    of one series at one time the one that came first counts.

    Parameters
    ----------
    settings
        How fast baselines follow, and what is a change.
    lateness
        Microseconds that a sample may come after a newer one; 0: each series comes in order.

    Examples
    --------
    A worker whose steps take 5 s, and 7 s from the 500th on; another that stays as it is:

    >>> times = np.arange(1000) * 5_000_000
    >>> baselines = Baselines()
    >>> slow = np.where(np.arange(1000) < 500, 5.0, 7.0)
    >>> _ = baselines.update(np.full(1000, 1), times, np.full(1000, 5.0))
    >>> found = baselines.update(np.zeros(1000, int), times, slow)
    >>> found.ids.tolist()[0], float(found.times[0] - times[500]) / 1e6
    (0, 20.0)
    """

    def __init__(self, settings: BaselineSettings | None = None, *, lateness: int = 0) -> None:
        self.settings = settings or BaselineSettings()
        self._numbers = self.settings.numbers()
        self._watermark = Watermark(lateness)
        self._series = new_series(0)
        self._seen = np.empty(0, np.int64)
        self._counts = np.zeros(4, np.int64)

    def __len__(self) -> int:
        return len(self._series)

    @property
    def series(self) -> Series:
        """The records of all series; see `relume.models.baselines.series.SERIES`."""
        return self._series

    @property
    def last_seen(self) -> Times:
        """Time of the newest sample of each series, UTC microseconds; `NEVER` before one comes."""
        return self._seen

    @property
    def counts(self) -> Counts:
        """What became of the samples so far; those that are still held back are in none."""
        late, duplicate, rejected, taken = self._counts.tolist()
        return Counts(late + self._watermark.late, duplicate, rejected, taken)

    def watch(self, number: int, *, worse: int) -> None:
        """Say of a series whether more (1, the default) or less (-1) is worse."""
        self._room(number + 1)
        self._series[number]["worse"] = worse

    def update(self, ids: ArrayLike, times: ArrayLike, values: ArrayLike) -> Alarms:
        """Take samples and return what they show.

        Parameters
        ----------
        ids
            Numbers of their series, from 0 without gaps worth speaking of: each takes 64 bytes.
        times
            UTC microseconds.
        values
            What was measured.

        Raises
        ------
        InputError
            When the three aren't of one length, or a number is negative or too large.
        """
        samples = Samples(
            np.ascontiguousarray(ids, np.int64),
            np.ascontiguousarray(times, np.int64),
            np.ascontiguousarray(values, np.float64),
        )
        shapes = {one.shape for one in samples}
        if len(shapes) != 1 or samples.ids.ndim != 1:
            raise InputError(
                "samples can't be taken",
                found=" and ".join(str(one.shape) for one in samples),
                expected="ids, times and values of one length",
            )
        if not len(samples.ids):
            return self._judge(samples)
        low, high = int(samples.ids.min()), int(samples.ids.max())
        if low < 0 or high >= MAX_SERIES:
            raise InputError(
                "samples can't be taken",
                found=f"series {low if low < 0 else high}",
                expected=f"0 to {MAX_SERIES - 1}",
            )
        self._room(high + 1)
        return self._judge(self._watermark.take(samples))

    def follow(self, samples: Samples) -> Alarms:
        """Take samples as `update` does, with nothing looked at: a fifth of the cost for a few.

        Each series must come in order, numbers must be those of series, and `lateness` be 0.
        """
        self._room(int(samples.ids.max()) + 1)
        mark = self._watermark
        mark.newest = max(mark.newest, int(samples.times.max()))
        alarms = Alarms.room(len(samples.ids))
        kept = Kept(self._series, self._seen)
        count = kernels.update(kept, samples, self._numbers, self._counts, alarms)
        return alarms.by_time(count) if count else NO_ALARMS

    def advance(self, time: int) -> Alarms:
        """Take the clock (UTC microseconds): samples that were held back may count now."""
        return self._judge(self._watermark.advance(time))

    def silent(self, now: int, longest: ArrayLike) -> Ids:
        """Return the series that said nothing for longer than `longest` microseconds.

        `longest` is one for all, or one for each series.

        Raises
        ------
        InputError
            When it is neither.
        """
        limits = np.atleast_1d(np.ascontiguousarray(longest, np.int64))
        if limits.shape not in {(1,), (len(self),)}:
            raise InputError(
                "silence can't be told",
                found=f"{limits.size} limits",
                expected=f"one, or {len(self)}: as many as there are series",
            )
        return kernels.silent(self._seen, now, limits)

    def save(self) -> bytes:
        """Return everything that is known, for `restore`."""
        mark, held = self._watermark, self._watermark.held
        return packed(
            series=self._series,
            seen=self._seen,
            counts=self._counts,
            position=np.array([mark.lateness, mark.newest, mark.late]),
            settings=np.array(self.settings.numbers()),
            ids=held.ids,
            times=held.times,
            values=held.values,
        )

    @classmethod
    def restore(cls, saved: bytes, settings: BaselineSettings | None = None) -> Baselines:
        """Return what was saved; it goes on as if nothing had been between.

        Raises
        ------
        InputError
            When it can't be read, or was kept under other settings.
        """
        baselines = cls(settings)
        parts = unpacked(saved, _SAVED, "baselines")
        series, seen = parts["series"], parts["seen"]
        is_ours = series.dtype == SERIES and seen.shape == series.shape
        if not is_ours or tuple(parts["settings"].tolist()) != baselines.settings.numbers():
            raise InputError(
                "baselines can't be restored",
                found="other settings, or another form of a series",
                expected="what this release saved, under the same settings",
                hint="begin anew: they calibrate themselves again",
            )
        lateness, newest, late = parts["position"].tolist()
        held = Samples(parts["ids"], parts["times"], parts["values"])
        baselines._series, baselines._seen = series, seen
        baselines._counts = parts["counts"]
        baselines._watermark = Watermark(lateness, newest, late, held)
        return baselines

    def _room(self, count: int) -> None:
        if count > len(self._series):
            room = max(count, min(2 * len(self._series), MAX_SERIES))
            self._series, self._seen = grown(self._series, room), seen_grown(self._seen, room)

    def _judge(self, samples: Samples) -> Alarms:
        if not kernels.is_in_order(samples.times):
            order = kernels.order_by_series(samples.ids, samples.times, len(self._series))
            samples = samples.chosen(order)
        alarms = Alarms.room(len(samples.ids))
        kept = Kept(self._series, self._seen)
        count = kernels.update(kept, samples, self._numbers, self._counts, alarms)
        return alarms.by_time(count)


def warm_up() -> None:
    """Compile every kernel, or load it: the first sample of a service must not wait for that."""
    baselines = Baselines(lateness=1)
    baselines.update([0, 0], [5, 4], [1.0, 1.0])
    baselines.advance(10)
    baselines.silent(20, 1)
